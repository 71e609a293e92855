"""Field cases about IAM, each as a test: what people wrote, and what this library writes instead."""

import json
from pathlib import Path

import pytest

from constructs_lib import CapacityKit, InstancePreference, InstanceTypeGuardrail
from constructs_lib.rules import Kind, Subject, check
from constructs_lib.rules.policies import Policies, Request, Verdict, evaluate

FIXTURES = Path(__file__).parent.parent / "fixtures" / "iam"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text())
TYPES = "sagemaker:InstanceTypes"
PLACE = "us-east-1:111122223333"
PLAN = f"arn:aws:sagemaker:{PLACE}:training-plan/nightly"


def corpus(name):
    return json.loads((FIXTURES / name).read_text())


def rules_of(document):
    return {finding.rule for finding in check([Subject(Kind.IAM_DOCUMENT, document)])}


def verdict(document, types, action="sagemaker:CreateTrainingJob"):
    context = {} if types is None else {TYPES: types}
    request = Request(action=action, resource=f"arn:aws:sagemaker:{PLACE}:training-job/x", context=context)
    return evaluate(request, Policies(identity=(document,))).verdict


@pytest.fixture
def generated(stack):
    return InstanceTypeGuardrail(stack, "Approved", allowed=["ml.m5.*"]).identity_document


def test_a24_any_value_in_an_allow_is_found_and_ours_refuses_the_mixed_list(generated):
    assert "GPU-IAM01" in rules_of(corpus("A_P1.json"))
    mixed = ["ml.m5.xlarge", "ml.p5.48xlarge"]
    assert verdict(corpus("A_P1.json"), mixed) is Verdict.ALLOWED
    assert verdict(generated, mixed) is Verdict.NOT_ALLOWED


def test_a25_the_missing_null_guard_is_found_and_ours_equals_the_safe_form(generated):
    assert "GPU-IAM02" in rules_of(corpus("A_P2.json"))
    assert generated["Statement"][0]["Condition"]["Null"] == {TYPES: "false"}
    for types in EXPECTED["contexts"].values():
        assert verdict(generated, types) is verdict(corpus("A_P9.json"), types)


def test_a25_the_finding_says_which_actions_never_carry_the_key():
    condition = {"ForAllValues:StringLike": {TYPES: ["ml.m5.*"]}}
    wide = {"Effect": "Allow", "Action": "sagemaker:*", "Resource": "*", "Condition": condition}
    (finding,) = check([Subject(Kind.IAM_DOCUMENT, {"Version": "2012-10-17", "Statement": [wide]})])
    assert "never carry a type and are always allowed: sagemaker:A" in finding.message


def test_a28_a_split_deny_is_found(stack):
    lists = ["ml.m5.*", "ml.c5.*"]
    denies = InstanceTypeGuardrail(stack, "Approved", allowed=lists).deny_document["Statement"]
    deny = next(one for one in denies if "ForAnyValue:StringNotLike" in one["Condition"])
    halves = [{**deny, "Condition": {"ForAnyValue:StringNotLike": {TYPES: [one]}}} for one in lists]
    assert "GPU-IAM08" in rules_of({"Version": "2012-10-17", "Statement": halves})


@pytest.fixture
def role_of(app, synth, resolved):
    """Return a function that gives all statements of the synthesized role whose logical id has a word in it."""

    def statements(word):
        template = synth(app)["Resources"]
        (role,) = [r["Properties"] for name, r in template.items() if r["Type"] == "AWS::IAM::Role" and word in name]
        found = [one for policy in role["Policies"] for one in policy["PolicyDocument"]["Statement"]]
        return {"Version": "2012-10-17", "Statement": resolved(found)}

    return statements


def allowed(document, action, resource, **context):
    decision = evaluate(Request(action=action, resource=resource, context=context), Policies(identity=(document,)))
    assert decision.verdict is not Verdict.UNVERIFIED, decision
    return decision.verdict is Verdict.ALLOWED


class TestJobRoles:
    """A27, and least privilege of the roles that jobs run and are launched with."""

    SYNC = ("CreateTrainingJob", "DescribeTrainingJob", "StopTrainingJob", "ListTags", "AddTags")

    def test_a_sync_role_has_every_grant_that_sync_needs_and_only_on_its_jobs(self, make_job, role_of):
        job = make_job(integration="optimized")
        role = role_of("MachineRole")
        mine = f"arn:aws:sagemaker:{PLACE}:training-job/{job.job_name_prefix}1"
        for action in self.SYNC:
            assert allowed(role, f"sagemaker:{action}", mine), action
            assert not allowed(role, f"sagemaker:{action}", f"arn:aws:sagemaker:{PLACE}:training-job/others"), action
        rule = f"arn:aws:events:{PLACE}:rule/StepFunctionsGetEventsForSageMakerTrainingJobsRule"
        for action in ("events:PutRule", "events:PutTargets", "events:DescribeRule"):
            assert allowed(role, action, rule)
            assert not allowed(role, action, f"arn:aws:events:{PLACE}:rule/other")

    @pytest.mark.parametrize(("integration", "word"), [("launcher", "LauncherRole"), ("optimized", "MachineRole")])
    def test_a_plan_adds_exactly_its_resources(self, make_job, role_of, integration, word):
        make_job("Bare", integration=integration)
        make_job(preferences=[InstancePreference("ml.p5.48xlarge", training_plan=PLAN)], integration=integration)
        role = role_of(word)
        create = "sagemaker:CreateTrainingJob"
        assert allowed(role, create, PLAN)
        assert allowed(role, create, f"arn:aws:sagemaker:{PLACE}:reserved-capacity/rc-1")
        assert not allowed(role, create, f"arn:aws:sagemaker:{PLACE}:training-plan/others")
        for spending in ("sagemaker:CreateTrainingPlan", "sagemaker:CreateReservedCapacity"):
            assert not allowed(role, spending, PLAN)

    def test_only_the_jobs_role_is_passed_and_only_to_sagemaker(self, stack, make_job, role_of):
        CapacityKit(stack, execution_role="arn:aws:iam::111122223333:role/training")
        make_job()
        role, training = role_of("LauncherRole"), "arn:aws:iam::111122223333:role/training"
        to = {"iam:PassedToService": "sagemaker.amazonaws.com"}
        assert allowed(role, "iam:PassRole", training, **to)
        assert not allowed(role, "iam:PassRole", training, **{"iam:PassedToService": "lambda.amazonaws.com"})
        assert not allowed(role, "iam:PassRole", "arn:aws:iam::111122223333:role/admin", **to)

    def test_a_key_is_granted_when_a_job_uses_it_and_not_before(self, stack, make_job, role_of):
        key = f"arn:aws:kms:{PLACE}:key/1234"
        make_job("Bare")
        assert not allowed(role_of("ExecutionRole"), "kms:GenerateDataKey", key)

    def test_the_key_of_a_job_is_granted_to_its_role(self, make_job, role_of):
        key = f"arn:aws:kms:{PLACE}:key/1234"
        make_job(output_kms_key=key)
        role = role_of("ExecutionRole")
        assert allowed(role, "kms:GenerateDataKey", key)
        assert not allowed(role, "kms:GenerateDataKey", f"arn:aws:kms:{PLACE}:key/other")

    def test_the_guardrails_boundary_on_the_kit_binds_every_role_that_it_makes(
        self, app, stack, make_job, role_of, synth
    ):
        made = InstanceTypeGuardrail(stack, "Approved", allowed=["ml.p5.*", "ml.p4d.24xlarge"])
        CapacityKit(stack, permissions_boundary=made.boundary)
        job = make_job()
        roles = [r["Properties"] for r in synth(app)["Resources"].values() if r["Type"] == "AWS::IAM::Role"]
        assert len(roles) == 4
        assert all("PermissionsBoundary" in role for role in roles)
        policies = Policies(identity=(role_of("LauncherRole"),), boundary=(made.boundary_document,))
        resource = f"arn:aws:sagemaker:{PLACE}:training-job/{job.job_name_prefix}1"
        verdicts = [
            evaluate(Request(action="sagemaker:CreateTrainingJob", resource=resource, context={TYPES: types}), policies)
            for types in (["ml.p5.48xlarge"], ["ml.p5.48xlarge", "ml.g5.xlarge"])
        ]
        assert [one.verdict for one in verdicts] == [Verdict.ALLOWED, Verdict.NOT_ALLOWED]
