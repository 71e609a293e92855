"""A reserved endpoint declares all that its keeper has to know, and refuses at once what cannot work."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

from constructs_lib import (
    EndpointKeeper,
    EndpointScaling,
    InstanceTypeGuardrail,
    OnExpiry,
    PriceCeiling,
    TrainingPlanTarget,
)
from constructs_lib.model import InvalidInputError

NEXT = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/serving-2"
ON_DEMAND = OnExpiry.to_on_demand("ml.g6e.48xlarge", last_resort=OnExpiry.delete())


def test_the_declaration_holds_the_request_the_way_out_and_the_times(make_endpoint, declared):
    endpoint = make_endpoint(margin=cdk.Duration.minutes(20), accept_downtime=cdk.Duration.minutes(10))
    found = declared()
    variant = {
        "VariantName": "AllTraffic",
        "ModelName": "chat",
        "InitialInstanceCount": 2,
        "InstanceType": "ml.p5.48xlarge",
        "CapacityReservationConfig": {
            "CapacityReservationPreference": "capacity-reservations-only",
            "MlReservationArn": found["TrainingPlanArn"],
        },
    }
    assert found["EndpointConfig"] == {"ProductionVariants": [variant]} == endpoint.config_request
    assert found["OnExpiry"] == {"Action": "delete"}
    assert found["TrainingPlanArn"].endswith("training-plan/serving")
    times = {name: found[f"{name}Seconds"] for name in ("Margin", "Period", "AcceptDowntime")}
    assert times == {"Margin": 1200, "Period": 300, "AcceptDowntime": 600}
    assert (found["EndpointName"], found["Owner"]) == (endpoint.endpoint_name, "Serving/Chat")


def test_the_configuration_after_the_plan_takes_the_same_settings_on_demand(make_endpoint, declared):
    way = OnExpiry.to_on_demand(
        "ml.g6e.48xlarge",
        "ml.g5.48xlarge",
        last_resort=OnExpiry.keep(acknowledge="the users know"),
        instance_count=3,
        provision_timeout=cdk.Duration.minutes(5),
        models={"ml.g5.48xlarge": "chat-a10g"},
        request_overrides={"MetricsConfig": {"EnableEnhancedMetrics": True}},
    )
    make_endpoint(on_expiry=way, margin=1200, routing="LEAST_OUTSTANDING_REQUESTS", data_capture="s3://bucket/seen")
    found = declared()["OnExpiry"]
    assert (found["Action"], found["LastResort"], found["Acknowledge"]) == ("to_on_demand", "keep", "the users know")
    (variant,) = found["EndpointConfig"]["ProductionVariants"]
    assert "CapacityReservationConfig" not in variant
    assert (variant["InitialInstanceCount"], variant["VariantInstanceProvisionTimeoutInSeconds"]) == (3, 300)
    assert variant["InstancePools"] == [
        {"InstanceType": "ml.g6e.48xlarge", "Priority": 1},
        {"InstanceType": "ml.g5.48xlarge", "Priority": 2, "ModelNameOverride": "chat-a10g"},
    ]
    assert variant["RoutingConfig"] == {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}
    assert found["EndpointConfig"]["DataCaptureConfig"]["DestinationS3Uri"] == "s3://bucket/seen"
    assert found["EndpointConfig"]["MetricsConfig"] == {"EnableEnhancedMetrics": True}


def test_one_type_on_demand_needs_no_pools(make_endpoint, declared):
    make_endpoint(on_expiry=ON_DEMAND)
    (variant,) = declared()["OnExpiry"]["EndpointConfig"]["ProductionVariants"]
    assert variant["InstanceType"] == "ml.g6e.48xlarge"
    assert "InstancePools" not in variant


def test_the_next_plan_takes_over_with_its_own_reservation(make_endpoint, make_plan, declared):
    make_endpoint(on_expiry=OnExpiry.to_plan(make_plan("Next", NEXT), instance_count=4))
    found = declared()["OnExpiry"]
    (variant,) = found["EndpointConfig"]["ProductionVariants"]
    assert variant["CapacityReservationConfig"]["MlReservationArn"] == found["TrainingPlanArn"] == NEXT
    assert (variant["InitialInstanceCount"], found["LastResort"]) == (4, "delete")


def test_a_shadow_variant_stands_on_the_same_plan_and_moves_with_it(make_endpoint, declared):
    make_endpoint(shadow={"ModelName": "chat-next", "InitialInstanceCount": 1}, on_expiry=ON_DEMAND)
    found = declared()
    (on_plan,) = found["EndpointConfig"]["ShadowProductionVariants"]
    (after,) = found["OnExpiry"]["EndpointConfig"]["ShadowProductionVariants"]
    assert (on_plan["VariantName"], on_plan["ModelName"]) == ("Shadow", "chat-next")
    assert on_plan["CapacityReservationConfig"]["MlReservationArn"] == found["TrainingPlanArn"]
    assert (after["InstanceType"], "CapacityReservationConfig" in after) == ("ml.g6e.48xlarge", False)


def test_autoscaling_is_declared_for_the_variant_within_the_plan(make_endpoint, declared):
    scaling = EndpointScaling(
        min_capacity=1, max_capacity=4, invocations_per_instance=60, scale_in_cooldown=cdk.Duration.minutes(10)
    )
    make_endpoint(scaling=scaling, variant_name="Main")
    found = declared()["Scaling"]
    assert (found["VariantName"], found["MinCapacity"], found["MaxCapacity"]) == ("Main", 1, 4)
    assert found["PolicyConfig"] == {
        "TargetValue": 60,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"},
        "ScaleInCooldown": 600,
    }


def test_the_name_is_text_in_lower_case_and_the_same_in_every_synth(make_endpoint):
    endpoint = make_endpoint()
    assert endpoint.endpoint_name == "serving-chat-02783e37"
    assert endpoint.endpoint_arn.endswith(":endpoint/serving-chat-02783e37")
    assert make_endpoint("Other", endpoint_name="Chat-1").endpoint_name == "Chat-1"


def test_tags_of_the_endpoint_and_of_everything_around_it_are_handed_over(make_endpoint, declared, stack):
    make_endpoint(tags={"team": "chat"})
    cdk.Tags.of(stack).add("stage", "test")
    assert declared()["Tags"] == [{"Key": "stage", "Value": "test"}, {"Key": "team", "Value": "chat"}]


def test_the_endpoint_goes_first_while_all_that_takes_it_down_is_still_there(make_endpoint, app, synth):
    endpoint = make_endpoint()
    template = synth(app, "Serving")
    (resource,) = [r for r in template["Resources"].values() if r["Type"] == "Custom::SageMakerReservedEndpoint"]
    shared = {name for name, r in template["Resources"].items() if name.startswith("GpuEndpoints")}
    assert shared == set(resource["DependsOn"])
    kinds = {template["Resources"][name]["Type"] for name in resource["DependsOn"]}
    needed = {"AWS::Lambda::Function", "AWS::DynamoDB::Table", "AWS::Scheduler::Schedule", "AWS::IAM::Role"}
    assert needed <= kinds
    assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Delete"
    assert endpoint.keeper is EndpointKeeper.of(endpoint)


def test_a_policy_to_retain_everything_does_not_leave_an_endpoint_without_its_keeper(make_endpoint, app, synth):
    make_endpoint()
    cdk.RemovalPolicies.of(app).retain()
    resources = synth(app, "Serving")["Resources"].values()
    (resource,) = [r for r in resources if r["Type"] == "Custom::SageMakerReservedEndpoint"]
    assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Delete"


def test_whoever_may_invoke_the_endpoint_may_do_so_in_every_way_and_nothing_else(make_endpoint, stack, resolved):
    endpoint = make_endpoint(endpoint_name="Chat")
    role = iam.Role(stack, "Caller", assumed_by=iam.AccountRootPrincipal())
    endpoint.grants.invoke(role)
    resources = cdk.assertions.Template.from_stack(stack).find_resources("AWS::IAM::Policy")
    ((_, policy),) = resources.items()
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    ways = ["InvokeEndpoint", "InvokeEndpointAsync", "InvokeEndpointWithResponseStream"]
    assert statement["Action"] == [f"sagemaker:{way}" for way in ways]
    place = "arn:aws:sagemaker:us-east-1:111122223333:endpoint"
    assert resolved(statement["Resource"]) == [f"{place}/Chat", f"{place}/chat"]


def test_what_the_keeper_measures_is_there_as_metrics(make_endpoint):
    endpoint = make_endpoint()
    names = ("endpoint_state", "rolled_back", "no_head_room", "seconds_to_cut", "plan_instances_used")
    metrics = [getattr(endpoint, f"metric_{name}")() for name in names]
    assert {metric.dimensions["Endpoint"] for metric in metrics} == {endpoint.endpoint_name}
    assert [metric.metric_name.lower() for metric in metrics] == [name.replace("_", "") for name in names]
    with pytest.raises(InvalidInputError, match="there are EndpointState"):
        endpoint.metric("Latency")


def test_four_alarms_tell_what_a_person_should_know(make_endpoint, app, synth, of_type):
    endpoint = make_endpoint(notices="arn:aws:sns:us-east-1:111122223333:people")
    found = of_type(synth(app, "Serving"), "AWS::CloudWatch::Alarm")
    ours = {alarm["MetricName"]: alarm for alarm in found.values() if alarm["Namespace"] == "GpuCapacity"}
    assert set(endpoint.alarms) == {"RolledBackAlarm", "NoHeadRoomAlarm", "NotAsDeclaredAlarm", "CutAlarm"}
    assert set(ours) == {"RolledBack", "NoHeadRoom", "EndpointState", "SecondsToCut"}
    minutes = ours["EndpointState"]["DatapointsToAlarm"] * ours["EndpointState"]["Period"] / 60
    assert (minutes, ours["SecondsToCut"]["Threshold"]) == (15, 86_400)
    assert {tuple(alarm["AlarmActions"]) for alarm in found.values()} == {
        ("arn:aws:sns:us-east-1:111122223333:people",)
    }


def test_what_the_deploy_found_stands_in_attributes(make_endpoint, stack):
    endpoint = make_endpoint()
    names = {"Status": endpoint.attr_status, "NextAction": endpoint.attr_next_action}
    names["NextActionAt"] = endpoint.attr_next_action_at
    for name, value in names.items():
        assert stack.resolve(value)["Fn::GetAtt"][1] == name


def test_a_plan_bought_in_the_same_stack_serves_it(make_endpoint, buy_plan, declared, stack):
    plan = buy_plan()
    make_endpoint(plan=plan)
    assert declared()["TrainingPlanArn"] == stack.resolve(plan.training_plan_arn)


def test_tokens_are_no_errors(make_endpoint, make_plan, stack, declared):
    count = cdk.CfnParameter(stack, "Count", type="Number").value_as_number
    arn = cdk.CfnParameter(stack, "PlanArn").value_as_string
    model = sagemaker.CfnModel(stack, "Model", execution_role_arn="arn:aws:iam::111122223333:role/model")
    make_endpoint(
        plan=make_plan("Given", arn, instance_count=None),
        model_name=model.attr_model_name,
        instance_count=count,
        instance_type=cdk.CfnParameter(stack, "Type").value_as_string,
        margin=cdk.Duration.seconds(cdk.CfnParameter(stack, "Margin", type="Number").value_as_number),
    )
    found = declared()
    (variant,) = found["EndpointConfig"]["ProductionVariants"]
    assert (variant["InitialInstanceCount"], variant["InstanceType"]) == ({"Ref": "Count"}, {"Ref": "Type"})
    assert found["MarginSeconds"] == {"Ref": "Margin"}


REFUSED = {
    "no way out": ({"on_expiry": None}, r"on_expiry: OnExpiry.delete\(\), .* is needed, None was given"),
    "another type": ({"instance_type": "ml.p4d.24xlarge"}, "GPU-EP03.*is for ml.p5.48xlarge"),
    "more than the plan": ({"instance_count": 5}, "GPU-EP04.*5 instances are asked for, .* has 4"),
    "two plans": ({"plan": [NEXT, NEXT]}, "an endpoint runs on a single plan"),
    "no plan": ({"plan": None}, "plan: a training plan or its ARN is needed, None was given"),
    "something else": (
        {"plan": "arn:aws:sagemaker:us-east-1:111122223333:cluster/x", "instance_type": "ml.p5.48xlarge"},
        "GPU-EP01.*a training plan is needed"),
    "pools on a plan": (
        {"request_overrides": {"ProductionVariants": [{"VariantName": "a", "ModelName": "m", "InitialInstanceCount": 1,
            "InstancePools": [{"InstanceType": "ml.p5.48xlarge", "Priority": 1}, {"InstanceType": "ml.p4d.24xlarge",
            "Priority": 2}], "CapacityReservationConfig": {"CapacityReservationPreference":
            "capacity-reservations-only", "MlReservationArn": NEXT}}]}},
        "GPU-EP02.*pools of several types"),
    "a fixed name": ({"request_overrides": {"EndpointConfigName": "chat"}}, "GPU-EP05.*every change needs a new name"),
    "a maximum above the plan": (
        {"scaling": EndpointScaling(min_capacity=1, max_capacity=5, invocations_per_instance=9)},
        "GPU-EP11.*the maximum is 5, .* has 4"),
    "no scaling": ({"scaling": 4}, r"scaling: EndpointScaling\(min_capacity=...\) is needed, 4 was given"),
    "a margin beyond the segment": ({"margin": cdk.Duration.days(7)}, "GPU-EP10.*would never come up"),
    "a margin below two periods": ({"margin": 500}, "GPU-EP10.*two periods of the keeper are 600"),
    "a negative margin": ({"margin": -1}, "margin: a Duration, timedelta or seconds are needed"),
    "the same plan": (
        {"on_expiry": OnExpiry.to_plan("arn:aws:sagemaker:us-east-1:111122223333:training-plan/serving")},
        "GPU-EP09.*the next plan is the plan itself"),
    "a bad timeout": (
        {"on_expiry": OnExpiry.to_on_demand("ml.g5.xlarge", last_resort=OnExpiry.delete(), provision_timeout=60)},
        "GPU-EP07.*300 to 3600"),
    "a name with blanks": ({"endpoint_name": "my chat"}, "endpoint_name: 1 to 63 letters"),
    "a name that a deploy knows": ({"endpoint_name": cdk.Aws.STACK_NAME}, "known at synth"),
    "a shadow without a model": ({"shadow": {"InitialInstanceCount": 1}}, "shadow: a mapping with ModelName"),
    "a setting that is none": ({"rooting": "RANDOM"}, "no setting rooting; the settings are variant_name"),
    "a type that no endpoint takes": (
        {"on_expiry": OnExpiry.to_on_demand("ml.p3.99xlarge", "p5.48xlarge", last_resort=OnExpiry.delete())},
        "p5.48xlarge"),
}  # fmt: skip


@pytest.mark.parametrize(("props", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_work_is_refused_at_once_in_words(make_endpoint, props, words):
    with pytest.raises(InvalidInputError, match=f"(?s){words}"):
        make_endpoint(**props)


def test_a_plan_for_jobs_is_refused(make_endpoint, make_plan):
    with pytest.raises(InvalidInputError, match=r"GPU-TP05.*was bought for training-job"):
        make_endpoint(plan=make_plan(target=TrainingPlanTarget.TRAINING_JOB))


def test_a_plan_bought_here_is_held_against_the_endpoint_too(make_endpoint, buy_plan):
    plan = buy_plan(instance_count=1, max_upfront_fee=PriceCeiling("9000", "USD"))
    with pytest.raises(InvalidInputError, match="GPU-EP04"):
        make_endpoint(plan=plan)
    with pytest.raises(InvalidInputError, match=r"GPU-EP10.*would never come up"):
        make_endpoint(plan=plan, instance_count=1, margin=cdk.Duration.days(7))


def test_a_type_that_nobody_knows_has_to_be_given(make_endpoint, make_plan):
    with pytest.raises(InvalidInputError, match="the plan's type is not known here"):
        make_endpoint(plan=make_plan(instance_type=None))


BAD_WAYS = {
    "no last resort": (lambda: OnExpiry.to_on_demand("ml.g5.xlarge"), "last_resort is OnExpiry.delete"),
    "a move as the last resort": (lambda: OnExpiry.to_on_demand("ml.g5.xlarge", last_resort=ON_DEMAND), "last_resort"),
    "no types": (lambda: OnExpiry.to_on_demand(last_resort=OnExpiry.delete()), "1 to 5 instance types"),
    "six types": (
        lambda: OnExpiry.to_on_demand(*[f"ml.g5.{n}xlarge" for n in range(6)], last_resort=OnExpiry.delete()),
        "1 to 5 instance types",
    ),
    "a type twice": (
        lambda: OnExpiry.to_on_demand("ml.g5.xlarge", "ml.g5.xlarge", last_resort=OnExpiry.delete()),
        "ml.g5.xlarge is given twice",
    ),
    "a model for another type": (
        lambda: OnExpiry.to_on_demand("ml.g5.xlarge", last_resort=OnExpiry.delete(), models={"ml.g6.xlarge": "m"}),
        "ml.g6.xlarge is not among the types",
    ),
    "keep without a word": (OnExpiry.keep, "acknowledge: say why"),
    "keep without a reason": (lambda: OnExpiry.keep(acknowledge=" "), "say why"),
    "no next plan": (lambda: OnExpiry.to_plan(None), "next_plan: a training plan or its ARN is needed"),
}


@pytest.mark.parametrize(("make", "words"), BAD_WAYS.values(), ids=BAD_WAYS)
def test_a_way_out_that_is_none_is_refused_in_words(make, words):
    with pytest.raises(InvalidInputError, match=words):
        make()


def test_a_guardrail_over_the_stack_binds_the_types_before_and_after_the_plan(make_endpoint, stack):
    InstanceTypeGuardrail(stack, "Approved", allowed=["ml.p5.*"])
    with pytest.raises(InvalidInputError, match=r"asks for ml.g6e.48xlarge"):
        make_endpoint(on_expiry=ON_DEMAND)


def test_two_endpoints_share_the_keeper_and_the_topic(make_endpoint, stack, app, synth, of_type):
    topic = sns.Topic(stack, "People", enforce_ssl=True)
    first, second = make_endpoint(notices=topic), make_endpoint("Search", notices=topic)
    assert first.keeper is second.keeper
    with pytest.raises(InvalidInputError, match="share one topic"):
        make_endpoint("Third", notices="arn:aws:sns:us-east-1:111122223333:others")
    functions = of_type(synth(app, "Serving"), "AWS::Lambda::Function").values()
    told = [f["Environment"]["Variables"].get("GPUCAP_NOTICES_TOPIC") for f in functions]
    assert told == [stack.resolve(topic.topic_arn), None]


def test_two_endpoints_of_one_name_are_refused(make_endpoint):
    make_endpoint(endpoint_name="chat")
    with pytest.raises(InvalidInputError, match="'chat' is declared by Serving/Chat already"):
        make_endpoint("Other", endpoint_name="chat")


def test_the_owner_is_fit_for_a_tag(make_endpoint, app, synth, of_type):
    other = cdk.Stack(app, "Other", stack_name="serving-production")
    make_endpoint("Ch*t #1", scope=other)
    (found,) = of_type(synth(app, "serving-production"), "Custom::SageMakerReservedEndpoint").values()
    assert found["Owner"] == "serving-production/Ch-t -1"


def test_a_deep_path_makes_an_owner_that_still_fits_and_says_its_stack(make_endpoint, declared, stack):
    scope = stack
    for number in range(6):
        scope = Construct(scope, f"{'Deep' * 12}{number}")
    make_endpoint(scope=scope)
    owner = declared()["Owner"]
    assert len(owner) == 256
    assert owner.startswith("Serving/Deep")


def test_a_nested_stack_has_a_keeper_of_its_own(make_endpoint, stack, app):
    nested = cdk.NestedStack(stack, "Inner")
    endpoint = make_endpoint(scope=nested)
    assert endpoint.keeper.node.path == "Serving/Inner/GpuEndpoints"
    assert endpoint.endpoint_name.startswith("serving-inner-chat-")
    app.synth()
