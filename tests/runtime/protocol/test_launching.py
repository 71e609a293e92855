"""What one launch does in one situation, call by call."""

from __future__ import annotations

import itertools

import pytest

from constructs_lib.runtime.errors import ServiceModelError

pytestmark = pytest.mark.slow

CREATE = "sagemaker.create_training_job"
ANSWER = "stepfunctions.send_task_success"
CLOSE = "dynamodb.update_item"


def finished(world, machine, status="Completed", reason=""):
    """Let a launched job end, and everything that follows."""
    world.end_job(*world.sagemaker.live(), status, reason)
    world.settle()
    world.check_settled()
    return machine.answers[-1].record


def test_a_job_is_created_with_the_request_its_name_and_its_owners_tags(world):
    machine = world.machine()
    machine.start().finish()
    ((name, job),) = world.sagemaker.jobs.items()
    tags = {tag["Key"]: tag["Value"] for tag in job.request.pop("Tags")}
    assert job.request == world.request | {"TrainingJobName": name}
    assert tags == {
        "gpucap:execution": machine.arn,
        "gpucap:state": "Launch",
        "gpucap:entry": "redrive=0",
        "gpucap:step": "1",
    }
    assert name.startswith("Lab-Tune-0011aabb-")
    assert len(name) <= 63


def test_the_record_of_the_end_is_the_answer_the_row_and_the_log_line(world):
    machine = world.machine()
    machine.start().finish()
    record = finished(world, machine)
    assert (record["end"], record["rank"], record["instance_type"], record["instance_count"]) == (
        "Completed",
        2,
        "ml.g5.48xlarge",
        4,
    )
    assert [line["run"] for line in world.lines] == [record]
    row = world.rows()[record["job_name"]]
    assert {"end", "rank", "instance_type", "created", "preferences", "reasons"} <= set(row)
    assert not {"open", "token"} & set(row)
    assert machine.status == "SUCCEEDED"


@pytest.mark.parametrize(
    ("reason", "end"),
    [
        ("CapacityError: Unable to provision requested ML compute capacity", "InsufficientCapacity"),
        ("AlgorithmError: exit code 1", "AlgorithmError"),
        ("InternalServerError: We encountered an internal error. Please try again.", "ServiceError"),
        ("", "Unknown"),
    ],
)
def test_a_failed_job_ends_by_its_reason(world, reason, end):
    machine = world.machine()
    machine.start().finish()
    assert finished(world, machine, "Failed", reason)["end"] == end
    assert machine.status == "FAILED"


@pytest.mark.parametrize(
    ("code", "message", "end"),
    [
        ("ResourceLimitExceeded", "... is 0 Instances, with current utilization of 0 Instances", "QuotaExceeded"),
        ("ValidationException", "The instance type is not available in this region", "InvalidRequest"),
        ("ResourceNotFound", "no such algorithm", "InvalidRequest"),
        ("AccessDeniedException", "not authorized to perform: sagemaker:CreateTrainingJob", "PermissionDenied"),
    ],
)
def test_a_refused_create_ends_at_once_by_the_refusal(world, code, message, end):
    machine = world.machine()
    world.sagemaker.refusals = [world.refused(code, message)]
    machine.start().finish()
    (answer,) = machine.answers
    assert (answer.record["status"], answer.record["end"]) == ("NotCreated", end)
    assert answer.record["cause"] == f"{code}: {message}"
    assert [line["End"] for line in world.lines] == [end]
    world.settle()
    world.check_settled()


@pytest.mark.parametrize(
    ("code", "status"), [("InternalFailure", 500), ("ThrottlingException", 503), ("SomethingNew", 400)]
)
def test_an_answer_that_proves_nothing_repeats_the_same_launch(world, code, status):
    machine = world.machine()
    world.sagemaker.refusals = [world.refused(code, "?", status)]
    first = machine.start().finish()
    assert type(first.error).__name__ == "LaunchUnclear"
    assert not machine.answers
    world.settle()
    world.check_settled()
    assert len(world.sagemaker.jobs) == 1


def test_a_throttled_create_is_repeated_and_a_refusal_after_it_is_final_at_once(world):
    machine = world.machine()
    world.sagemaker.refusals = [
        world.refused("ThrottlingException", "Rate exceeded"),
        world.refused("ResourceLimitExceeded", "is 0 Instances"),
    ]
    first = machine.start().finish()
    assert type(first.error).__name__ == "CallThrottledError"
    world.runs[0].finish()
    assert [answer.record["end"] for answer in machine.answers] == ["QuotaExceeded"]


def test_a_create_that_is_throttled_for_ever_ends_as_a_failure_of_the_launcher(world):
    machine = world.machine()
    world.sagemaker.refusals = [world.refused("ThrottlingException", "Rate exceeded")] * 20
    machine.start()
    while world.runs:
        world.runs[0].finish()
    assert machine.status == "FAILED"
    assert not machine.answers
    world.settle()
    world.check_settled()


def test_a_refusal_after_an_unclear_create_is_answered_once_no_create_can_arrive(world):
    machine = world.machine()
    machine.start().until(CREATE).step("lost-before").finish()
    world.sagemaker.refusals = [world.refused("ResourceLimitExceeded", "is 0 Instances")]
    assert world.runs[0].finish().result["did"] == "refused later"
    world.sweep().finish()
    assert not machine.answers
    world.clock.sleep(301)
    world.sweep().finish()
    assert [answer.record["end"] for answer in machine.answers] == ["QuotaExceeded"]


def test_a_lost_answer_is_found_by_looking_and_the_job_is_adopted(world):
    machine = world.machine()
    machine.start().until(CREATE).step("lost-after").finish()
    world.show()
    (retry,) = world.runs
    retry.finish()
    assert len(world.sagemaker.jobs) == 1
    assert finished(world, machine)["end"] == "Completed"


def test_a_job_that_cannot_be_seen_yet_is_adopted_when_its_tags_can(world):
    machine = world.machine()
    machine.start().until(CREATE).step("late").finish()
    (retry,) = world.runs
    retry.until(CREATE)
    world.arrive()
    retry.step()  # the name is taken, the job is invisible
    assert retry.at == "sagemaker.describe_training_job"
    retry.step()
    world.sagemaker.jobs[world.sagemaker.live()[0]].visible = True
    retry.until("sagemaker.list_tags").step()
    world.show()
    retry.finish()
    assert retry.result["did"] == "launched"
    assert finished(world, machine)["end"] == "Completed"


def test_somebody_elses_job_of_the_same_name_is_refused_and_never_stopped(world):
    machine = world.machine()
    launcher = machine.start().until(CREATE)
    name = next(iter(world.rows()))
    theirs = world.request | {"TrainingJobName": name, "Tags": [{"Key": "gpucap:execution", "Value": "another"}]}
    world.sagemaker.create_training_job(theirs, ("another", 1, 1))
    world.show()
    launcher.finish()
    (answer,) = machine.answers
    assert answer.record["end"] == "InvalidRequest"
    assert "its tags do not name this launch" in answer.record["cause"]
    world.settle()
    assert world.sagemaker.jobs[name].status == "InProgress"
    assert not world.open_rows()


def test_a_job_without_any_tags_is_not_stopped_by_an_aborted_execution(world):
    machine = world.machine()
    launcher = machine.start().until(CREATE)
    name = next(iter(world.rows()))
    world.sagemaker.create_training_job(world.request | {"TrainingJobName": name}, ("another", 1, 1))
    world.show()
    machine.aborted()
    launcher.finish()
    assert type(launcher.error).__name__ == "LaunchUnclear"
    world.settle()
    assert world.sagemaker.jobs[name].status == "InProgress"
    assert not world.open_rows()


def test_a_request_that_breaks_a_rule_is_refused_in_the_rules_words_before_any_create(world):
    world.request["ResourceConfig"]["InstancePreferences"].append(
        {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2}
    )
    machine = world.machine()
    machine.start().finish()
    (answer,) = machine.answers
    assert answer.record["end"] == "InvalidRequest"
    assert "GPU-PL02" in answer.record["cause"]
    assert not world.sagemaker.jobs


def test_a_type_that_a_guardrail_over_the_stack_does_not_approve_is_refused_in_its_words(world):
    world.approved = {"Org/Approved": ["ml.g5.*"]}
    machine = world.machine()
    machine.start().finish()
    (answer,) = machine.answers
    assert (answer.record["end"], answer.record["failure"]) == ("PermissionDenied", "permission")
    assert "asks for ml.p5.48xlarge, which the guardrail Org/Approved does not approve" in answer.record["cause"]
    assert not world.sagemaker.jobs
    world.approved = {"Org/Approved": ["ml.g5.*", "ml.p5.48xlarge"]}
    world.machine().start().finish()
    assert len(world.sagemaker.jobs) == 1


def test_a_model_that_is_too_old_is_refused_before_anything_is_written_or_created(world):
    def too_old(client):
        raise ServiceModelError("too old")

    world.judge_model = too_old
    machine = world.machine()
    first = machine.start()
    assert isinstance(first.error, ServiceModelError)
    assert not world.rows()
    assert not world.sagemaker.jobs


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_events_that_come_three_times_in_any_order_give_one_result(world, order):
    machine = world.machine()
    machine.start().finish()
    world.end_job(*world.sagemaker.live(), "Completed")
    event = world.events.pop()
    runs = [world.deliver(event).until(ANSWER) for _ in range(3)]
    for i in order:
        runs[i].until(CLOSE) if i != order[0] else runs[i].step()
    for i in reversed(order):
        runs[i].finish()
    assert [run.error for run in runs] == [None] * 3
    assert len(machine.answers) == len(world.lines) == 1


def test_no_event_at_all_gives_the_same_result(world):
    machine = world.machine()
    machine.start().finish()
    world.end_job(*world.sagemaker.live(), "Completed")
    world.settle(events=False)
    world.check_settled()
    assert machine.status == "SUCCEEDED"


def test_an_event_that_comes_before_the_end_can_be_seen_changes_nothing(world):
    machine = world.machine()
    machine.start().finish()
    (name,) = world.sagemaker.live()
    world.deliver({"source": "aws.sagemaker", "detail": {"TrainingJobName": name}}).finish()
    world.deliver({"source": "aws.sagemaker", "detail": {"TrainingJobName": "a-job-of-somebody-else"}}).finish()
    assert not machine.answers
    assert world.open_rows() == [name]


@pytest.mark.parametrize("fault", ["die-after", "lost-after"])
@pytest.mark.parametrize("call", [ANSWER, CLOSE])
def test_an_end_that_was_answered_halfway_is_answered_once(world, call, fault):
    machine = world.machine()
    machine.start().finish()
    world.end_job(*world.sagemaker.live(), "Completed")
    world.deliver(world.events.pop()).until(call).step(fault).finish()
    world.settle()
    world.check_settled()
    assert len(machine.answers) == 1
    # A death between closing the row and writing the line loses the line; nothing is ever counted twice.
    assert len(world.lines) == (0 if call == CLOSE else 1)


def test_a_later_try_that_wrote_its_token_meanwhile_gets_the_same_end(world):
    machine = world.machine()
    machine.start().finish()
    world.end_job(*world.sagemaker.live(), "Completed")
    event = world.deliver(world.events.pop()).until(CLOSE)
    machine.answers.clear()
    machine.status, machine.phase = "RUNNING", "launch"  # the answer was lost on the way, the state runs again
    retry = machine.lose_launcher().until("sagemaker.describe_training_job")
    event.finish()
    assert [answer.record["end"] for answer in machine.answers] == ["Completed"]
    retry.finish()
    assert len(world.lines) == 1


def test_a_limit_before_anything_was_written_ends_the_launch(world):
    machine = world.machine()
    late = machine.start()
    machine.limit_fires().finish()
    late.finish()
    assert late.result["did"] == "late"
    assert [answer.record["end"] for answer in machine.answers] == ["TimedOut"]
    assert not world.sagemaker.jobs


def test_a_limit_on_a_job_that_just_ended_gives_the_jobs_own_end(world):
    machine = world.machine()
    machine.start().finish()
    world.end_job(*world.sagemaker.live(), "Completed")
    machine.limit_fires().finish()
    assert [answer.record["end"] for answer in machine.answers] == ["Completed"]


def test_a_redrive_makes_the_launch_before_it_a_dead_one(world):
    machine = world.machine()
    launcher = machine.start().until(CREATE)
    machine.aborted()
    machine.status, machine.redrive, machine.phase = "RUNNING", 1, "elsewhere"
    launcher.until("stepfunctions.describe_execution")
    world.show()
    assert launcher.finish().result["did"] == "launched and stopped"


def test_a_job_that_vanished_from_a_running_execution_is_launched_again_under_its_name(world):
    machine = world.machine()
    machine.start().finish()
    name = world.sagemaker.live()[0]
    del world.sagemaker.jobs[name]
    world.sweep().finish()
    assert machine.tries == 0
    world.settle()
    world.check_settled()
    assert machine.tries == 1
    assert world.sagemaker.live() == [name]


def test_a_job_that_was_seen_and_then_deleted_ends_and_is_not_run_again(world):
    machine = world.machine()
    machine.start().finish()
    world.show()
    world.sweep().finish()
    world.sagemaker.jobs.clear()
    world.settle()
    (answer,) = machine.answers
    assert (answer.record["end"], answer.record["status"]) == ("Unknown", "Pending")
    assert "deleted" in answer.record["cause"]


def test_the_run_table_shows_a_job_that_still_waits_for_capacity_as_pending(world):
    machine = world.machine()
    machine.start().finish()
    world.show()
    world.sweep().finish()
    (row,) = world.rows().values()
    assert row["status"] == {"S": "Pending"}
    assert not {"rank", "instance_type", "instance_count"} & set(row)


def test_one_row_that_cannot_be_looked_at_does_not_keep_the_others_waiting(world):
    machines = [world.machine() for _ in range(3)]
    for machine in machines:
        machine.start().finish()
    for name in world.sagemaker.live():
        world.end_job(name, "Completed")
    sweep = world.sweep().until("sagemaker.describe_training_job").step("lost-before").finish()
    assert "1 of 3 rows could not be looked at" in str(sweep.error)
    assert sum(machine.status == "SUCCEEDED" for machine in machines) == 2


def test_a_sweep_without_time_leaves_the_rest_to_the_next_which_begins_with_it(world):
    for machine in [world.machine() for _ in range(3)]:
        machine.start().finish()
        world.clock.sleep(1)
    world.show()
    first = world.sweep().until("sagemaker.describe_training_job")
    looked_at = first.asks["TrainingJobName"]
    world.clock.sleep(31)  # more than a sweep may take
    assert first.finish().result == {"rows": 1}
    following = world.sweep()
    names = []
    while not following.done:
        if following.at == "sagemaker.describe_training_job":
            names.append(following.asks["TrainingJobName"])
        following.step()
    assert len(names) == 3
    assert names[-1] == looked_at
