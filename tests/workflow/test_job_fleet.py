"""Fleets as they are deployed, run in the sandbox: every job once, never more at once than allowed, one answer."""

import datetime as dt
import json
import time
from collections import Counter

import aws_cdk as cdk
import pytest

from constructs_lib import InstancePreference, JobFleet, TrainingJobSpec

pytestmark = pytest.mark.slow

QUICK = {"start": "1s", "download": "1s", "runtime": "5s", "upload": "1s"}
P5, P4D = "ml.p5.48xlarge", "ml.p4d.24xlarge"


def spec(name, **given):
    fields = {
        "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
        "output": "s3://bucket/models",
        "preferences": [InstancePreference(P5, instance_count=1), InstancePreference(P4D, instance_count=1)],
        "max_runtime": dt.timedelta(hours=2),
        "max_pending": dt.timedelta(hours=1),
    }
    return TrainingJobSpec(name=name, **fields | given)


def fleet_of(jobs, **given):
    def build(stack):
        fleet = JobFleet(stack, "Sweep", jobs=jobs, **{"max_concurrency_per_type": {P5: 2, P4D: 3}, **given})
        cdk.CfnOutput(stack, "Machine", value=fleet.attr_arn)

    return build


def answer_of(ended):
    return json.loads(ended["output"] if ended["status"] == "SUCCEEDED" else ended["cause"])


def all_jobs(flow):
    pages = flow.client("sagemaker").get_paginator("list_training_jobs").paginate(MaxResults=100)
    return [job["TrainingJobName"] for page in pages for job in page["TrainingJobSummaries"]]


def peaks(flow):
    """The most jobs that were under way at once by the type that they got, judged from the sandbox's own jobs."""
    changes = []
    for name in all_jobs(flow):
        job = flow.job(name)
        kind = job["ResourceConfig"]["SelectedInstanceType"]
        changes += [(job["CreationTime"], 1, kind), (job["TrainingEndTime"], -1, kind)]
    running, most = Counter(), Counter()
    for _, change, kind in sorted(changes, key=lambda c: (c[0], c[1])):
        running[kind] += change
        most[kind] = max(most[kind], running[kind])
    return most


def test_every_job_runs_once_and_the_fleet_says_so(launch):
    flow = launch(fleet_of([spec(f"lr-{i}") for i in range(6)]), {"job": QUICK})
    ended = flow.ended(flow.start())
    answer = answer_of(ended)
    assert ended["status"] == "SUCCEEDED", ended
    assert (answer["jobs"], answer["completed"], answer["completed_before"]) == (6, 6, 0)
    assert answer["ends"] == {"Completed": 6}
    assert len(flow.job_names()) == 6


def test_a_rerun_starts_what_failed_and_nothing_that_completed(launch):
    capacity = {"job": QUICK}
    flow = launch(fleet_of([spec(f"lr-{i}", hyperparameters={"lr": str(i)}) for i in range(4)]), capacity)
    flow.sandbox.faults.add("sagemaker", "CreateTrainingJob", error=("ResourceLimitExceeded", "is 0 Instances", 400))
    first = flow.ended(flow.start())
    answer = answer_of(first)
    assert (first["status"], first["error"]) == ("FAILED", "JobsFailed")
    assert (answer["completed"], answer["ends"]["Completed"], len(answer["failed_first"])) == (3, 3, 1)
    (lost,) = answer["failed_first"]
    assert lost["end"] == "QuotaExceeded"
    second = flow.ended(flow.start())
    answer = answer_of(second)
    assert second["status"] == "SUCCEEDED"
    assert (answer["completed"], answer["completed_before"]) == (4, 3)
    third = flow.ended(flow.start())
    assert answer_of(third)["completed_before"] == 4
    assert len(flow.job_names()) == 4


def test_limits_hold_by_the_sandboxs_own_account(launch):
    flow = launch(fleet_of([spec(f"lr-{i}") for i in range(10)], max_concurrency=8), {"job": QUICK})
    assert flow.ended(flow.start())["status"] == "SUCCEEDED"
    most = peaks(flow)
    assert most[P5] <= 2
    assert most[P4D] <= 3
    assert most[P5] > 1, "jobs never ran side by side: the test shows nothing"


def test_two_executions_at_once_run_each_job_once(launch):
    flow = launch(fleet_of([spec(f"lr-{i}", hyperparameters={"lr": str(i)}) for i in range(5)]), {"job": QUICK})
    both = [flow.start(), flow.start()]
    answers = [answer_of(flow.ended(arn)) for arn in both]
    assert [answer["completed"] for answer in answers] == [5, 5]
    ran = Counter(flow.job(name)["HyperParameters"]["lr"] for name in all_jobs(flow))
    assert ran == Counter({str(i): 1 for i in range(5)})


def test_a_job_that_breaks_a_rule_ends_in_invalid_request_and_the_others_run(launch):
    twice = [InstancePreference(P5, instance_count=1)] * 2
    jobs = [spec("good"), spec("bad", preferences=twice)]
    flow = launch(fleet_of(jobs, on_invalid="run_others", tolerated_failures=1), {"job": QUICK})
    ended = flow.ended(flow.start())
    answer = answer_of(ended)
    assert ended["status"] == "SUCCEEDED"
    assert answer["ends"] == {"Completed": 1, "InvalidRequest": 1}
    (bad,) = answer["failed_first"]
    assert "GPU-PL02" in bad["cause"]
    assert len(flow.job_names()) == 1


def test_an_aborted_fleet_stops_its_jobs_gives_its_slots_back_and_can_be_redriven(launch):
    flow = launch(fleet_of([spec(f"lr-{i}") for i in range(3)]), {"types": {P5: 0, P4D: 0}, "job": QUICK}, speed=120)
    execution = flow.start()
    job = flow.pending()
    flow.client("stepfunctions").stop_execution(executionArn=execution)
    assert flow.job_ended(job)["TrainingJobStatus"] == "Stopped"
    flow.settled(job)
    for kind in (P5, P4D):
        flow.sandbox.sagemaker.set_free(kind, 4)
    flow.client("stepfunctions").redrive_execution(executionArn=execution)
    ended = flow.ended(execution)
    assert (ended["status"], answer_of(ended)["completed"]) == ("SUCCEEDED", 3)
    assert flow.live() == []


def test_a_fleet_stops_when_more_jobs_failed_than_it_bears(launch):
    flow = launch(
        fleet_of([spec(f"lr-{i}") for i in range(30)], stop_after_failures=2, max_concurrency=2),
        {"job": QUICK | {"fail": "AlgorithmError: exit code 1"}},
    )
    ended = flow.ended(flow.start())
    answer = answer_of(ended)
    assert (ended["error"], answer["stopped"]) == ("JobsFailed", "States.ExceedToleratedFailureThreshold")
    assert answer["not_started"] > 20
    assert answer["ends"]["AlgorithmError"] >= 3


def ended_within(flow, arn, minutes):
    deadline = time.monotonic() + 60 * minutes
    while (found := flow.execution(arn))["status"] == "RUNNING":
        assert time.monotonic() < deadline, f"still running after {minutes} minutes"
        time.sleep(0.5)
    return found


def test_two_thousand_jobs_all_end_within_their_limits_and_a_rerun_starts_none(launch):
    """2,000 jobs through the launcher's own code; a second run sees 2,000 marks and creates nothing."""
    jobs = [spec(f"job-{i}", hyperparameters={"number": str(i)}) for i in range(2000)]
    fleet = fleet_of(jobs, max_concurrency_per_type={P5: 12, P4D: 16}, max_concurrency=20)
    # Fewer of the first type than the fleet may use: both are won.
    flow = launch(fleet, {"types": {P5: 8, P4D: 100}, "job": QUICK}, speed=600)
    began = time.monotonic()
    answer = answer_of(ended_within(flow, flow.start(), 12))
    took = time.monotonic() - began
    assert (answer["status"], answer["completed"], answer["ends"]) == ("Completed", 2000, {"Completed": 2000})
    names = all_jobs(flow)
    ran = Counter(flow.job(name)["HyperParameters"]["number"] for name in names)
    assert ran == Counter({str(i): 1 for i in range(2000)})
    most = peaks(flow)
    assert most[P5] <= 12
    assert most[P4D] <= 16
    assert min(most[P5], most[P4D]) > 1, "jobs never ran side by side on both types: the test shows nothing"
    again = answer_of(ended_within(flow, flow.start(), 6))
    assert (again["status"], again["completed_before"]) == ("Completed", 2000)
    assert len(all_jobs(flow)) == 2000
    print(
        f"\n2,000 jobs in {took:.0f} s, a rerun in {time.monotonic() - began - took:.0f} s; most at once {dict(most)}"
    )
