"""What starts a job by itself: schedules, objects in a bucket, and a plan that has become active."""

import json
from datetime import UTC, datetime

import aws_cdk as cdk
import pytest

from constructs_lib import (
    CapacityKit,
    CapacityWindow,
    InstancePreference,
    LaunchStep,
    PriceCeiling,
    TrainingPlan,
    TrainingPlanTarget,
)
from constructs_lib.model import InvalidInputError
from constructs_lib.model.window import zoned

ARN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/nightly"
SCHEDULE, RULE, ALARM = "AWS::Scheduler::Schedule", "AWS::Events::Rule", "AWS::CloudWatch::Alarm"


@pytest.fixture
def imported(stack):
    """Return a function that gives a plan that was bought elsewhere."""

    def plan(**more):
        given = {"instance_type": "ml.p5.48xlarge", "instance_count": 4, "target": TrainingPlanTarget.TRAINING_JOB}
        given |= {"starts_at": "2026-12-10T12:30+01:00", "ends_at": "2026-12-13T11:30Z", **more}
        return TrainingPlan.from_training_plan_arn(stack, "Nightly", ARN, **given)

    return plan


@pytest.fixture
def named(of_type):
    """Return a function that gives the one resource of a type whose logical id starts so."""

    def one(template, kind, start):
        (found,) = (r for name, r in of_type(template, kind).items() if name.startswith(start))
        return found

    return one


@pytest.fixture
def statements(named, resolved):
    """Return a function that gives the statements of one of the kit's roles."""

    def of(template, role):
        return resolved(
            named(template, "AWS::IAM::Role", f"GpuCapacity{role}")["Policies"][0]["PolicyDocument"]["Statement"]
        )

    return of


@pytest.mark.parametrize(
    "expression", ["rate(1 day)", "rate(5 minutes)", "cron(0 6 ? * MON-FRI *)", "at(2027-01-27T06:00:00)"]
)
def test_a_schedule_starts_the_machine_in_its_time_zone(make_job, synth, named, statements, resolved, expression):
    job = make_job()
    job.start_on_schedule("Daily", expression, time_zone="Europe/Berlin")
    template = synth(job.node.root)
    schedule = named(template, SCHEDULE, "FineTuneDaily")
    assert (schedule["ScheduleExpression"], schedule["ScheduleExpressionTimezone"]) == (expression, "Europe/Berlin")
    assert schedule["Target"]["Arn"] == {"Fn::GetAtt": ["FineTune", "Arn"]}
    assert json.loads(schedule["Target"]["Input"]) == {}
    (start,) = (s for s in statements(template, "ScheduleRole") if s["Action"] == ["states:StartExecution"])
    assert start["Resource"] == [f"arn:aws:states:us-east-1:111122223333:stateMachine:{job.job_name_prefix}"]


def test_a_schedule_says_what_its_runs_override(make_job, synth, named):
    job = make_job(run_overrides=["hyperparameters", "instance_count"])
    job.start_on_schedule("Small", "rate(1 day)", overrides={"hyperparameters": {"epochs": "1"}, "instance_count": 1})
    schedule = named(synth(job.node.root), SCHEDULE, "FineTuneSmall")
    given = {"overrides": {"hyperparameters": {"epochs": "1"}, "instance_count": 1}}
    assert json.loads(schedule["Target"]["Input"]) == given


@pytest.mark.parametrize(
    ("expression", "zone", "words"),
    [
        ("every day", "UTC", r"schedule 'every day': write rate\(1 day\)"),
        ("rate(0 days)", "UTC", "schedule"),
        ("cron(0 6 * * *)", "UTC", "with six fields"),
        ("at(2027-01-27T06:00:00Z)", "UTC", r"at\(2027-01-27T06:00:00\)"),
        ("rate(1 day)", "Europe/Berlino", "time_zone 'Europe/Berlino'"),
    ],
)
def test_a_malformed_schedule_is_refused_with_words(make_job, expression, zone, words):
    with pytest.raises(InvalidInputError, match=words):
        make_job().start_on_schedule("Daily", expression, time_zone=zone)


@pytest.mark.parametrize(
    ("allowed", "overrides", "words"),
    [
        ([], {"instance_count": 1}, 'instance_count may not be given.*run_overrides=\\("instance_count",\\)'),
        (["instance_count"], {"instance_counts": 1}, "instance_counts is not known"),
        (["hyperparameters"], {"hyperparameters": {"epochs": 3}}, "AWS takes texts only: write '3'"),
        (["max_runtime"], {"max_runtime": 60 * 86_400}, "GPU-PL25"),
        (["inputs"], {"inputs": {"test": "s3://b/c"}}, "the job has no such input from S3; it has train"),
    ],
)
def test_overrides_of_a_schedule_are_judged_now_as_the_launcher_would_judge_them(make_job, allowed, overrides, words):
    job = make_job(run_overrides=allowed)
    with pytest.raises(InvalidInputError, match=words):
        job.start_on_schedule("Daily", "rate(1 day)", overrides=overrides)


def test_an_object_starts_the_machine_and_becomes_its_input(make_job, synth, named, statements):
    job = make_job(run_overrides=["inputs"])
    job.start_on_object_created("Data", "incoming", prefix="tonight/")
    template = synth(job.node.root)
    rule = named(template, RULE, "FineTuneData")
    assert rule["EventPattern"] == {
        "source": ["aws.s3"],
        "detail-type": ["Object Created"],
        "detail": {"bucket": {"name": ["incoming"]}, "object": {"key": [{"prefix": "tonight/"}]}},
    }
    (target,) = rule["Targets"]
    transformer = target["InputTransformer"]
    filled = transformer["InputTemplate"].replace("<bucket>", "incoming").replace("<key>", "tonight/a b.jsonl")
    assert json.loads(filled) == {"overrides": {"inputs": {"train": "s3://incoming/tonight/a b.jsonl"}}}
    assert set(transformer["InputPathsMap"]) == {"bucket", "key"}
    assert target["Arn"] == {"Fn::GetAtt": ["FineTune", "Arn"]}
    (start,) = statements(template, "EventRole")
    assert start["Action"] == ["states:StartExecution"]
    reads = [s["Resource"] for s in statements(template, "ExecutionRole") if s["Action"] == ["s3:GetObject"]]
    assert "arn:aws:s3:::incoming/tonight*" in reads[0]


def test_an_object_of_any_key_starts_a_job_with_a_role_of_its_own_that_may_read_it(
    make_processing, synth, named, resolved
):
    job = make_processing(run_overrides=["inputs"], own_role=True)
    job.start_on_object_created("Data", "incoming", channel="texts")
    template = synth(job.node.root)
    assert "object" not in named(template, RULE, "EmbedData")["EventPattern"]["detail"]
    assert "incoming" in str(resolved(named(template, "AWS::IAM::Role", "EmbedRole")))


@pytest.mark.parametrize(
    ("props", "channel", "words"),
    [({}, "train", "inputs may not be given"), ({"run_overrides": ["inputs"]}, "test", "no such input from S3")],
)
def test_an_object_that_the_job_could_not_take_is_refused(make_job, props, channel, words):
    with pytest.raises(InvalidInputError, match=words):
        make_job(**props).start_on_object_created("Data", "incoming", channel=channel)


def test_a_plan_starts_the_job_at_its_start_and_by_a_poll_with_an_alarm_when_it_is_late(
    imported, make_job, synth, named, statements
):
    plan = imported()
    job = make_job(preferences=[plan.preference()], instance_count=None)
    started = plan.start_on_active(job)
    template = synth(job.node.root)
    at, poll = (named(template, SCHEDULE, f"FineTuneOnNightly{name}") for name in ("AtStart", "Poll"))
    assert (at["ScheduleExpression"], at["ScheduleExpressionTimezone"]) == ("at(2026-12-10T11:30:00)", "UTC")
    assert zoned("2026-12-10T12:30+01:00", "") == datetime(2026, 12, 10, 11, 30, tzinfo=UTC)
    assert poll["ScheduleExpression"] == "rate(5 minutes)"
    assert at["Target"] == poll["Target"]
    parts = poll["Target"]["Input"]["Fn::Join"][1]
    asked = json.loads("".join(part if isinstance(part, str) else "MACHINE" for part in parts))
    assert asked == {"action": "start", "plan": ARN, "machine": "MACHINE", "starts": "2026-12-10T11:30:00Z"}
    assert "StartDate" not in poll
    assert "EndDate" not in poll
    alarm = named(template, ALARM, "FineTuneOnNightlyLate")
    assert (alarm["MetricName"], alarm["Threshold"]) == ("PlanStartDelaySeconds", 900)
    assert alarm["Dimensions"] == [{"Name": "TrainingPlanName", "Value": "nightly"}]
    assert "AlarmActions" not in alarm
    launcher = statements(template, "LauncherRole")
    machine = f"arn:aws:states:us-east-1:111122223333:stateMachine:{job.job_name_prefix}"
    assert [s["Resource"] for s in launcher if s["Action"] == ["states:StartExecution"]] == [[machine]]
    assert started.poll is not started.at_start


def test_a_plan_whose_start_nobody_says_is_asked_every_minute(imported, make_job, synth, named, of_type):
    plan = imported(starts_at=None)
    job = make_job(preferences=[plan.preference()], instance_count=None)
    assert plan.start_on_active(job).at_start is None
    template = synth(job.node.root)
    assert named(template, SCHEDULE, "FineTuneOnNightlyPoll")["ScheduleExpression"] == "rate(1 minute)"
    assert len(of_type(template, SCHEDULE)) == 2


def test_a_plan_that_this_stack_buys_is_asked_every_minute_and_its_topic_hears_of_a_late_start(
    stack, make_job, synth, named, resolved
):
    plan = TrainingPlan(
        stack,
        "Nightly",
        training_plan_name="nightly",
        instance_type="ml.p5.48xlarge",
        instance_count=4,
        duration=cdk.Duration.days(3),
        window=CapacityWindow(start_after="2027-01-27T00:00Z", end_before="2027-02-05T12:00Z"),
        target=TrainingPlanTarget.TRAINING_JOB,
        max_upfront_fee=PriceCeiling("60000", "USD"),
    )
    job = make_job(preferences=[plan.preference()], instance_count=None)
    plan.start_on_active(job)
    template = synth(stack.node.root)
    poll = named(template, SCHEDULE, "FineTuneOnNightlyPoll")
    assert poll["ScheduleExpression"] == "rate(1 minute)"
    assert '"StartTime"' in json.dumps(poll["Target"]["Input"])
    alarm = named(template, ALARM, "FineTuneOnNightlyLate")
    assert alarm["Dimensions"][0]["Value"] == "nightly"
    assert alarm.get("AlarmActions") == ([plan.buyer.notice_topic] if plan.buyer.notice_topic else None)


@pytest.mark.parametrize(
    ("more", "props", "words"),
    [
        ({"target": TrainingPlanTarget.ENDPOINT}, {}, "the plan is for endpoint, and a job needs one for training-job"),
        ({}, {}, "it names no entry on .*nightly.*preference"),
        ({}, {"integration": "optimized"}, "a start on a plan needs the launcher"),
    ],
)
def test_a_start_on_a_plan_that_could_not_help_is_refused(imported, make_job, more, props, words):
    plan = imported(**more)
    with pytest.raises(InvalidInputError, match=words):
        plan.start_on_active(make_job(**props))


def test_a_plan_of_a_step_or_of_the_whole_job_is_named_too(imported, make_job):
    plan = imported()
    whole = make_job("Whole", preferences=[InstancePreference("ml.p5.48xlarge")], training_plan=plan)
    stepped = make_job("Stepped", preferences=(), instance_count=None, steps=[LaunchStep([plan.preference()])])
    assert plan.start_on_active(whole)
    assert plan.start_on_active(stepped)


def test_roles_that_are_brought_start_jobs_too(stack, make_job, synth, of_type):
    role = "arn:aws:iam::111122223333:role/mine"
    CapacityKit(stack, "GpuCapacity", schedule_role=role, event_role=role)
    job = make_job(run_overrides=["inputs"])
    job.start_on_schedule("Daily", "rate(1 day)")
    job.start_on_object_created("Data", "incoming")
    template = synth(stack.node.root)
    assert {schedule["Target"]["RoleArn"] for schedule in of_type(template, SCHEDULE).values()} == {role}
    assert [t["RoleArn"] for r in of_type(template, RULE).values() for t in r["Targets"] if "RoleArn" in t] == [role]


def test_a_schedule_of_an_optimized_job_alone_makes_no_launcher(make_job, synth, of_type):
    job = make_job(integration="optimized")
    job.start_on_schedule("Daily", "rate(1 day)")
    template = synth(job.node.root)
    assert not of_type(template, "AWS::Lambda::Function")
    assert len(of_type(template, SCHEDULE)) == 1
