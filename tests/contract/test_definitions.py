"""Every state machine is valid Amazon States Language, and every template valid CloudFormation, for tools not ours."""

import copy
import json

import aws_cdk as cdk
import pytest
from aws_cdk import aws_stepfunctions as sfn
from cfnlint.api import lint
from cfnlint.config import ManualArgs

from constructs_lib import InstancePreference, PreferenceTrainingJob

pytestmark = pytest.mark.slow

PSEUDO = {"AWS::Partition": "aws", "AWS::Region": "us-east-1", "AWS::AccountId": "111122223333"}
MACHINE = "AWS::StepFunctions::StateMachine"


def plain(value):
    """Return an intrinsic function's plausible text."""
    if isinstance(value, str):
        return value
    if "Fn::Join" in value:
        delimiter, parts = value["Fn::Join"]
        return delimiter.join(plain(part) for part in parts)
    if "Fn::GetAtt" in value:
        return f"arn:aws:iam::111122223333:role/{value['Fn::GetAtt'][0]}"
    return PSEUDO.get(value["Ref"], value["Ref"])


def resolve_definitions(template):
    """Return the template with every definition as plain text: the tools look into no Fn::Join."""
    template = copy.deepcopy(template)
    for resource in template["Resources"].values():
        if resource["Type"] == MACHINE:
            resource["Properties"]["DefinitionString"] = plain(resource["Properties"]["DefinitionString"])
    return template


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A stack with a machine of each integration, with and without its own role, and one that has both as steps."""
    app = cdk.App(outdir=str(tmp_path_factory.mktemp("cdk.out")))
    stack = cdk.Stack(app, "Research", env=cdk.Environment(account="111122223333", region="us-east-1"))
    props = {
        "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
        "inputs": {"train": "s3://bucket/train"},
        "output": "s3://bucket/models",
        # asl-validator takes neither null nor an empty text in a list, which the language allows: both have a reason.
        "preferences": [
            InstancePreference("ml.p5.48xlarge", reason="fast"),
            InstancePreference("ml.p4d.24xlarge", reason="half as fast"),
        ],
        "instance_count": 2,
        "max_runtime": 3600,
        "max_pending": 7200,
    }
    launched = PreferenceTrainingJob(stack, "Launched", own_role=True, **props)
    optimized = PreferenceTrainingJob(stack, "Optimized", integration="optimized", **props)
    first = launched.as_step("First", entry="$$.Map.Item.Index").add_catch(
        optimized.as_step("Second"), errors=["InsufficientCapacity"]
    )
    machine = sfn.StateMachine(stack, "Mine", definition_body=sfn.DefinitionBody.from_chainable(first))
    launched.grants.launch(machine)
    optimized.grants.launch(machine)
    return resolve_definitions(app.synth().get_stack_by_name("Research").template)


@pytest.fixture
def definitions(template):
    machines = {name: r["Properties"] for name, r in template["Resources"].items() if r["Type"] == MACHINE}
    return {name: json.loads(machine["DefinitionString"]) for name, machine in machines.items()}


def lint_errors(template):
    found = lint(json.dumps(template), config=ManualArgs(regions=["us-east-1"]))
    # W3005 calls a dependency redundant that CDK's own constructs write.
    return [f"{match.rule.id} {match.message}" for match in found if match.rule.id != "W3005"]


def test_every_definition_is_valid_for_asl_validator(definitions, asl_validator):
    assert len(definitions) == 3
    for definition in definitions.values():
        assert asl_validator(definition) == []


def go_nowhere(definition):
    definition["States"]["Launch"]["Next"] = "Nowhere"


def never_end(definition):
    del definition["States"]["Stop"]["Next"]


def point_wrong(definition):
    definition["States"]["Stop"]["ResultPath"] = "$.["


def misspell(definition):
    definition["States"]["Launch"]["Parmeters"] = definition["States"]["Launch"].pop("Parameters")


def lose_a_state(definition):
    definition["States"]["Alone"] = {"Type": "Succeed"}


@pytest.mark.parametrize("plant", [go_nowhere, never_end, point_wrong, misspell, lose_a_state])
def test_asl_validator_would_notice_a_planted_defect(definitions, asl_validator, plant):
    definition = next(d for d in definitions.values() if "Stop" in d["States"])
    assert asl_validator(definition) == []
    plant(definition)
    assert asl_validator(definition)


def test_the_template_is_clean_for_cfn_lint_with_its_definitions_resolved(template):
    assert lint_errors(template) == []


@pytest.mark.parametrize("defect", ["property", "definition", "reference"])
def test_cfn_lint_would_notice_a_planted_defect(template, defect):
    planted = copy.deepcopy(template)
    (machine,) = (r for name, r in planted["Resources"].items() if name == "Launched")
    if defect == "property":
        machine["Properties"]["TracingConfig"] = machine["Properties"].pop("TracingConfiguration")
    elif defect == "definition":
        definition = json.loads(machine["Properties"]["DefinitionString"])
        del definition["States"]["Stop"]["Next"]
        machine["Properties"]["DefinitionString"] = json.dumps(definition)
    else:
        machine["Properties"]["RoleArn"] = {"Fn::GetAtt": ["Nobody", "Arn"]}
    assert lint_errors(planted)
