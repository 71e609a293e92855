"""The guardrail constructs: what they make, whom they bind, and what they refuse at construction."""

import json
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sso as sso
from aws_cdk.assertions import Template
from cdk_nag import AwsSolutionsChecks

from constructs_lib import InstanceTypeGuardrail, PurchaseGuardrail, facts
from constructs_lib.model import InvalidInputError
from constructs_lib.rules import Kind, Severity, Subject, check
from constructs_lib.rules.policies import measure, statements

ALLOWED = ["ml.g5.*", "ml.p5.48xlarge"]
TYPES = "sagemaker:InstanceTypes"
EVERY_TYPE = sorted(facts.instance_types())


@pytest.fixture
def guardrail(stack):
    def make(construct_id="Approved", **props):
        return InstanceTypeGuardrail(stack, construct_id, **{"allowed": ALLOWED, **props})

    return make


@pytest.fixture
def role(stack):
    return iam.Role(stack, "Scientist", assumed_by=iam.AccountRootPrincipal())


def of_kind(stack, kind):
    return [r["Properties"] for r in Template.from_stack(stack).to_json()["Resources"].values() if r["Type"] == kind]


class TestForms:
    def test_the_allow_form_has_the_guards_beside_all_values(self, guardrail):
        (allow,) = guardrail(actions=["sagemaker:CreateTrainingJob"]).identity_document["Statement"]
        assert allow["Condition"] == {
            "ForAllValues:StringLike": {TYPES: ALLOWED},
            "ForAnyValue:StringLike": {TYPES: "*"},
            "Null": {TYPES: "false"},
        }

    def test_the_deny_form_has_one_list_and_a_deny_of_the_absent_key(self, guardrail):
        denies = guardrail().deny_document["Statement"]
        lists = [one for one in denies if "ForAnyValue:StringNotLike" in one["Condition"]]
        assert [one["Condition"]["ForAnyValue:StringNotLike"] for one in lists] == [{TYPES: ALLOWED}]
        assert {"Null": {TYPES: "true"}} in [one["Condition"] for one in denies]

    def test_actions_that_are_right_without_a_type_are_left_out_of_that_deny(self, guardrail):
        made = guardrail(without_types=["sagemaker:UpdateTrainingJob"])
        absent = next(one for one in made.deny_document["Statement"] if "Null" in one["Condition"])
        assert "sagemaker:UpdateTrainingJob" not in absent["Action"]
        assert len(absent["Action"]) == 22

    def test_nothing_is_made_until_something_is_asked_for(self, guardrail, stack):
        guardrail()
        assert Template.from_stack(stack).to_json().get("Resources", {}) == {}

    def test_the_boundary_and_the_identity_policy_are_made_once(self, guardrail, stack):
        made = guardrail()
        assert made.boundary is made.boundary
        assert made.identity_policy is made.identity_policy
        assert len(of_kind(stack, "AWS::IAM::ManagedPolicy")) == 2

    def test_every_document_passes_the_rules_on_policies(self, guardrail):
        limits = {
            "max_runtime": cdk.Duration.hours(1),
            "subnets": ["subnet-1"],
            "network_isolation": True,
            "exempt": ["arn:aws:iam::*:role/gpu-admin"],
            "without_types": ["sagemaker:CreateEndpointConfig"],
            "deny_actions": InstanceTypeGuardrail.ungoverned_actions(),
        }
        for made in (guardrail(), guardrail("Limits", **limits)):
            documents = (made.identity_document, made.boundary_document, made.deny_document)
            for document, kind in zip(documents, ("managed", "permissions-boundary", "scp"), strict=True):
                found = check([Subject(Kind.IAM_DOCUMENT, document, about={"Type": kind})])
                accepted = {"GPU-IAM04", "GPU-IAM09"} if "Limits" in made.node.path else set()
                assert {finding.rule for finding in found} <= accepted, [str(finding) for finding in found]
                assert not [finding for finding in found if finding.severity is Severity.ERROR]


class TestApplying:
    def test_a_role_gets_denials_and_no_permission(self, guardrail, stack, role):
        made = guardrail()
        assert made.apply_to(role) is made
        (policy,) = of_kind(stack, "AWS::IAM::Policy")
        assert {one["Effect"] for one in policy["PolicyDocument"]["Statement"]} == {"Deny"}
        assert "PermissionsBoundary" not in of_kind(stack, "AWS::IAM::Role")[0]

    def test_a_role_gets_the_boundary_besides_when_that_is_asked_for(self, guardrail, stack, role):
        guardrail().apply_to(role, boundary=True)
        template = Template.from_stack(stack).to_json()["Resources"]
        (name,) = [name for name, resource in template.items() if resource["Type"] == "AWS::IAM::ManagedPolicy"]
        assert of_kind(stack, "AWS::IAM::Role")[0]["PermissionsBoundary"] == {"Ref": name}
        assert len(of_kind(stack, "AWS::IAM::Policy")) == 1

    def test_a_boundary_that_an_aspect_replaces_leaves_the_denials(self, guardrail, stack, role):
        guardrail().apply_to(role, boundary=True)
        iam.PermissionsBoundary.of(stack).apply(iam.ManagedPolicy.from_aws_managed_policy_name("PowerUserAccess"))
        assert "PowerUserAccess" in json.dumps(of_kind(stack, "AWS::IAM::Role")[0]["PermissionsBoundary"])
        assert len(of_kind(stack, "AWS::IAM::Policy")) == 1

    def test_applying_twice_changes_nothing(self, guardrail, stack, role):
        guardrail().apply_to(role).apply_to(role, boundary=True).apply_to(role, boundary=True)
        (policy,) = of_kind(stack, "AWS::IAM::Policy")
        assert len(policy["PolicyDocument"]["Statement"]) == 3

    def test_an_imported_role_gets_the_denials(self, guardrail, stack):
        guardrail().apply_to(iam.Role.from_role_name(stack, "Imported", "people"))
        (policy,) = of_kind(stack, "AWS::IAM::Policy")
        assert policy["Roles"] == ["people"]
        assert {one["Effect"] for one in policy["PolicyDocument"]["Statement"]} == {"Deny"}

    def test_a_grant_allows_what_is_approved(self, guardrail, stack, role):
        guardrail().grants.launch(role)
        (policy,) = of_kind(stack, "AWS::IAM::Policy")
        assert [one["Effect"] for one in policy["PolicyDocument"]["Statement"]] == ["Allow"]

    def test_a_service_control_policy_is_attached_to_its_targets(self, guardrail, stack):
        policy = guardrail().add_service_control_policy(
            "Scp", target_ids=["r-ab12", "ou-ab12-cd34ef56", "111122223333"]
        )
        (properties,) = of_kind(stack, policy.cfn_resource_type)
        assert properties["Type"] == "SERVICE_CONTROL_POLICY"
        assert len(properties["TargetIds"]) == 3
        assert {one["Effect"] for one in properties["Content"]["Statement"]} == {"Deny"}

    @pytest.mark.parametrize("as_text", [False, True])
    def test_a_permission_set_keeps_what_it_had(self, guardrail, stack, as_text):
        before = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}}
        people = permission_set(stack, inline_policy=json.dumps(before) if as_text else before)
        guardrail().apply_to_permission_set(people)
        (properties,) = of_kind(stack, "AWS::SSO::PermissionSet")
        first, *rest = properties["InlinePolicy"]["Statement"]
        assert first == before["Statement"]
        assert {one["Effect"] for one in rest} == {"Deny"}

    def test_a_permission_set_without_a_policy_gets_one(self, guardrail, stack):
        guardrail().apply_to_permission_set(permission_set(stack))
        (properties,) = of_kind(stack, "AWS::SSO::PermissionSet")
        assert len(properties["InlinePolicy"]["Statement"]) == 3

    def test_a_key_construct_stands_for_its_arn(self, guardrail, stack):
        guardrail(volume_keys=[kms.Key(stack, "Key")]).boundary  # noqa: B018 - made by being asked for
        assert "Fn::GetAtt" in json.dumps(of_kind(stack, "AWS::IAM::ManagedPolicy"))


def permission_set(stack, **props):
    return sso.CfnPermissionSet(stack, "People", instance_arn="arn", name="people", **props)


class TestBadInput:
    @pytest.mark.parametrize(
        ("props", "words"),
        [
            ({"allowed": []}, "an empty list was given"),
            ({"allowed": ["g5.*"]}, r"matches none of \d+ known types; write 'ml.g5.\*'"),
            (
                {"actions": ["sagemaker:CreateTraningJob"]},
                "no action 'sagemaker:CreateTraningJob'; sagemaker:CreateTrainingJob is",
            ),
            ({"actions": ["sagemaker:Fly"]}, "names are written like sagemaker:CreateTrainingJob"),
            ({"actions": ["sagemaker:CreateAutoMLJobV2"]}, "never carry their instance types.*deny_actions"),
            (
                {"without_types": ["sagemaker:CreateModel"]},
                "without_types: requests of sagemaker:CreateModel never carry",
            ),
            ({"deny_actions": ["sagemaker:CreateTrainingJob"]}, "carries its instance types and is restricted by them"),
            ({"deny_actions": ["sagemaker:CreateAutoMLJobV3"]}, "sagemaker:CreateAutoMLJobV2 is meant"),
        ],
    )
    def test_a_declaration_that_cannot_be_meant_is_refused_at_construction(self, guardrail, props, words):
        with pytest.raises(InvalidInputError, match=words):
            guardrail(**props)

    def test_a_boundary_that_is_set_already_is_not_replaced(self, guardrail, stack):
        before = iam.ManagedPolicy.from_aws_managed_policy_name("PowerUserAccess")
        role = iam.Role(stack, "Bound", assumed_by=iam.AccountRootPrincipal(), permissions_boundary=before)
        with pytest.raises(InvalidInputError, match=r"Bound: it has a permissions boundary already.*deny_document"):
            guardrail().apply_to(role, boundary=True)

    def test_an_imported_roles_boundary_cannot_be_set(self, guardrail, stack):
        with pytest.raises(InvalidInputError, match="an imported role's boundary cannot be set here"):
            guardrail().apply_to(iam.Role.from_role_name(stack, "Imported", "people"), boundary=True)

    @pytest.mark.parametrize("apply", ["denials", "grant"])
    @pytest.mark.parametrize("of", ["not mutable", "another account", "left alone"])
    def test_a_role_that_takes_no_policy_is_refused(self, guardrail, stack, role, of, apply):
        here = cdk.Stack(stack, "Here", env=cdk.Environment(account="111122223333", region="us-east-1"))
        if of == "left alone":
            given = role.without_policy_updates()
        else:
            account = "111122223333" if of == "not mutable" else "999922223333"
            given = iam.Role.from_role_arn(here, "R", f"arn:aws:iam::{account}:role/r", mutable=of != "not mutable")
        made = guardrail()
        with pytest.raises(InvalidInputError, match=r"takes no policy from this app.*add_service_control_policy"):
            made.grants.launch(given) if apply == "grant" else made.apply_to(given)

    def test_a_principal_that_is_no_identity_is_refused(self, guardrail):
        with pytest.raises(InvalidInputError, match="AccountRootPrincipal: it takes no policy"):
            guardrail().grants.launch(iam.AccountRootPrincipal())

    @pytest.mark.parametrize(
        ("targets", "words"),
        [([], "without a target"), ("r-ab12", "a list of roots"), (["production"], "'production' is no root")],
    )
    def test_a_service_control_policy_needs_targets(self, guardrail, targets, words):
        with pytest.raises(InvalidInputError, match=words):
            guardrail().add_service_control_policy("Scp", target_ids=targets)

    def test_an_inline_policy_that_only_a_deploy_knows_is_not_touched(self, guardrail, stack):
        people = permission_set(stack, inline_policy=cdk.Fn.import_value("policy"))
        with pytest.raises(InvalidInputError, match="known only at deploy; add the guardrail's deny_document"):
            guardrail().apply_to_permission_set(people)


FORMS = {
    "managed policy": lambda made: made.identity_policy,
    "boundary": lambda made: made.boundary,
    "service control policy": lambda made: made.add_service_control_policy("Scp", target_ids=["r-ab12"]),
}


class TestSize:
    """A28: long allow-lists. Compression is asked for, never silent, and a Deny is never split."""

    @pytest.mark.parametrize("form", FORMS)
    def test_every_known_type_literally_is_refused_with_the_measured_size_and_the_compressed_list(
        self, guardrail, form
    ):
        made = guardrail(allowed=EVERY_TYPE)
        with pytest.raises(InvalidInputError) as refused:
            FORMS[form](made)
        sizes = {"managed policy": 8682, "boundary": 9509, "service control policy": 10890}
        assert f"this one has {sizes[form]:,}" in str(refused.value)
        assert measure(made.deny_document, spaces=True) == sizes["service control policy"]
        assert "compress=True writes the same types in" in str(refused.value)
        assert "ml.g5.*, ml.g6.*" in str(refused.value)

    @pytest.mark.parametrize("form", FORMS)
    def test_the_same_types_fit_when_compression_is_asked_for(self, app, guardrail, form):
        FORMS[form](guardrail(allowed=EVERY_TYPE, compress=True))
        app.synth()

    def test_a_deny_is_never_split(self, guardrail):
        for made in (guardrail(allowed=EVERY_TYPE), guardrail("Short", allowed=EVERY_TYPE, compress=True)):
            lists = [one for one in statements(made.deny_document) if "ForAnyValue:StringNotLike" in one.condition]
            assert len(lists) == 1

    def test_a_policy_that_needs_the_newer_limit_of_organizations_is_warned_about(self, app, guardrail):
        guardrail(allowed=EVERY_TYPE[:300]).add_service_control_policy("Scp", target_ids=["r-ab12"])
        messages = app.synth().get_stack_by_name("Research").messages
        assert any("5,120 in older documentation" in str(message.entry.data) for message in messages)


class TestFindings:
    def test_every_gap_is_a_finding_until_its_action_is_denied(self, guardrail):
        gaps = facts.load("iam_gaps")["rows"]
        assert len(guardrail().findings) == len(gaps)
        left = guardrail("Denied", deny_actions=InstanceTypeGuardrail.ungoverned_actions()).findings
        assert [finding.message.split()[0] for finding in left] == ["batch:SubmitServiceJob"]

    def test_a_companion_limit_says_whom_it_does_not_reach(self, guardrail):
        (finding,) = [
            finding
            for finding in guardrail(max_runtime=cdk.Duration.hours(1)).findings
            if "MaxRuntimeInSeconds" in finding.message
        ]
        assert "sagemaker:CreateEndpointConfig" in finding.message
        assert "sagemaker:CreateTrainingJob" not in finding.message

    def test_a_required_volume_key_that_makes_types_unusable_is_said(self, guardrail):
        found = guardrail(volume_keys=["arn:aws:kms:*:111122223333:key/*"]).findings
        assert ["ml.p5.48xlarge" in finding.message for finding in found if finding.rule == "GPU-PL09"] == [True]

    def test_a_type_that_nobody_knows_yet_is_unverified(self, guardrail):
        found = guardrail(allowed=["ml.q9.48xlarge"]).findings
        assert [str(finding.severity) for finding in found if finding.rule == "GPU-IAM06"] == ["unverified"]


class TestPurchases:
    BUYER = "arn:aws:iam::*:role/gpu-buyer"

    @pytest.mark.parametrize(
        ("props", "words"),
        [
            ({"buyers": []}, "a list of roles or role ARNs is needed"),
            ({"buyers": "arn:aws:iam::1:role/b"}, "a list of roles"),
            ({"buyers": ["gpu-buyer"]}, "'gpu-buyer' is no role; write it like"),
            ({"buyers": ["arn:aws:iam::*:role/*"]}, "is everybody, so nobody would be bound"),
            ({"buyers": [BUYER], "required_tags": [""]}, "a tag key as plain text is needed"),
            ({"buyers": [BUYER], "block_only": ["ml.p5.48xlarge"]}, "is no EC2 type; write it like 'p5.48xlarge'"),
        ],
    )
    def test_a_declaration_that_cannot_be_meant_is_refused(self, stack, props, words):
        with pytest.raises(InvalidInputError, match=words):
            PurchaseGuardrail(stack, "Spend", **props)

    def test_a_role_of_the_app_can_be_the_buyer(self, stack, role):
        made = PurchaseGuardrail(stack, "Spend", buyers=[role])
        made.add_service_control_policy("Scp", target_ids=["r-ab12"])
        (properties,) = of_kind(stack, "AWS::Organizations::Policy")
        arns = properties["Content"]["Statement"][0]["Condition"]["ArnNotLike"]["aws:PrincipalArn"]
        assert [list(arn) for arn in arns] == [["Fn::GetAtt"]]

    def test_its_documents_pass_the_rules_on_policies(self, stack):
        made = PurchaseGuardrail(stack, "Spend", buyers=[self.BUYER], block_only=["p5.*"])
        for document in (made.deny_document, made.boundary_document):
            assert check([Subject(Kind.IAM_DOCUMENT, document)]) == []

    def test_a_buyer_may_extend_when_that_is_granted(self, stack, role):
        PurchaseGuardrail(stack, "Spend", buyers=[role]).grants.extend(role)
        (policy,) = of_kind(stack, "AWS::IAM::Policy")
        assert "sagemaker:ExtendTrainingPlan" in policy["PolicyDocument"]["Statement"][0]["Action"]


def test_cdk_nag_finds_nothing_in_what_the_guardrails_make(app, stack, guardrail, role):
    made = guardrail()
    made.apply_to(role, boundary=True)
    assert made.identity_policy
    PurchaseGuardrail(stack, "Spend", buyers=[TestPurchases.BUYER]).apply_to(
        iam.Role(stack, "Other", assumed_by=iam.AccountRootPrincipal()), boundary=True
    )
    made.apply_to(iam.Role.from_role_name(stack, "Imported", "people"))
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()
    report = json.loads((Path(app.outdir) / "validation-report.json").read_text())
    assert [violation for plugin in report["pluginReports"] for violation in plugin["violations"]] == []


def test_synth_is_the_same_twice(tmp_path):
    texts = []
    for run in ("one", "two"):
        app = cdk.App(outdir=str(tmp_path / run))
        stack = cdk.Stack(app, "Research")
        made = InstanceTypeGuardrail(stack, "Approved", allowed=ALLOWED)
        made.apply_to(iam.Role(stack, "Scientist", assumed_by=iam.AccountRootPrincipal()), boundary=True)
        made.add_service_control_policy("Scp", target_ids=["r-ab12"])
        texts.append(Path(app.synth().get_stack_by_name("Research").template_full_path).read_bytes())
    assert texts[0] == texts[1]
