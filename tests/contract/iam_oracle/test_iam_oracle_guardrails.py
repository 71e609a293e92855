"""What the guardrails really do: every generated form, action and request, by an evaluator that we did not write."""

import copy
import itertools

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam, aws_sso

from constructs_lib import facts
from constructs_lib.facts import iam
from constructs_lib.guardrails.instance_types import InstanceTypeGuardrail
from constructs_lib.model.wildcards import matches
from constructs_lib.rules.policies import Policies, Request, Verdict, evaluate

pytestmark = pytest.mark.slow

TYPES = iam.INSTANCE_TYPES_KEY
ALLOWED = ["ml.g5.*", "ml.p5.48xlarge", "ml.m5.large", "ml.m5.xlarge"]
FULL_ACCESS = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
APPROVED = ["ml.g5.xlarge", "ml.g5.12xlarge", "ml.p5.48xlarge", "ml.m5.large"]
BAD = "ml.p4d.24xlarge"
# Name -> the request's types (None: no key), and whether it is to be allowed.
REQUESTS = {
    "approved": ([APPROVED[0]], True),
    "unapproved": ([BAD], False),
    "mixed": ([APPROVED[0], BAD], False),
    "mixed, bad first": ([BAD, APPROVED[0]], False),
    "four approved": (APPROVED, True),
    "five with one bad": ([*APPROVED, BAD], False),
    "empty": ([], False),
    "key absent": (None, False),
}
VARIANTS = {
    "plain": {},
    "compressed": {"compress": True},
    "some actions": {"actions": ["sagemaker:CreateTrainingJob", "sagemaker:CreateEndpointConfig"]},
    "exempt": {"exempt": ["arn:aws:iam::*:role/gpu-admin"]},
    "without types": {"without_types": ["sagemaker:CreateEndpointConfig", "sagemaker:UpdateTrainingJob"]},
}
INLINE = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sagemaker:*", "Resource": "*"}]}


def synthesize(**props):
    """The documents of every form, as they stand in the template."""
    stack = cdk.Stack(cdk.App(), "Guarded")
    role = aws_iam.Role(stack, "Role", assumed_by=aws_iam.AccountRootPrincipal())
    launcher = aws_iam.Role(stack, "Launcher", assumed_by=aws_iam.AccountRootPrincipal())
    people = aws_sso.CfnPermissionSet(stack, "People", instance_arn="arn", name="people", inline_policy=INLINE)
    guardrail = InstanceTypeGuardrail(stack, "Approved", **{"allowed": ALLOWED, **props})
    guardrail.apply_to(role)
    guardrail.grants.launch(launcher)
    guardrail.apply_to_permission_set(people)
    guardrail.add_service_control_policy("Scp", target_ids=["111122223333"])
    assert guardrail.boundary
    assert guardrail.identity_policy
    resources = cdk.assertions.Template.from_stack(stack).to_json()["Resources"]

    def one(start, key="PolicyDocument"):
        (found,) = [
            r["Properties"][key] for name, r in resources.items() if name.startswith(start) and key in r["Properties"]
        ]
        return found

    return {
        "identity policy": Policies(identity=(one("ApprovedIdentityPolicy"),)),
        "granted to a role": Policies(identity=(one("LauncherDefaultPolicy"),)),
        "boundary": Policies(identity=(FULL_ACCESS,), boundary=(one("ApprovedBoundary"),)),
        "denied to a role": Policies(identity=(FULL_ACCESS, one("RoleDefaultPolicy"))),
        "service control policy": Policies(
            identity=(FULL_ACCESS,), scps=((FULL_ACCESS, one("ApprovedScp", "Content")),)
        ),
        "permission set": Policies(identity=(one("People", "InlinePolicy"),)),
    }


@pytest.fixture(scope="module")
def forms():
    made = {}

    def get(variant):
        if variant not in made:
            made[variant] = synthesize(**VARIANTS[variant])
        return made[variant]

    return get


@pytest.fixture
def request_of(example_arn):
    def make(action, types, **context):
        if types is not None:
            context[TYPES] = types
        return Request(action=action, resource=example_arn(action), context=context)

    return make


def intended(variant, action, name):
    props = VARIANTS[variant]
    if action not in props.get("actions", iam.carrying_actions()):
        return None
    if name in ("empty", "key absent") and action in props.get("without_types", ()):
        # An empty list is left open where no list is approved.
        return True if name == "key absent" else None
    return REQUESTS[name][1]


def wrong_cells(simulate, table):
    """The cells whose verdict is not the intended one; ``table`` holds (form, policies, request, intended)."""
    cells = [cell for cell in table if cell[3] is not None]
    theirs = simulate([(asked, policies) for _, policies, asked, _ in cells])
    return [(cell[0], cell[2], theirs[i]) for i, cell in enumerate(cells) if (theirs[i] == "Allowed") is not cell[3]]


@pytest.fixture
def table_of(request_of):
    def make(forms, variant="plain", actions=None):
        return [
            (form, policies, request_of(action, types), intended(variant, action, name))
            for (form, policies), action, (name, (types, _)) in itertools.product(
                forms.items(), actions or iam.carrying_actions(), REQUESTS.items()
            )
        ]

    return make


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_form_of_every_action_decides_every_request_as_intended(simulate, forms, table_of, variant):
    table = table_of(forms(variant), variant)
    assert wrong_cells(simulate, table) == []
    print(f"{variant}: {sum(cell[3] is not None for cell in table)} cells")


@pytest.mark.parametrize("variant", VARIANTS)
def test_our_evaluator_decides_every_cell_the_same(forms, table_of, variant):
    for form, policies, asked, wanted in table_of(forms(variant), variant):
        if wanted is not None:
            verdict = evaluate(asked, policies).verdict
            assert verdict is not Verdict.UNVERIFIED, (form, asked)
            assert (verdict is Verdict.ALLOWED) is wanted, (form, asked)


@pytest.mark.parametrize("variant", ["plain", "compressed"])
def test_every_known_type_one_by_one_is_allowed_exactly_if_approved(simulate, forms, request_of, variant):
    training = facts.api_instance_types("training")
    table = [
        (form, policies, request_of("sagemaker:CreateTrainingJob", [name]), any(matches(one, name) for one in ALLOWED))
        for form, policies in forms(variant).items()
        for name in sorted(facts.instance_types())
    ]
    assert len(training) >= 225
    assert wrong_cells(simulate, table) == []


@pytest.mark.parametrize(("who", "allowed"), [("gpu-admin", True), ("gpu-admin-not", False), (None, False)])
def test_an_exempt_principal_passes_the_denials_and_nobody_else(simulate, forms, request_of, who, allowed):
    some = {form: policies for form, policies in forms("exempt").items() if form in DENYING}
    context = {"aws:PrincipalArn": f"arn:aws:iam::111122223333:role/{who}"} if who else {}
    asked = request_of("sagemaker:CreateTrainingJob", [BAD], **context)
    assert wrong_cells(simulate, [(form, policies, asked, allowed) for form, policies in some.items()]) == []
    assert {evaluate(asked, policies).verdict is Verdict.ALLOWED for policies in some.values()} == {allowed}


KEY = "arn:aws:kms:us-east-1:111122223333:key/1234"
COMPANIONS = {
    "max_runtime": (cdk.Duration.hours(1), "sagemaker:MaxRuntimeInSeconds", {"3600": True, "3601": False, None: False}),
    "max_keep_alive": (
        cdk.Duration.minutes(30),
        "sagemaker:KeepAlivePeriod",
        {"1800": True, "1801": False, None: True},
    ),
    "volume_keys": ([KEY], "sagemaker:VolumeKmsKeyArn", {KEY: True, KEY + "5": False, None: False}),
    "output_keys": ([KEY], "sagemaker:OutputKmsKeyArn", {KEY: True, KEY + "5": False, None: False}),
    "subnets": (
        ["subnet-a", "subnet-b"],
        "sagemaker:VpcSubnets",
        {("subnet-a",): True, ("subnet-b", "subnet-a"): True, ("subnet-a", "subnet-c"): False, (): False, None: False},
    ),
    "security_groups": (["sg-a"], "sagemaker:VpcSecurityGroupIds", {("sg-a",): True, ("sg-b",): False, None: False}),
    "network_isolation": (True, "sagemaker:NetworkIsolation", {"true": True, "false": False, None: False}),
}


@pytest.mark.parametrize("prop", COMPANIONS)
def test_a_companion_limit_binds_every_action_that_carries_its_key_and_no_other(simulate, request_of, prop):
    value, key, answers = COMPANIONS[prop]
    table = []
    for form, policies in synthesize(**{prop: value}).items():
        for action in iam.carrying_actions():
            for given, allowed in answers.items():
                carried = iam.actions()[action].carries(key)
                context = (
                    {key: list(given) if isinstance(given, tuple) else given} if carried and given is not None else {}
                )
                wanted = allowed if carried else True
                table.append((form, policies, request_of(action, [APPROVED[0]], **context), wanted))
                table.append((form, policies, request_of(action, [APPROVED[0], BAD], **context), False))
    assert wrong_cells(simulate, table) == []


def test_a_denied_action_is_denied_in_every_form(simulate, example_arn):
    denied = InstanceTypeGuardrail.ungoverned_actions()
    table = [
        (form, policies, Request(action=name, resource=example_arn(name)), False)
        for form, policies in synthesize(deny_actions=denied).items()
        for name in denied
    ]
    assert wrong_cells(simulate, table) == []


def test_a_boundary_and_the_denials_leave_every_other_action_alone(simulate, forms, example_arn):
    others = ["sagemaker:DescribeTrainingJob", "sagemaker:StopTrainingJob", "sagemaker:CreateModel"]
    some = {
        form: policies for form, policies in forms("plain").items() if "ident" not in form and "granted" not in form
    }
    table = [
        (form, policies, Request(action=name, resource=example_arn(name)), True)
        for form, policies in some.items()
        for name in others
    ]
    assert wrong_cells(simulate, table) == []


def rewrite(policies, change):
    """The same policies with a defect in every generated document."""
    keep = lambda one: one if one == FULL_ACCESS else change(copy.deepcopy(one))  # noqa: E731
    boundary = None if policies.boundary is None else tuple(map(keep, policies.boundary))
    scps = tuple(tuple(map(keep, level)) for level in policies.scps)
    return Policies(identity=tuple(map(keep, policies.identity)), boundary=boundary, scps=scps)


def any_value_in_allow(document):
    for one in document["Statement"]:
        if "ForAllValues:StringLike" in one.get("Condition", {}):
            one["Condition"] = {"ForAnyValue:StringLike": one["Condition"]["ForAllValues:StringLike"]}
    return document


def all_values_in_deny(document):
    for one in document["Statement"]:
        if one.get("Sid") == "DenyOtherTypes":
            one["Condition"] = {"ForAllValues:StringNotLike": one["Condition"]["ForAnyValue:StringNotLike"]}
    return document


def null_dropped(document):
    """No guard against a request without types is left."""
    for one in document["Statement"]:
        if "ForAllValues:StringLike" in one.get("Condition", {}):
            one["Condition"] = {"ForAllValues:StringLike": one["Condition"]["ForAllValues:StringLike"]}
    gone = ("DenyNoTypes", "DenyEmptyTypes")
    return {**document, "Statement": [one for one in document["Statement"] if one.get("Sid") not in gone]}


def empty_guard_dropped(document):
    for one in document["Statement"]:
        one.get("Condition", {}).pop("ForAnyValue:StringLike", None)
    return {**document, "Statement": [one for one in document["Statement"] if one.get("Sid") != "DenyEmptyTypes"]}


def deny_split(document):
    parts = []
    for one in document["Statement"]:
        if one.get("Sid") != "DenyOtherTypes":
            parts.append(one)
            continue
        listed = one["Condition"]["ForAnyValue:StringNotLike"][TYPES]
        for half in (listed[:2], listed[2:]):
            condition = {"ForAnyValue:StringNotLike": {TYPES: half}}
            parts.append({**one, "Sid": f"Deny{len(parts)}", "Condition": condition})
    return {**document, "Statement": parts}


def prefix_forgotten(document):
    for one in document["Statement"]:
        for keys in one.get("Condition", {}).values():
            if isinstance(keys.get(TYPES), list):
                keys[TYPES] = [value.removeprefix("ml.") for value in keys[TYPES]]
    return document


ALLOWING = {"identity policy", "granted to a role", "boundary"}
DENYING = {"denied to a role", "service control policy", "permission set"}
DEFECTS = {
    any_value_in_allow: ALLOWING,
    all_values_in_deny: DENYING,
    null_dropped: ALLOWING | DENYING,
    empty_guard_dropped: ALLOWING | DENYING,
    deny_split: DENYING,
    prefix_forgotten: ALLOWING | DENYING,
}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_a_planted_defect_is_caught_in_every_form_that_it_touches(simulate, forms, table_of, defect):
    broken = {form: rewrite(policies, defect) for form, policies in forms("plain").items()}
    wrong = wrong_cells(simulate, table_of(broken, actions=["sagemaker:CreateTrainingJob"]))
    assert {form for form, _, _ in wrong} == DEFECTS[defect]
