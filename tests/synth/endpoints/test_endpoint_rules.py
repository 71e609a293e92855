"""Rules see a reserved endpoint in anyone's template as they see every other user of a plan."""

import json

import aws_cdk as cdk
import pytest
from aws_cdk import aws_sagemaker as sagemaker

from constructs_lib import CapacityRulesPlugin, OnExpiry, synth_checked
from constructs_lib.rules import check
from constructs_lib.rules.readers.document import read_document
from constructs_lib.rules.readers.template import read_template


@pytest.fixture
def findings(app, synth):
    """Return a function that gives what the rules find in the stack's template: (rule, severity) to the message."""

    def found():
        reading = read_template(
            read_document(json.dumps(synth(app, "Serving")).encode(), "template.json"), stack="Serving"
        )
        return {(f.rule, str(f.severity)): f for f in check(reading.subjects)}

    return found


def loud(found):
    return {rule for rule, severity in found if severity != "unverified"}


def test_a_plan_and_its_endpoint_in_one_stack_are_clean(make_endpoint, buy_plan, app, findings):
    make_endpoint(plan=buy_plan(), on_expiry=OnExpiry.to_on_demand("ml.p4d.24xlarge", last_resort=OnExpiry.delete()))
    assert loud(findings()) == set()
    synth_checked(app)


def test_a_plan_of_another_stack_serves_it_and_is_clean(make_endpoint, buy_plan, app, synth):
    other = cdk.Stack(app, "Capacity")
    make_endpoint(plan=buy_plan(scope=other))
    synth_checked(app)
    (resource,) = [
        r for r in synth(app, "Serving")["Resources"].values() if r["Type"] == "Custom::SageMakerReservedEndpoint"
    ]
    assert "Capacity:ExportsOutput" in json.dumps(resource["Properties"]["TrainingPlanArn"])


def test_a_plain_configuration_on_a_plan_of_the_same_stack_is_sent_to_the_reserved_endpoint(
    make_config, buy_plan, findings
):
    make_config(plan=buy_plan())
    assert "ReservedEndpoint" in findings()["GPU-TP06", "error"].fix


def test_all_endpoints_of_a_plan_are_summed_with_their_paths(make_endpoint, make_config, buy_plan, findings):
    plan = buy_plan()
    make_endpoint(plan=plan)
    make_endpoint("Search", plan=plan)
    make_endpoint("Third", plan=plan, instance_count=1)
    message = findings()["GPU-EP04", "error"].message
    assert "5 instances are asked for, training plan 'serving' has 4" in message
    assert all(name in message for name in ("Chat", "Search", "Third"))


def test_another_endpoint_finds_no_room_beside_a_reserved_one(make_endpoint, make_config, buy_plan, stack, findings):
    plan = buy_plan()
    make_endpoint(plan=plan)
    config = make_config(plan=plan)
    sagemaker.CfnEndpoint(stack, "Other", endpoint_config_name=config.attr_endpoint_config_name)
    assert "leaves 0 of 4" in findings()["GPU-EP06", "warning"].message


def test_a_single_instance_that_fills_its_plan_is_told_that_no_model_update_fits(make_endpoint, buy_plan, findings):
    plan = buy_plan(instance_count=1)
    make_endpoint(plan=plan, instance_count=1)
    assert "no downtime is accepted" in findings()["GPU-EP06", "warning"].message


def test_with_an_accepted_downtime_it_fits(make_endpoint, buy_plan, findings):
    make_endpoint(plan=buy_plan(instance_count=1), instance_count=1, accept_downtime=cdk.Duration.minutes(15))
    assert loud(findings()) == set()


def test_what_an_escape_hatch_breaks_is_found(make_endpoint, buy_plan, findings):
    endpoint = make_endpoint(plan=buy_plan())
    child = endpoint.resource.node.default_child
    child.add_property_override("OnExpiry.Action", "to_on_demand")
    child.add_property_override("MarginSeconds", 300)
    child.add_property_override("EndpointConfig.EndpointConfigName", "chat")
    assert loud(findings()) == {"GPU-EP05", "GPU-EP09", "GPU-EP10"}


def test_the_plugin_names_the_construct(make_endpoint, buy_plan, app, tmp_path):
    endpoint = make_endpoint(plan=buy_plan())
    endpoint.resource.node.default_child.add_property_override("MarginSeconds", 300)
    cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    with pytest.raises(RuntimeError):
        app.synth()
    report = (tmp_path / "cdk.out" / "validation-report.json").read_text()
    assert "Serving/Chat/Resource/Default" in report
    assert "GPU-EP10" in report


def test_unknown_values_are_unverified(make_endpoint, make_plan, stack, findings):
    arn = cdk.CfnParameter(stack, "PlanArn").value_as_string
    plan = make_plan("Given", arn, instance_type=None, instance_count=None, target=None, starts_at=None, ends_at=None)
    make_endpoint(plan=plan, instance_type="ml.p5.48xlarge")
    found = findings()
    assert loud(found) == set()
    assert {("GPU-EP04", "unverified"), ("GPU-EP10", "unverified"), ("GPU-TP05", "unverified")} <= set(found)


def test_a_model_that_a_deploy_may_replace_has_to_outlive_the_update(make_endpoint, buy_plan, stack, findings):
    role = "arn:aws:iam::111122223333:role/model"
    model = sagemaker.CfnModel(stack, "Model", execution_role_arn=role)
    make_endpoint(plan=buy_plan(), model_name=model.attr_model_name)
    assert "GPU-EP12" in loud(findings())


def test_a_model_that_is_kept_is_clean(make_endpoint, buy_plan, stack, findings):
    model = sagemaker.CfnModel(stack, "Model", execution_role_arn="arn:aws:iam::111122223333:role/model")
    model.cfn_options.update_replace_policy = cdk.CfnDeletionPolicy.RETAIN
    make_endpoint(plan=buy_plan(), model_name=model.attr_model_name)
    assert loud(findings()) == set()
