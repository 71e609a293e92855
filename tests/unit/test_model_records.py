"""A job's description becomes the one record of its run."""

from datetime import UTC, datetime, timedelta

import pytest

from constructs_lib.model import FailureClass, RunEnd, RunRecord

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/p"


def described(status="Completed", **more):
    entries = [
        {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2, "TrainingPlanArns": [PLAN]},
        {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 4},
    ]
    chosen = {"SelectedInstanceType": "ml.p4d.24xlarge", "SelectedInstanceCount": 4}
    return {
        "TrainingJobName": "job",
        "TrainingJobStatus": status,
        "SecondaryStatus": status,
        "ResourceConfig": {"InstancePreferences": entries, **chosen},
        "CreationTime": NOON,
        "TrainingStartTime": NOON + timedelta(minutes=25),
        "TrainingEndTime": NOON + timedelta(minutes=85),
        **more,
    }


def record(*args, reasons=(), stopped_for=None, **more):
    return RunRecord.of_training_job(described(*args, **more), reasons=reasons, stopped_for=stopped_for)


def test_a_completed_run_says_who_won_why_and_how_long_it_waited():
    run = record(reasons=["paid", "cheaper"], BillableTimeInSeconds=3600)
    assert (run.end, run.rank, run.instance_type, run.instance_count) == (RunEnd.COMPLETED, 2, "ml.p4d.24xlarge", 4)
    assert (run.pending_seconds, run.runtime_seconds, run.billable_seconds) == (1500, 3600, 3600)
    assert (run.reserved, run.reason, run.failure) == (False, "cheaper", None)


def test_a_winner_with_a_plan_is_reserved():
    entries = described()["ResourceConfig"]["InstancePreferences"]
    chosen = {"SelectedInstanceType": "ml.p5.48xlarge", "InstancePreferences": entries}
    run = record(ResourceConfig=chosen)
    assert (run.rank, run.reserved, run.instance_count) == (1, True, 2)


@pytest.mark.parametrize(
    ("status", "more", "end", "failure"),
    [
        (
            "Failed",
            {"FailureReason": "CapacityError: Unable to provision requested"},
            "InsufficientCapacity",
            "capacity",
        ),
        ("Failed", {"FailureReason": "AlgorithmError: exit code 1"}, "AlgorithmError", "algorithm"),
        ("Failed", {"FailureReason": ""}, "Unknown", "unknown"),
        ("Stopped", {}, "Stopped", None),
        ("Stopped", {"SecondaryStatus": "MaxRuntimeExceeded"}, "MaxRuntimeExceeded", None),
        ("Stopped", {"SecondaryStatus": "MaxWaitTimeExceeded"}, "InsufficientCapacity", "capacity"),
    ],
)
def test_an_end_is_named_after_what_happened(status, more, end, failure):
    run = record(status, **more)
    assert run.end == RunEnd(end)
    assert run.failure == (FailureClass(failure) if failure else None)


def test_a_job_that_we_stopped_ends_in_what_we_stopped_it_for():
    assert record("Stopped", stopped_for=RunEnd.TIMED_OUT).end is RunEnd.TIMED_OUT
    assert record("Completed", stopped_for=RunEnd.TIMED_OUT).end is RunEnd.COMPLETED


@pytest.mark.parametrize("said", [{"FailureReason": "CapacityError: no capacity"}, {}])
def test_a_job_that_waited_in_vain_until_its_limit_lacked_capacity_whichever_status_it_has(said):
    never_ran = {"TrainingStartTime": None, "StoppingCondition": {"MaxPendingTimeInSeconds": 85 * 60}}
    assert record("Stopped", **never_ran, **said).end is RunEnd.INSUFFICIENT_CAPACITY
    assert record("Stopped", TrainingStartTime=None, StoppingCondition={}).end is RunEnd.STOPPED
    assert record("Stopped", stopped_for=RunEnd.STACK_DELETED, **never_ran, **said).end is RunEnd.STACK_DELETED


def test_a_record_comes_back_from_its_plain_form():
    for run in (record("Failed", FailureReason="CapacityError"), RunRecord.not_created("a", RunEnd.QUOTA_EXCEEDED)):
        assert RunRecord.from_dict(run.to_dict()) == run


@pytest.mark.parametrize("status", ["InProgress", "Stopping", "Deleting", "NobodyKnows", ""])
def test_a_job_that_moves_has_no_end(status):
    assert record(status).end is None


def test_a_job_without_a_selected_type_is_pending():
    entries = described()["ResourceConfig"]["InstancePreferences"]
    run = record("InProgress", ResourceConfig={"InstancePreferences": entries}, TrainingStartTime=None)
    assert (run.status, run.rank, run.instance_type, run.reserved, run.pending_seconds) == (
        "Pending",
        None,
        None,
        None,
        None,
    )


def test_the_plain_form_holds_text_and_leaves_out_what_is_not_known():
    plain = record("Failed", FailureReason="CapacityError: x").to_dict()
    assert plain["end"] == "InsufficientCapacity"
    assert type(plain["end"]) is str
    assert "billable_seconds" not in plain
    assert plain["cause"] == "CapacityError: x"
