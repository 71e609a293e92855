"""Every state machine is valid Amazon States Language, and every template valid CloudFormation, for tools not ours."""

import copy
import json

import pytest
from cfnlint.api import lint
from cfnlint.config import ManualArgs

pytestmark = pytest.mark.slow

MACHINE = "AWS::StepFunctions::StateMachine"


def resolve_definitions(template, plain):
    """Return the template with every definition as plain text: the tools look into no Fn::Join."""
    template = copy.deepcopy(template)
    for resource in template["Resources"].values():
        if resource["Type"] == MACHINE:
            resource["Properties"]["DefinitionString"] = plain(resource["Properties"]["DefinitionString"])
    return template


@pytest.fixture(scope="module")
def template(everything, plain_text):
    """A stack with machines of every kind and integration, and one that has several as steps."""
    return resolve_definitions(everything.template, plain_text)


@pytest.fixture
def definitions(template):
    machines = {name: r["Properties"] for name, r in template["Resources"].items() if r["Type"] == MACHINE}
    return {name: json.loads(machine["DefinitionString"]) for name, machine in machines.items()}


def lint_errors(template):
    found = lint(json.dumps(template), config=ManualArgs(regions=["us-east-1"]))
    # W3005 calls a dependency redundant that CDK's own constructs write.
    return [f"{match.rule.id} {match.message}" for match in found if match.rule.id != "W3005"]


def test_every_definition_is_valid_for_asl_validator(definitions, asl_validator):
    assert len(definitions) == 8
    for definition in definitions.values():
        assert asl_validator(definition) == []


def go_nowhere(definition):
    definition["States"]["Launch"]["Next"] = "Nowhere"


def never_end(definition):
    del definition["States"]["Stop"]["Next"]


def forget_to_end(definition):
    (definition["States"].get("Done") or definition["States"]["Launch"]).pop("End")


def point_wrong(definition):
    definition["States"]["Stop"]["ResultPath"] = "$.["


def misspell(definition):
    definition["States"]["Launch"]["Parmeters"] = definition["States"]["Launch"].pop("Parameters")


def lose_a_state(definition):
    definition["States"]["Alone"] = {"Type": "Succeed"}


@pytest.mark.parametrize("plant", [go_nowhere, never_end, forget_to_end, point_wrong, misspell, lose_a_state])
@pytest.mark.parametrize("machine", ["Launched", "Stepped", "Process", "Tune"])
def test_asl_validator_would_notice_a_planted_defect(definitions, asl_validator, plant, machine):
    definition = definitions[machine]
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
