"""The rules inside a CDK app: plugin, aspect and strict synth say the same, of the same resources, once."""

import json
from pathlib import Path

import aws_cdk as cdk
import constructs
import jsii
import pytest
from aws_cdk import aws_stepfunctions as sfn

from constructs_lib.checks import CapacityRules, CapacityRulesPlugin, RulesBrokenError, synth_checked

TWICE = [{"InstanceType": "ml.g5.xlarge"}, {"InstanceType": "ml.g5.xlarge"}]
FINE = [{"InstanceType": "ml.g5.xlarge"}, {"InstanceType": "ml.g6.xlarge"}]


def machine(scope, name, preferences=TWICE):
    request = {
        "TrainingJobName.$": "$.name",
        "ResourceConfig": {"InstanceCount": 1, "InstancePreferences": preferences},
    }
    task = {"Type": "Task", "End": True, "Parameters": request}
    task["Resource"] = "arn:aws:states:::sagemaker:createTrainingJob.sync"
    definition = json.dumps({"StartAt": "Train", "States": {"Train": task}})
    role = "arn:aws:iam::111122223333:role/machine"
    return sfn.CfnStateMachine(scope, name, role_arn=role, definition_string=definition)


@pytest.fixture
def app(tmp_path):
    return cdk.App(outdir=str(tmp_path / "cdk.out"))


def found(app, rule="GPU-PL02"):
    """Synthesize and return where the rule spoke, and whether the synth failed."""
    failed = False
    try:
        app.synth()
    except RuntimeError:
        failed = True
    report = json.loads((Path(app.outdir) / "validation-report.json").read_text())
    places = [
        construct["constructPath"]
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        if violation["ruleName"] == rule
        for construct in violation["violatingConstructs"]
    ]
    return sorted(places), failed


def everywhere(app):
    stack = cdk.Stack(app, "S")
    machine(stack, "Bad")
    machine(cdk.NestedStack(stack, "Nested"), "BadNested")
    machine(cdk.Stack(cdk.Stage(app, "Prod"), "Deep"), "BadInStage")
    machine(cdk.Stack(app, "Other"), "BadElsewhere")
    return stack


ALL = ["Other/BadElsewhere", "Prod/Deep/BadInStage", "S/Bad", "S/Nested/BadNested"]


def test_the_plugin_finds_bad_resources_in_stacks_nested_stacks_and_stages(app):
    everywhere(app)
    cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    assert found(app) == (ALL, True)


def test_the_aspect_finds_the_same(app):
    everywhere(app)
    cdk.Aspects.of(app).add(CapacityRules())
    assert found(app) == (ALL, True)


def test_an_aspect_on_one_stack_is_silent_about_another(app):
    cdk.Aspects.of(everywhere(app)).add(CapacityRules())
    assert found(app) == (["S/Bad", "S/Nested/BadNested"], True)


def test_an_aspect_on_one_construct_is_silent_about_its_neighbour(app):
    stack = cdk.Stack(app, "S")
    machine(stack, "Bad")
    cdk.Aspects.of(machine(stack, "BadToo")).add(CapacityRules())
    assert found(app) == (["S/BadToo"], True)


def test_added_twice_it_reports_once(app):
    stack = everywhere(app)
    rules = CapacityRules()
    for scope in (app, app, stack):
        cdk.Aspects.of(scope).add(rules)
    cdk.Aspects.of(stack).add(CapacityRules())
    assert found(app) == (ALL, True)


def test_one_instance_on_two_stacks_judges_both(app):
    rules = CapacityRules()
    for name in ("A", "B", "C"):
        stack = cdk.Stack(app, name)
        machine(stack, "Bad")
        if name != "B":
            cdk.Aspects.of(stack).add(rules)
    assert found(app) == (["A/Bad", "C/Bad"], True)


@pytest.mark.parametrize("plugin_first", [True, False])
def test_plugin_and_aspect_together_report_once(app, plugin_first):
    stack = everywhere(app)
    if plugin_first:
        cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    cdk.Aspects.of(stack).add(CapacityRules())
    if not plugin_first:
        cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    assert found(app) == (ALL, True)


def test_what_another_aspect_changes_is_seen(app):
    @jsii.implements(cdk.IAspect)
    class Break:
        def visit(self, node):
            if isinstance(node, sfn.CfnStateMachine):
                node.definition_string = node.definition_string.replace("g6.xlarge", "g5.xlarge")

    stack = cdk.Stack(app, "S")
    machine(stack, "Fine", FINE)
    cdk.Aspects.of(app).add(CapacityRules())
    cdk.Aspects.of(app).add(Break(), priority=900)
    assert found(app) == (["S/Fine"], True)


def test_an_acknowledged_finding_fails_nothing_and_stays_in_the_report_with_its_reason(app):
    stack = everywhere(app)
    cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    cdk.Validations.of(stack).acknowledge(cdk.Acknowledgment(id="GpuCapacity::GPU-PL02", reason="being replaced"))
    assert found(app) == (["Other/BadElsewhere", "Prod/Deep/BadInStage"], True)
    report = json.loads((Path(app.outdir) / "validation-report.json").read_text())
    suppressed = [v for plugin in report["pluginReports"] for v in plugin.get("suppressedViolations", [])]
    assert {v["reason"] for v in suppressed if v["ruleName"] == "GPU-PL02"} == {"being replaced"}


def test_everything_acknowledged_the_synth_passes(app):
    everywhere(app)
    cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    cdk.Validations.of(app).acknowledge(cdk.Acknowledgment(id="GpuCapacity::GPU-PL02", reason="a rehearsal"))
    assert found(app) == ([], False)


def test_an_empty_stack_passes(app):
    cdk.Aspects.of(cdk.Stack(app, "S")).add(CapacityRules())
    cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    assert found(app) == ([], False)


def test_warnings_alone_pass(app):
    stack = cdk.Stack(app, "S")
    machine(stack, "Single", FINE[:1])
    cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    assert found(app, "GPU-PL01") == (["S/Single"], False)


def test_a_failure_of_the_rules_fails_the_synth(app, monkeypatch):
    # The one seam that is replaced: what the plugin cannot do by itself is break.
    monkeypatch.setattr("constructs_lib.checks.plugin.read_inputs", lambda inputs: 1 / 0)
    cdk.Stack(app, "S")
    cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    assert found(app, "rule-engine") == ([""], True)


def test_a_forced_second_synth_is_judged_again(app):
    everywhere(app)
    plugin = CapacityRulesPlugin()
    cdk.Validations.of(app).add_plugins(plugin)
    assert found(app) == (ALL, True)
    with pytest.raises(RuntimeError):
        app.synth(force=True)


def test_synth_checked_raises_with_every_finding_and_its_fix(app):
    everywhere(app)
    with pytest.raises(RulesBrokenError, match="name each type once") as caught:
        synth_checked(app)
    assert len(caught.value.violations) == 4


def test_synth_checked_judges_an_app_that_was_synthesized_before(app):
    everywhere(app)
    app.synth()
    with pytest.raises(RulesBrokenError):
        synth_checked(app)


def test_synth_checked_returns_the_assembly_of_a_good_app(app):
    machine(cdk.Stack(app, "S"), "Fine", FINE)
    assert synth_checked(app).get_stack_by_name("S").template["Resources"]


@jsii.implements(constructs.IValidation)
class Complains:
    def validate(self):
        return ["the moon is full"]


def test_a_failure_elsewhere_keeps_its_own_words(app):
    cdk.Stack(app, "S").node.add_validation(Complains())
    with pytest.raises(RuntimeError, match="the moon is full"):
        synth_checked(app)


@pytest.mark.parametrize("count", [10, 200])
def test_the_plugin_costs_at_most_16_kernel_requests_whatever_the_number_of_resources(app, count, kernel_requests):
    stack = cdk.Stack(app, "S")
    for i in range(count):
        machine(stack, f"M{i}", FINE)
    cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    before = kernel_requests()
    app.synth()
    assert kernel_requests() - before <= 16
