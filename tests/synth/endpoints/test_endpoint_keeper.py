"""One keeper a stack: it runs alone, once a period, and may do only what its endpoints need."""

import json

import aws_cdk as cdk
import pytest

from constructs_lib import EndpointKeeper, EndpointScaling
from constructs_lib.model import InvalidInputError


@pytest.fixture
def template(app, synth):
    return lambda: synth(app, "Serving")


def policy_of(template, role):
    (found,) = [r for name, r in template["Resources"].items() if name.startswith(f"GpuEndpoints{role}Role")]
    return found["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]


def test_only_one_keeper_runs_at_a_time_and_nothing_is_delivered_late(make_endpoint, template, of_type):
    make_endpoint()
    functions = of_type(template(), "AWS::Lambda::Function")
    keeper, resource = (next(f for n, f in functions.items() if part in n) for part in ("Keeper", "ResourceFunction"))
    assert keeper["ReservedConcurrentExecutions"] == 1
    assert "ReservedConcurrentExecutions" not in resource
    assert (keeper["Timeout"], resource["Timeout"]) == (120, 900)
    (deliveries,) = of_type(template(), "AWS::Lambda::EventInvokeConfig").values()
    assert (deliveries["MaximumRetryAttempts"], deliveries["MaximumEventAgeInSeconds"]) == (0, 300)


@pytest.mark.parametrize(("minutes", "words"), [(1, "rate(1 minute)"), (5, "rate(5 minutes)")])
def test_the_schedule_runs_the_keeper_once_a_period(stack, template, of_type, minutes, words):
    keeper = EndpointKeeper(stack, period=cdk.Duration.minutes(minutes))
    (schedule,) = of_type(template(), "AWS::Scheduler::Schedule").values()
    assert schedule["ScheduleExpression"] == words
    assert json.loads(schedule["Target"]["Input"]) == {"action": "reconcile"}
    assert keeper.period_seconds == minutes * 60


@pytest.mark.parametrize("period", [0, 90, 16 * 60, "often", cdk.Duration.hours(1)])
def test_a_period_that_the_schedule_cannot_keep_is_refused(stack, period):
    with pytest.raises(InvalidInputError, match="period"):
        EndpointKeeper(stack, period=period)


def test_changes_of_our_endpoints_wake_the_keeper_and_others_do_not(make_endpoint, template, of_type):
    make_endpoint()
    make_endpoint("Search")
    make_endpoint("Named", endpoint_name="Chat-1")
    (rule,) = of_type(template(), "AWS::Events::Rule").values()
    assert rule["EventPattern"]["detail"] == {"EndpointName": [{"prefix": "serving-"}, "Chat-1"]}
    assert rule["EventPattern"]["detail-type"] == ["SageMaker Endpoint State Change"]


def test_a_keeper_whose_last_endpoint_was_taken_out_of_the_stack_can_be_deployed(stack, template, of_type):
    EndpointKeeper(stack)
    made = template()
    (rule,) = of_type(made, "AWS::Events::Rule").values()
    assert rule["EventPattern"]["detail"] == {"EndpointName": [{"prefix": "serving-"}]}
    statements = policy_of(made, "Keeper")
    assert all(statement["Resource"] for statement in statements)
    assert any("sagemaker:DeleteEndpoint" in statement["Action"] for statement in statements)
    assert not any("sagemaker:CreateEndpoint" in statement["Action"] for statement in statements)


def names_of(statements, resolved, *verbs):
    """Return what the SageMaker actions that begin so are allowed on, and on what condition."""
    return {
        (arn.rpartition(":")[2], json.dumps(statement.get("Condition")))
        for statement in statements
        for arn in resolved(statement["Resource"])
        if any(action.startswith(tuple(f"sagemaker:{verb}" for verb in verbs)) for action in statement["Action"])
    }


def test_the_keeper_makes_and_changes_declared_endpoints_only(make_endpoint, template, resolved):
    make_endpoint()
    found = names_of(policy_of(template(), "Keeper"), resolved, "Create", "Update", "Add")
    assert found == {("endpoint/serving-chat-02783e37", "null"), ("endpoint-config/serving-chat-02783e37-*", "null")}


def test_an_endpoint_that_left_the_stack_can_still_be_deleted_and_nobody_elses(make_endpoint, template, resolved):
    """CloudFormation changes the role before it deletes what is not declared any more."""
    make_endpoint()
    found = names_of(policy_of(template(), "Keeper"), resolved, "Delete")
    ours = json.dumps({"StringLike": {"aws:ResourceTag/gpucap:owner": "Serving/*"}})
    assert found == {("endpoint/*", ours), ("endpoint-config/*", ours)}


def test_both_only_look_at_what_is_not_declared(make_endpoint, template, resolved):
    make_endpoint()
    for role in ("Keeper", "Resource"):
        found = names_of(policy_of(template(), role), resolved, "Describe", "List")
        assert found == {(f"{kind}/*", "null") for kind in ("endpoint", "endpoint-config", "training-plan")}


def test_the_function_that_takes_declarations_in_changes_nothing_at_sagemaker(make_endpoint, template):
    make_endpoint()
    actions = [action for statement in policy_of(template(), "Resource") for action in statement["Action"]]
    assert {a for a in actions if a.startswith("sagemaker:") and a.split(":")[1][:4] not in ("Desc", "List")} == set()
    assert "lambda:InvokeFunction" in actions


def test_scaling_that_is_not_declared_any_more_can_still_be_ended(make_endpoint, template):
    make_endpoint()
    actions = {action for s in policy_of(template(), "Keeper") for action in s["Action"]}
    assert "application-autoscaling:DeregisterScalableTarget" in actions
    assert not actions & {"application-autoscaling:RegisterScalableTarget", "iam:CreateServiceLinkedRole"}


def test_what_only_some_endpoints_need_is_allowed_only_for_them(make_endpoint, template):
    make_endpoint()
    actions = {action for s in policy_of(template(), "Keeper") for action in s["Action"]}
    assert not {a.split(":")[0] for a in actions} & {"kms", "iam", "sns"}


def test_autoscaling_keys_and_roles_are_allowed_where_an_endpoint_names_them(make_endpoint, template):
    role = "arn:aws:iam::111122223333:role/endpoint"
    make_endpoint(
        scaling=EndpointScaling(min_capacity=1, max_capacity=4, invocations_per_instance=60),
        kms_key="arn:aws:kms:us-east-1:111122223333:key/0011aabb",
        request_overrides={"ExecutionRoleArn": role},
        notices="arn:aws:sns:us-east-1:111122223333:people",
    )
    statements = policy_of(template(), "Keeper")
    actions = {action for s in statements for action in s["Action"]}
    assert {"application-autoscaling:PutScalingPolicy", "kms:CreateGrant", "iam:PassRole", "sns:Publish"} <= actions
    (passing,) = [s for s in statements if s["Action"] == ["iam:PassRole"]]
    assert passing["Resource"] == [role]
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}


def test_roles_that_are_brought_are_used_as_they_are(stack, make_endpoint, template, of_type):
    names = ("keeper", "resource", "schedule")
    EndpointKeeper(stack, **{f"{name}_role": f"arn:aws:iam::111122223333:role/{name}" for name in names})
    make_endpoint()
    assert of_type(template(), "AWS::IAM::Role") == {}
    roles = {f["Role"].rpartition("/")[2] for f in of_type(template(), "AWS::Lambda::Function").values()}
    assert roles == {"keeper", "resource"}


def test_a_boundary_is_set_on_every_role(stack, make_endpoint, template, of_type):
    boundary = "arn:aws:iam::111122223333:policy/developer"
    EndpointKeeper(stack, permissions_boundary=boundary)
    make_endpoint()
    found = of_type(template(), "AWS::IAM::Role").values()
    assert [role["PermissionsBoundary"] for role in found] == [boundary] * 3


def test_a_second_keeper_and_a_keeper_elsewhere_are_refused(stack, make_endpoint):
    with pytest.raises(InvalidInputError, match="stands directly in its stack"):
        EndpointKeeper(stack, "Mine")
    make_endpoint()
    with pytest.raises(InvalidInputError, match="has its keeper already"):
        EndpointKeeper(stack)


def test_the_keeper_tells_that_it_fails(make_endpoint, template, of_type):
    make_endpoint()
    (alarm,) = [a for a in of_type(template(), "AWS::CloudWatch::Alarm").values() if a["Namespace"] == "AWS/Lambda"]
    assert (alarm["MetricName"], alarm["Threshold"]) == ("Errors", 1)
    assert "AlarmActions" not in alarm


def test_a_role_that_grows_too_large_fails_synth_with_its_size(make_endpoint, app):
    for number in range(60):
        make_endpoint(f"Endpoint{number}", plan="arn:aws:sagemaker:us-east-1:111122223333:training-plan/serving",
            instance_type="ml.p5.48xlarge", instance_count=1)  # fmt: skip
    with pytest.raises(RuntimeError, match="spread the endpoints over more stacks"):
        app.synth()


def test_an_endpoint_more_costs_a_fixed_number_of_kernel_requests(make_endpoint, make_plan, kernel_requests):
    plan, costs = make_plan(), []
    for number in range(4):
        before = kernel_requests()
        make_endpoint(f"Endpoint{number}", plan=plan, instance_count=1)
        costs.append(kernel_requests() - before)
    assert len(set(costs[1:])) == 1
    assert costs[1] <= 14
