"""What buys and watches: least privilege, parts that can be brought, timings, schedule, alarms, events and metrics."""

import json

import pytest
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns

from constructs_lib import Approval, CapacityBuyer, PriceCeiling, TrainingPlan, TrainingPlanTarget
from constructs_lib.facts.iam import actions
from constructs_lib.model import InvalidInputError
from constructs_lib.model.purchase_names import PLAN_METRICS

TOPIC = "arn:aws:sns:us-east-1:111122223333:purchases"
HERE = "us-east-1:111122223333"
PLANS = [f"arn:aws:sagemaker:{HERE}:training-plan/nightly{rest}" for rest in ("", "-*")]
RESERVED = f"arn:aws:sagemaker:{HERE}:reserved-capacity/*"
SPENDING = ("sagemaker:CreateTrainingPlan", "sagemaker:CreateReservedCapacity")


@pytest.fixture
def statements(of_type, resolved):
    """Return a function that gives the statements of one of the buyer's roles, by the role's construct id."""

    def of(template, construct_id):
        roles = of_type(template, "AWS::IAM::Role")
        (role,) = (role for name, role in roles.items() if name.startswith(f"GpuCapacityBuyer{construct_id}"))
        (policy,) = role["Policies"]
        return resolved(policy["PolicyDocument"]["Statement"])

    return of


def allowed(statements, action):
    """Return the resources on which one action is allowed, and under which conditions."""
    return sorted(
        (resource, json.dumps(s.get("Condition")))
        for s in statements
        if action in s["Action"]
        for resource in s["Resource"]
    )


def test_the_buyer_may_do_what_a_purchase_takes_on_its_own_plans_and_nothing_else_that_spends(
    app, make_plan, synth, statements
):
    make_plan()
    found = statements(synth(app), "BuyerRole")
    for action in SPENDING:
        assert [resource for resource, _ in allowed(found, action)] == sorted([*PLANS, RESERVED])
    assert [resource for resource, _ in allowed(found, "sagemaker:SearchTrainingPlanOfferings")] == ["*"]
    everything = {action for s in found for action in s["Action"]}
    assert {action for action in everything if action.startswith("sagemaker:")} == {
        *SPENDING,
        *(
            f"sagemaker:{verb}"
            for verb in ("AddTags", "ListTags", "DescribeTrainingPlan", "SearchTrainingPlanOfferings")
        ),
    }
    assert not {action for action in everything if "*" in action}


def test_reserved_capacity_is_tagged_only_in_the_call_that_makes_it(app, make_plan, synth, statements):
    make_plan()
    tagging = allowed(statements(synth(app), "BuyerRole"), "sagemaker:AddTags")
    only_then = {"StringEquals": {"sagemaker:TaggingAction": ["CreateTrainingPlan", "CreateReservedCapacity"]}}
    assert [json.loads(condition) for resource, condition in tagging if resource == RESERVED] == [only_then]
    free = [resource for resource, condition in tagging if condition == "null"]
    assert free == sorted(PLANS)


def test_the_buyer_knows_its_own_stack_one_table_and_the_topics_it_asks(app, make_plan, synth, statements):
    make_plan(approval=Approval.required(topic=TOPIC))
    found = statements(synth(app), "BuyerRole")
    assert [resource for resource, _ in allowed(found, "cloudformation:DescribeStacks")] == ["AWS::StackId"]
    table = f"arn:aws:dynamodb:{HERE}:table/gpu-capacity-purchases"
    for verb in ("GetItem", "UpdateItem", "CreateTable", "UpdateContinuousBackups"):
        assert [resource for resource, _ in allowed(found, f"dynamodb:{verb}")] == [table]
    assert [resource for resource, _ in allowed(found, "sns:Publish")] == [TOPIC]
    assert not allowed(found, "dynamodb:DeleteTable")


def test_extending_is_allowed_only_where_an_extension_is_declared(app, make_plan, synth, statements):
    make_plan(extend_until="2027-02-12T11:30Z", max_extension_fee=PriceCeiling("1", "USD"))
    found = statements(synth(app), "BuyerRole")
    assert [resource for resource, _ in allowed(found, "sagemaker:ExtendTrainingPlan")] == ["*"]
    assert [r for r, _ in allowed(found, "sagemaker:DescribeTrainingPlanExtensionHistory")] == sorted(PLANS)


def test_a_name_with_capitals_is_allowed_in_both_spellings(app, make_plan, synth, statements):
    make_plan(training_plan_name="Nightly")
    found = [resource for resource, _ in allowed(statements(synth(app), "BuyerRole"), SPENDING[0])]
    both = [
        f"arn:aws:sagemaker:{HERE}:training-plan/{name}{rest}" for name in ("Nightly", "nightly") for rest in ("", "-*")
    ]
    assert found == sorted([*both, RESERVED])


def test_the_watcher_can_not_spend(app, make_plan, synth, statements):
    make_plan(extend_until="2027-02-12T11:30Z", max_extension_fee=PriceCeiling("1", "USD"))
    everything = {action for s in statements(synth(app), "WatcherRole") for action in s["Action"]}
    assert not everything & {*SPENDING, "sagemaker:ExtendTrainingPlan", "dynamodb:CreateTable", "dynamodb:DeleteItem"}
    assert not {action for action in everything if action.startswith("dynamodb:")} - {
        "dynamodb:GetItem",
        "dynamodb:UpdateItem",
    }


def test_the_watcher_of_a_stack_follows_the_plans_that_the_stack_declares(app, make_plan, synth, of_type, statements):
    make_plan()
    make_plan("Weekly", training_plan_name="weekly", generation=2)
    template = synth(app)
    (schedule,) = of_type(template, "AWS::Scheduler::Schedule").values()
    assert json.loads(schedule["Target"]["Input"]) == {"identities": ["nightly", "weekly"]}
    seen = [resource for resource, _ in allowed(statements(template, "WatcherRole"), "sagemaker:DescribeTrainingPlan")]
    assert seen == sorted([*PLANS, *(plan.replace("nightly", "weekly") for plan in PLANS)])


def test_every_action_exists_and_stands_on_a_resource_that_it_takes(app, make_plan, synth, statements):
    make_plan(extend_until="2027-02-12T11:30Z", max_extension_fee=PriceCeiling("1", "USD"))
    template, known, seen = synth(app), actions(), set()
    for role in ("BuyerRole", "WatcherRole"):
        for statement in statements(template, role):
            kinds = {resource.split(":")[-1].split("/")[0] for resource in statement["Resource"] if resource != "*"}
            for action in known.keys() & {name for name in statement["Action"] if name.startswith("sagemaker:")}:
                seen.add(action)
                takes = {*known[action].resources, *known[action].optional}
                assert kinds & takes or (not kinds and not takes), action
    assert {*SPENDING, "sagemaker:ExtendTrainingPlan", "sagemaker:DescribeTrainingPlan"} <= seen


def test_what_is_brought_is_used_and_not_made(app, stack, make_plan, synth, of_type, resolved):
    roles = {f"{part}_role": f"arn:aws:iam::111122223333:role/{part}" for part in ("buyer", "watcher", "schedule")}
    CapacityBuyer(stack, **roles)
    make_plan()
    template = synth(app)
    assert of_type(template, "AWS::IAM::Role") == {}
    functions = of_type(template, "AWS::Lambda::Function").values()
    assert sorted(f["Role"] for f in functions) == [roles["buyer_role"], roles["watcher_role"]]
    (schedule,) = of_type(template, "AWS::Scheduler::Schedule").values()
    assert schedule["Target"]["RoleArn"] == roles["schedule_role"]


def test_a_permissions_boundary_is_on_every_role(app, stack, make_plan, synth, of_type):
    CapacityBuyer(stack, permissions_boundary="arn:aws:iam::111122223333:policy/developer")
    make_plan()
    roles = of_type(synth(app), "AWS::IAM::Role").values()
    assert [role["PermissionsBoundary"] for role in roles] == ["arn:aws:iam::111122223333:policy/developer"] * 3


def test_an_event_outlives_neither_the_buyer_nor_the_wait_for_its_answer(app, make_plan, synth, of_type, purchases):
    make_plan()
    template = synth(app)
    functions = of_type(template, "AWS::Lambda::Function").values()
    (buyer,) = (f for f in functions if f["Handler"] == "constructs_lib.runtime.handlers.training_plan.handler")
    (deliveries,) = of_type(template, "AWS::Lambda::EventInvokeConfig").values()
    (purchase,) = purchases(template).values()
    age = deliveries["MaximumEventAgeInSeconds"]
    assert age + buyer["Timeout"] < int(purchase["ServiceTimeout"]) <= 3600
    assert buyer["Environment"]["Variables"]["AWS_DATA_PATH"] == "/var/task/models"


def test_the_purchase_waits_for_everything_that_it_needs(app, make_plan, synth):
    make_plan()
    resources = synth(app)["Resources"]
    (purchase,) = (r for r in resources.values() if r["Type"] == "Custom::SageMakerTrainingPlan")
    needed = {name for name in resources if name.startswith("GpuCapacityBuyer")}
    assert needed <= set(purchase["DependsOn"])


def test_the_watcher_looks_every_five_minutes_and_tells_the_topic(app, stack, make_plan, synth, of_type, statements):
    CapacityBuyer(stack, notices=sns.Topic(stack, "People"))
    make_plan()
    template = synth(app)
    (schedule,) = of_type(template, "AWS::Scheduler::Schedule").values()
    assert schedule["ScheduleExpression"] == "rate(5 minutes)"
    functions = of_type(template, "AWS::Lambda::Function")
    (watcher,) = (name for name in functions if "Watcher" in name)
    assert schedule["Target"]["Arn"] == {"Fn::GetAtt": [watcher, "Arn"]}
    (topic,) = (name for name, row in template["Resources"].items() if row["Type"] == "AWS::SNS::Topic")
    assert functions[watcher]["Environment"]["Variables"]["GPUCAP_NOTICE_TOPIC"] == {"Ref": topic}
    alarms = of_type(template, "AWS::CloudWatch::Alarm").values()
    assert {json.dumps(alarm["AlarmActions"]) for alarm in alarms} == {json.dumps([{"Ref": topic}])}


def test_a_plan_has_an_alarm_on_every_thing_that_costs_money_or_runs_out(app, make_plan, synth, of_type):
    make_plan(generation=2)
    alarms = of_type(synth(app), "AWS::CloudWatch::Alarm").values()
    rows = {(a["MetricName"], a["Threshold"], a["Period"] * a["DatapointsToAlarm"] // 60) for a in alarms}
    assert rows == {
        ("PendingPayment", 0, 50),
        ("StartDelayMinutes", 15, 5),
        ("UnusedReservedInstanceHours", 0, 30),
        ("HoursToEnd", 168, 5),
        ("HoursToEnd", 24, 5),
        ("HoursToEnd", 1, 5),
    }
    assert all(a["EvaluationPeriods"] >= a["DatapointsToAlarm"] + 2 for a in alarms)
    assert {a["Dimensions"][0]["Value"] for a in alarms} == {"nightly-2"}
    assert {a["TreatMissingData"] for a in alarms} == {"notBreaching"}
    assert all("AlarmActions" not in a for a in alarms)


def test_a_change_of_status_is_a_rule_on_the_watchers_events_of_this_plan(app, stack, make_plan, synth, of_type):
    plan = make_plan(generation=2)
    topic = sns.Topic(stack, "People")
    plan.on_status_change("Changed", target=targets.SnsTopic(topic), description="tell them")
    plan.on_notice("Noticed")
    rules = of_type(synth(app), "AWS::Events::Rule")
    changed, noticed = (next(rule for name, rule in rules.items() if word in name) for word in ("Changed", "Noticed"))
    assert changed["EventPattern"] == {
        "source": ["gpu-capacity"],
        "detail-type": ["Training Plan Status Change"],
        "detail": {"TrainingPlanName": ["nightly-2"]},
    }
    assert (len(changed["Targets"]), changed["Description"]) == (1, "tell them")
    assert noticed["EventPattern"]["detail-type"] == ["Training Plan Notice"]


def test_a_plan_has_a_metric_of_each_name(stack, make_plan):
    plan = make_plan()
    made = [
        plan.metric_unused_reserved_instance_hours(),
        plan.metric_available_instances(),
        plan.metric_in_use_instances(),
        plan.metric_pending_payment(),
        plan.metric_start_delay_minutes(),
        plan.metric_hours_to_end(),
    ]
    assert [metric.metric_name for metric in made] == list(PLAN_METRICS)
    assert {json.dumps(metric.dimensions) for metric in made} == {'{"TrainingPlanName": "nightly"}'}
    assert (made[0].statistic, plan.metric("HoursToEnd", statistic="Minimum").statistic) == ("Sum", "Minimum")
    with pytest.raises(InvalidInputError, match="there are UnusedReservedInstanceHours, "):
        plan.metric("Hours")


@pytest.mark.parametrize(
    ("target", "action", "user"),
    [
        (TrainingPlanTarget.TRAINING_JOB, "sagemaker:CreateTrainingJob", "training-job/sweep-*"),
        (TrainingPlanTarget.HYPERPOD_CLUSTER, "sagemaker:UpdateCluster", "cluster/sweep-*"),
        (TrainingPlanTarget.ENDPOINT, "sagemaker:DescribeTrainingPlan", None),
    ],
)
def test_using_a_plan_is_allowed_on_the_user_the_plan_and_its_reserved_capacity(
    app, stack, make_plan, synth, of_type, resolved, target, action, user
):
    plan = make_plan(target=target)
    role = iam.Role(stack, "Scientist", assumed_by=iam.AccountRootPrincipal())
    plan.grants.use(role, name_prefix="sweep-").assert_success()
    policies = of_type(synth(app), "AWS::IAM::Policy")
    (policy,) = policies.values()
    found = resolved(policy["PolicyDocument"]["Statement"])
    (statement,) = (s for s in found if action in (s["Action"] if isinstance(s["Action"], list) else [s["Action"]]))
    bought = "arn:aws:iam::111122223333:role/"  # how the tests spell a GetAtt
    if user is None:
        assert statement["Resource"].startswith(bought)
        assert not [s for s in found if "Create" in str(s["Action"])]
    else:
        own, plans, reserved = statement["Resource"]
        assert own == f"arn:aws:sagemaker:{HERE}:{user}"
        assert plans.startswith(bought)
        assert reserved == RESERVED


def test_using_a_plan_of_which_nothing_is_known_is_not_granted(stack):
    plan = TrainingPlan.from_training_plan_arn(stack, "Plan", f"arn:aws:sagemaker:{HERE}:training-plan/x")
    role = iam.Role(stack, "Scientist", assumed_by=iam.AccountRootPrincipal())
    with pytest.raises(InvalidInputError, match="what the plan is for is not known; give target"):
        plan.grants.use(role)
