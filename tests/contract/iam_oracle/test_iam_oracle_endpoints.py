"""The keeper's and the resource function's roles allow every call that their code makes, and no action more."""

import copy
from dataclasses import dataclass

import aws_cdk as cdk
import botocore.session
import pytest

from constructs_lib import EndpointKeeper, EndpointScaling, OnExpiry, ReservedEndpoint
from constructs_lib.model.endpoint_names import config_prefix
from constructs_lib.model.endpoints_item import EndpointItem
from constructs_lib.model.endpoints_rules import OWNER_TAG, Action
from constructs_lib.rules.policies import Policies, Request, Verdict, evaluate
from constructs_lib.runtime import endpoint_ports
from constructs_lib.runtime.adapters.endpoints import DONE, Endpoints
from constructs_lib.runtime.adapters.keeper import Keeper
from constructs_lib.runtime.adapters.stacks import Stacks
from constructs_lib.runtime.endpoint_table import EndpointTable
from constructs_lib.runtime.services.reconciling_notices import Noticing

pytestmark = pytest.mark.slow

PLACE = "us-east-1:111122223333"
PLAN = f"arn:aws:sagemaker:{PLACE}:training-plan/serving"
TOPIC = f"arn:aws:sns:{PLACE}:people"
KEY = f"arn:aws:kms:{PLACE}:key/0011aabb"
ROLE = "arn:aws:iam::111122223333:role/endpoint"
STACK = f"arn:aws:cloudformation:{PLACE}:stack/Serving/0a1b"
OWNER = "Serving/Chat"
TABLE, KEEPER = "endpoints", "keeper"
MODEL = botocore.session.get_session().get_service_model("sagemaker")
SERVICES = {
    "EndpointsClient": "sagemaker",
    "ScalingClient": "application-autoscaling",
    "EndpointTableClient": "dynamodb",
    "LambdaClient": "lambda",
}
# What AWS does, or asks for, on the caller's behalf: no call of ours, and held here against what documents say.
INDIRECT = {
    "iam:PassRole",
    "iam:CreateServiceLinkedRole",
    "kms:CreateGrant",
    "kms:DescribeKey",
    "cloudwatch:PutMetricAlarm",
    "cloudwatch:DescribeAlarms",
    "cloudwatch:DeleteAlarms",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
}


class Client:
    """Any botocore client: notes its calls, and answers as if everything were there."""

    def __init__(self, service, calls):
        self.service, self.calls = service, calls

    def __getattr__(self, method):
        def call(**request):
            self.calls.append((self.service, method, request))
            return copy.deepcopy(self.answers(request))

        return call

    def answers(self, request):
        name, config = request.get("EndpointName", "x"), request.get("EndpointConfigName", "x")
        return {
            "EndpointStatus": "InService",
            "EndpointArn": f"arn:aws:sagemaker:{PLACE}:endpoint/{name}",
            "EndpointConfigName": "made-by-hand",
            "EndpointConfigArn": f"arn:aws:sagemaker:{PLACE}:endpoint-config/{config}",
            "TrainingPlanArn": PLAN,
            "Items": [],
            "Stacks": [{"StackStatus": "UPDATE_IN_PROGRESS"}],
        }


@dataclass
class Deployed:
    """A stack with an endpoint that needs everything, and the policies of its two functions."""

    name: str
    keeper: dict
    resource: dict


def plain(value):
    known = {"AWS::StackId": STACK, "AWS::Partition": "aws"}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if "Fn::GetAtt" in value:
        name = value["Fn::GetAtt"][0]
        kinds = {"Table": f"dynamodb:{PLACE}:table/{TABLE}", "Keeper7": f"lambda:{PLACE}:function:{KEEPER}"}
        return "arn:aws:" + next((a for k, a in kinds.items() if k in name), f"logs:{PLACE}:log-group:logs:*")
    if "Ref" in value:
        return known[value["Ref"]]
    if "Fn::Join" in value:
        return value["Fn::Join"][0].join(map(plain, value["Fn::Join"][1]))
    return {key: plain(inner) for key, inner in value.items()}


@pytest.fixture(scope="module")
def deployed():
    stack = cdk.Stack(cdk.App(), "Serving", env=cdk.Environment(account="111122223333", region="us-east-1"))
    EndpointKeeper(stack, notices=TOPIC)
    endpoint = ReservedEndpoint(
        stack,
        "Chat",
        plan=PLAN,
        instance_type="ml.p5.48xlarge",
        model_name="chat",
        instance_count=2,
        on_expiry=OnExpiry.to_plan(f"{PLAN}-2"),
        scaling=EndpointScaling(min_capacity=1, max_capacity=2, invocations_per_instance=60),
        kms_key=KEY,
        request_overrides={"ExecutionRoleArn": ROLE},
    )
    resources = cdk.assertions.Template.from_stack(stack).to_json()["Resources"]

    def policy(role):
        (found,) = [r["Properties"] for name, r in resources.items() if name.startswith(f"GpuEndpoints{role}Role")]
        return plain(found["Policies"][0]["PolicyDocument"])

    return Deployed(endpoint.endpoint_name, policy("Keeper"), policy("Resource"))


def tags(owner=OWNER):
    return [{"Key": OWNER_TAG, "Value": owner}]


def actions(name):
    """Every call of a decision, as the reconciler would ask for it."""
    config = f"{config_prefix(name)}0123456789"
    bounds = {"MinCapacity": 1, "MaxCapacity": 2, "PolicyName": "p", "PolicyConfig": {}}
    return [
        Action("create config", config, {"ProductionVariants": [], "Tags": tags()}),
        Action("delete config", config),
        Action("create endpoint", config, {"EndpointConfigName": config, "Tags": tags()}),
        Action("update endpoint", config, {"EndpointConfigName": config}),
        Action("scale endpoint", "AllTraffic", {"DesiredWeightsAndCapacities": []}),
        Action("delete endpoint", name),
        Action("tag endpoint", f"arn:aws:sagemaker:{PLACE}:endpoint/{name}", {"Tags": tags()}),
        Action("register scaling", "AllTraffic", bounds),
        Action("deregister scaling", "AllTraffic"),
    ]


@pytest.fixture(scope="module")
def calls(deployed):
    """The calls of the keeper's and of the resource function's code, by function."""
    made = {"keeper": [], "resource": []}
    for function, noted in made.items():
        sagemaker, scaling = Client("sagemaker", noted), Client("application-autoscaling", noted)
        endpoints = Endpoints(sagemaker, sagemaker, scaling, lambda _client: None)
        table = EndpointTable(Client("dynamodb", noted), TABLE)
        # Both look at everything: the resource function to say what comes next.
        endpoints.look(deployed.name)
        endpoints.plan(PLAN, None)
        endpoints.plan(f"{PLAN}-before", None)
        endpoints.configs([f"{config_prefix(deployed.name)}0123456789"], [OWNER])
        endpoints.registered(deployed.name, "AllTraffic")
        table.read(deployed.name)
        table.change(deployed.name, lambda item: EndpointItem(item.name, owner=OWNER))
        if function == "keeper":
            table.all()
            Noticing(Client("sns", noted), TOPIC, print).tell(deployed.name, [("key", "words")], {}, 0)
            assert {endpoints.make(deployed.name, action).kind for action in actions(deployed.name)} == {DONE}
        else:
            table.remove(EndpointItem(deployed.name))
            Keeper(Client("lambda", noted), KEEPER).wake(deployed.name)
            Stacks(Client("cloudformation", noted)).reason_against(STACK)
    return made


def requests_of(call, owner=OWNER):
    """Return what IAM is asked for a call: one request a resource."""
    service, method, given = call
    operation = "".join(word.capitalize() for word in method.split("_"))
    action = f"{service}:{'InvokeFunction' if service == 'lambda' else operation}"
    if service == "sagemaker":
        return list(_sagemaker(action, operation, given, owner))
    place = {
        "dynamodb": f"arn:aws:dynamodb:{PLACE}:table/{TABLE}",
        "lambda": f"arn:aws:lambda:{PLACE}:function:{KEEPER}",
        "sns": TOPIC,
        "cloudformation": STACK,
        "application-autoscaling": f"arn:aws:application-autoscaling:{PLACE}:scalable-target/0a1b",
    }[service]
    if operation.startswith("Describe") and service == "application-autoscaling":
        return [Request(action=action)]
    scaling = {"application-autoscaling:service-namespace": given.get("ServiceNamespace", "")}
    return [Request(action=action, resource=place, context=scaling if service.startswith("application") else {})]


def _sagemaker(action, operation, given, owner):
    named = {"EndpointName": "endpoint", "EndpointConfigName": "endpoint-config", "TrainingPlanName": "training-plan"}
    asked = {f"arn:aws:sagemaker:{PLACE}:{kind}/{given[key]}" for key, kind in named.items() if key in given}
    asked |= {given["ResourceArn"]} if "ResourceArn" in given else set()
    context = {f"aws:ResourceTag/{OWNER_TAG}": owner} if operation.startswith("Delete") else {}
    for resource in sorted(asked):
        yield Request(action=action, resource=resource, context=context)
        # Tags in a create call are a permission of their own, on what is made.
        if operation.startswith("Create") and "Tags" in given and f"/{given.get('EndpointName', '')}" in resource:
            yield Request(action="sagemaker:AddTags", resource=resource, context={"sagemaker:TaggingAction": operation})


def refused(simulate, policy, asked):
    """Hold both evaluators against each other; return what the policy does not allow."""
    policies = Policies(identity=(policy,))
    theirs = simulate([(one, policies) for one in asked])
    mine = [evaluate(one, policies).verdict is Verdict.ALLOWED for one in asked]
    assert mine == [their == "Allowed" for their in theirs]
    return [(one.action, one.resource) for one, allowed in zip(asked, mine, strict=True) if not allowed]


def test_the_code_makes_every_call_that_it_declares(calls):
    made = {(service, method) for noted in calls.values() for service, method, _ in noted}
    declared = {
        (service, method)
        for protocol, service in SERVICES.items()
        for method in vars(getattr(endpoint_ports, protocol))
        if not method.startswith("_")
    }
    assert declared <= made
    assert {service for service, _ in made} == {*SERVICES.values(), "sns", "cloudformation"}


@pytest.mark.parametrize("function", ["keeper", "resource"])
def test_every_call_is_allowed(simulate, deployed, calls, function):
    asked = [request for call in calls[function] for request in requests_of(call)]
    assert refused(simulate, getattr(deployed, function), asked) == []


@pytest.mark.parametrize("function", ["keeper", "resource"])
def test_one_action_less_and_some_call_is_refused(simulate, deployed, calls, function):
    policy = getattr(deployed, function)
    asked = [request for call in calls[function] for request in requests_of(call)]
    without, cases = [], []
    for number, statement in enumerate(policy["Statement"]):
        for action in set(statement["Action"]) - INDIRECT:
            less = copy.deepcopy(policy)
            less["Statement"][number]["Action"].remove(action)
            less["Statement"] = [s for s in less["Statement"] if s["Action"]]
            concerned = [one for one in asked if one.action == action]
            without.append((action, len(concerned)))
            cases += [(one, Policies(identity=(less,))) for one in concerned]
    answers = iter(simulate(cases))
    needless = [action for action, count in without if "ImplicitlyDenied" not in [next(answers) for _ in range(count)]]
    assert needless == []
    assert len(without) >= {"keeper": 18, "resource": 10}[function]


def test_what_is_somebody_elses_is_neither_changed_nor_deleted(simulate, deployed):
    config = f"arn:aws:sagemaker:{PLACE}:endpoint-config/made-by-hand"
    other = f"arn:aws:sagemaker:{PLACE}:endpoint/search"
    foreign = {f"aws:ResourceTag/{OWNER_TAG}": "Training/Chat"}
    asked = [
        Request(action="sagemaker:DeleteEndpoint", resource=other, context=foreign),
        Request(action="sagemaker:DeleteEndpoint", resource=other),
        Request(action="sagemaker:DeleteEndpointConfig", resource=config, context=foreign),
        *[
            Request(action=f"sagemaker:{action}", resource=other)
            for action in ("CreateEndpoint", "UpdateEndpoint", "UpdateEndpointWeightsAndCapacities", "AddTags")
        ],
        Request(action="sagemaker:CreateEndpointConfig", resource=config),
        Request(action="sagemaker:UpdateEndpoint", resource=config),
        Request(action="sagemaker:CreateTrainingPlan", resource=PLAN),
        Request(action="sagemaker:CreateReservedCapacity", resource=PLAN.replace("training-plan", "reserved-capacity")),
    ]
    assert len(refused(simulate, deployed.keeper, asked)) == len(asked)


def test_what_left_the_stack_is_deleted_by_its_tag(simulate, deployed):
    gone = f"arn:aws:sagemaker:{PLACE}:endpoint/search"
    ours = {f"aws:ResourceTag/{OWNER_TAG}": "Serving/Search"}
    asked = [Request(action="sagemaker:DeleteEndpoint", resource=gone, context=ours)]
    assert refused(simulate, deployed.keeper, asked) == []


def test_what_aws_does_on_the_callers_behalf_is_allowed(simulate, deployed):
    service = "sagemaker.application-autoscaling.amazonaws.com"
    linked = f"role/aws-service-role/{service}/AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
    alarm = f"arn:aws:cloudwatch:{PLACE}:alarm:TargetTracking-endpoint/{deployed.name}/variant/AllTraffic-AlarmHigh"
    asked = [
        Request(action="iam:PassRole", resource=ROLE, context={"iam:PassedToService": "sagemaker.amazonaws.com"}),
        Request(
            action="iam:CreateServiceLinkedRole",
            resource=f"arn:aws:iam::111122223333:{linked}",
            context={"iam:AWSServiceName": service},
        ),
        *[Request(action=f"cloudwatch:{verb}", resource=alarm) for verb in ("PutMetricAlarm", "DeleteAlarms")],
    ]
    assert refused(simulate, deployed.keeper, asked) == []


def test_the_volume_key_may_be_granted_to_aws_and_to_nobody_else(deployed):
    """The other evaluator asks for the key's own policy too, which is not ours."""
    policies = Policies(identity=(deployed.keeper,))

    def verdict(action, **context):
        return evaluate(Request(action=action, resource=KEY, context=context), policies).verdict

    assert verdict("kms:DescribeKey") is Verdict.ALLOWED
    assert verdict("kms:CreateGrant", **{"kms:GrantIsForAWSResource": "true"}) is Verdict.ALLOWED
    assert verdict("kms:CreateGrant", **{"kms:GrantIsForAWSResource": "false"}) is Verdict.NOT_ALLOWED
