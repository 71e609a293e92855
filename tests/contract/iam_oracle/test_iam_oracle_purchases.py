"""Who may spend, in every form, by an evaluator that we did not write."""

import copy
from dataclasses import replace

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam

from constructs_lib.guardrails.purchases import SPENDING, PurchaseGuardrail
from constructs_lib.rules.policies import Policies, Request, Verdict, evaluate

pytestmark = pytest.mark.slow

FULL_ACCESS = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
PLACE = "us-east-1:111122223333"
RESOURCES = {
    "sagemaker:CreateTrainingPlan": f"arn:aws:sagemaker:{PLACE}:training-plan/x",
    "sagemaker:CreateReservedCapacity": f"arn:aws:sagemaker:{PLACE}:reserved-capacity/x",
    "sagemaker:ExtendTrainingPlan": "*",
    "ec2:PurchaseCapacityBlock": f"arn:aws:ec2:{PLACE}:capacity-reservation/cr-1",
    "ec2:PurchaseCapacityBlockExtension": f"arn:aws:ec2:{PLACE}:capacity-reservation/cr-1",
}
TAGS = {"aws:RequestTag/gpucap:identity": "nightly", "aws:RequestTag/gpucap:generation": "1"}
OURS = {"aws:ResourceTag/gpucap:identity": "nightly"}
CARRIES = {
    "sagemaker:CreateTrainingPlan": TAGS,
    "sagemaker:CreateReservedCapacity": TAGS,
    "sagemaker:ExtendTrainingPlan": {},
    "ec2:PurchaseCapacityBlock": TAGS,
    "ec2:PurchaseCapacityBlockExtension": OURS,
}
PSEUDO = {"AWS::Partition": "aws", "AWS::Region": "us-east-1", "AWS::AccountId": "111122223333"}
# Who asks, and a buyer who is somebody else.
ME, OTHER = "arn:aws:iam::111122223333:role/someone", "arn:aws:iam::*:role/gpu-buyer"


def forms_of(*, buyer, **props):
    stack = cdk.Stack(cdk.App(), "Guarded")
    guardrail = PurchaseGuardrail(stack, "Spend", buyers=[buyer], **props)
    role = aws_iam.Role(stack, "Role", assumed_by=aws_iam.AccountRootPrincipal())
    guardrail.apply_to(role)
    assert guardrail.boundary
    scp = guardrail.add_service_control_policy("Scp", target_ids=["r-ab12"])
    resources = cdk.assertions.Template.from_stack(stack).to_json()["Resources"]
    inline, boundary = (
        next(r["Properties"]["PolicyDocument"] for r in resources.values() if r["Type"] == f"AWS::IAM::{kind}")
        for kind in ("Policy", "ManagedPolicy")
    )
    content = next(r["Properties"]["Content"] for r in resources.values() if r["Type"] == scp.cfn_resource_type)
    return {
        "denied to a role": Policies(identity=(FULL_ACCESS, inline)),
        "boundary": Policies(identity=(FULL_ACCESS,), boundary=(boundary,)),
        "service control policy": Policies(identity=(FULL_ACCESS,), scps=((FULL_ACCESS, content),)),
    }


def request(action, context):
    return Request(action=action, resource=RESOURCES[action], context=context)


def verdicts(simulate, forms, asked):
    """Hold both evaluators against each other, and return whether each (form, request) is allowed."""
    mine_too = [replace(one, context={**one.context, "aws:PrincipalArn": ME}) for one in asked]
    cells = [(form, policies, one) for form, policies in forms.items() for one in mine_too]
    theirs = simulate([(one, policies) for _, policies, one in cells])
    answer = {}
    for (form, policies, one), their in zip(cells, theirs, strict=True):
        mine = evaluate(one, policies).verdict
        assert mine is not Verdict.UNVERIFIED
        assert (mine is Verdict.ALLOWED) is (their == "Allowed"), (form, one)
        answer[form, one.action] = their == "Allowed"
    return answer


def test_nobody_but_the_buyer_purchases_or_extends(simulate):
    asked = [request(action, CARRIES[action]) for action in SPENDING]
    assert set(verdicts(simulate, forms_of(buyer=OTHER), asked).values()) == {False}
    assert set(verdicts(simulate, forms_of(buyer=ME), asked).values()) == {True}


def test_the_buyer_must_tag_what_it_purchases_with_every_tag(simulate):
    forms = forms_of(buyer=ME)
    for missing in TAGS:
        context = {key: value for key, value in TAGS.items() if key != missing}
        asked = [request(action, context) for action in ("sagemaker:CreateTrainingPlan", "ec2:PurchaseCapacityBlock")]
        assert set(verdicts(simulate, forms, asked).values()) == {False}


def test_the_buyer_extends_only_blocks_that_are_ours(simulate):
    asked = [request("ec2:PurchaseCapacityBlockExtension", {})]
    assert set(verdicts(simulate, forms_of(buyer=ME), asked).values()) == {False}


@pytest.mark.parametrize(
    ("instance_type", "market", "allowed"),
    [
        ("p5.48xlarge", "capacity-block", True),
        ("p5.48xlarge", "on-demand", False),
        ("p5.48xlarge", "spot", False),
        ("p5.48xlarge", None, False),
        ("trn2.48xlarge", "on-demand", False),
        ("m5.large", None, True),
        ("g5.xlarge", "on-demand", True),
    ],
)
def test_block_types_are_launched_only_in_a_block(simulate, instance_type, market, allowed):
    context = {"ec2:InstanceType": instance_type, **({"ec2:InstanceMarketType": market} if market else {})}
    asked = Request(action="ec2:RunInstances", resource=f"arn:aws:ec2:{PLACE}:instance/i-1", context=context)
    forms = forms_of(buyer=OTHER, block_only=PurchaseGuardrail.block_types())
    assert set(verdicts(simulate, forms, [asked]).values()) == {allowed}


def test_everything_else_is_left_alone(simulate):
    asked = [
        Request(action="sagemaker:DescribeTrainingPlan", resource=RESOURCES["sagemaker:CreateTrainingPlan"]),
        Request(action="sagemaker:CreateTrainingJob", resource=f"arn:aws:sagemaker:{PLACE}:training-job/x"),
    ]
    assert set(verdicts(simulate, forms_of(buyer=OTHER), asked).values()) == {True}


def test_a_purchase_role_may_buy_tagged_plans_and_nothing_else_that_spends(simulate):
    stack = cdk.Stack(cdk.App(), "Guarded", env=cdk.Environment(account="111122223333", region="us-east-1"))
    role = aws_iam.Role(stack, "Buyer", assumed_by=aws_iam.AccountRootPrincipal())
    PurchaseGuardrail(stack, "Spend", buyers=[role]).grants.purchase(role)
    resources = cdk.assertions.Template.from_stack(stack).to_json()["Resources"]
    (policy,) = [r["Properties"]["PolicyDocument"] for r in resources.values() if r["Type"] == "AWS::IAM::Policy"]
    forms = {"granted": Policies(identity=(deployed(policy),))}
    plan, reserved = RESOURCES["sagemaker:CreateTrainingPlan"], RESOURCES["sagemaker:CreateReservedCapacity"]
    asked = [request(action, CARRIES[action]) for action in SPENDING]
    asked += [Request(action=f"sagemaker:{name}") for name in ("SearchTrainingPlanOfferings", "ListTrainingPlans")]
    asked += [Request(action="sagemaker:DescribeTrainingPlan", resource=plan)]
    allowed = verdicts(simulate, forms, asked)
    assert {action for (_, action), yes in allowed.items() if not yes} == {
        "sagemaker:ExtendTrainingPlan",
        "ec2:PurchaseCapacityBlock",
        "ec2:PurchaseCapacityBlockExtension",
    }
    for during, resource, yes in (
        ("CreateTrainingPlan", plan, True),
        ("CreateReservedCapacity", reserved, True),
        ("CreateTrainingJob", plan, False),
        (None, plan, False),
    ):
        context = {"sagemaker:TaggingAction": during} if during else {}
        tag = Request(action="sagemaker:AddTags", resource=resource, context=context)
        assert set(verdicts(simulate, forms, [tag]).values()) == {yes}


def deployed(value):
    """The document as CloudFormation would write it."""
    if isinstance(value, dict) and "Fn::Join" in value:
        return "".join(part if isinstance(part, str) else PSEUDO[part["Ref"]] for part in value["Fn::Join"][1])
    if isinstance(value, dict):
        return {key: deployed(member) for key, member in value.items()}
    return [deployed(member) for member in value] if isinstance(value, list) else value


def tags_in_one_statement(document):
    null = dict.fromkeys(TAGS, "true")
    kept = [one for one in document["Statement"] if not one["Sid"].startswith("DenyWithoutTag")]
    sample = next(one for one in document["Statement"] if one["Sid"] == "DenyWithoutTag0")
    return {**document, "Statement": [*kept, {**sample, "Condition": {"Null": null}}]}


def extension_forgotten(document):
    for one in document["Statement"]:
        if one["Sid"] == "DenyPurchases":
            one["Action"] = [action for action in one["Action"] if "Exten" not in action]
    return document


def buyer_compared_as_equal(document):
    for one in document["Statement"]:
        if one["Sid"] == "DenyPurchases":
            one["Condition"] = {"ArnLike": one["Condition"]["ArnNotLike"]}
    return document


@pytest.mark.parametrize(
    ("defect", "context"),
    [
        (tags_in_one_statement, {"aws:RequestTag/gpucap:identity": "nightly"}),
        (extension_forgotten, {}),
        (buyer_compared_as_equal, TAGS),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_planted_defect_is_caught(simulate, defect, context):
    """Each of these requests is refused by the documents as generated, and passes the broken ones."""
    buyer, action = {
        tags_in_one_statement: (ME, "sagemaker:CreateTrainingPlan"),
        extension_forgotten: (OTHER, "sagemaker:ExtendTrainingPlan"),
        buyer_compared_as_equal: (OTHER, "sagemaker:CreateTrainingPlan"),
    }[defect]
    forms = forms_of(buyer=buyer)
    assert set(verdicts(simulate, forms, [request(action, context)]).values()) == {False}
    scp = copy.deepcopy(forms["service control policy"].scps[0][1])
    broken = {"broken": Policies(identity=(FULL_ACCESS,), scps=((FULL_ACCESS, defect(scp)),))}
    assert set(verdicts(simulate, broken, [request(action, context)]).values()) == {True}
