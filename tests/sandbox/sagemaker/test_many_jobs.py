"""What a fleet of thousands of jobs costs the sandbox."""

import time

import pytest

P5, P4D, G6 = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g6.48xlarge"
JOBS = 2000
SECONDS = 20  # of processor time, several times what an idle machine needs


def play(world, document, request):
    """Create the jobs and run them to their ends; return how many completed, and the processor's seconds."""
    one = world({"job": {"start": "1m", "download": "1m", "runtime": "5m", "upload": "1m"}} | document)
    began = time.process_time()
    for number in range(JOBS):
        one.sagemaker.handle("CreateTrainingJob", one.request(f"job-{number}", **request(number)))
    one.go(hours=28 * 24)
    seconds = time.process_time() - began
    completed = 0
    answer = {}
    while not answer or "NextToken" in answer:
        token = {"NextToken": answer["NextToken"]} if answer else {}
        answer = one.call("ListTrainingJobs", StatusEquals="Completed", MaxResults=100, **token)
        completed += len(answer["TrainingJobSummaries"])
    return completed, seconds


LIMITS = {"MaxPendingTimeInSeconds": 28 * 86400}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("document", "request_"),
    [
        pytest.param({}, lambda _: {"preferences": [(P5, 8)]}, id="all run at once"),
        pytest.param({"types": {P5: 64, P4D: 64}}, lambda _: {"preferences": [(P5, 8), (P4D, 8)]}, id="they queue"),
        pytest.param(
            {"types": {P5: 64, P4D: 64, G6: 64}},
            lambda i: {"preferences": [(P5, 1 + i % 8), ((P4D, G6)[i % 2], 1 + i // 8 % 8)]},
            id="they ask for 128 different things",
        ),
        pytest.param(
            {"quotas": {f"{P5} for training job usage": 8 * JOBS}}, lambda _: {"preferences": [(P5, 8)]}, id="quota"
        ),
    ],
)
def test_two_thousand_jobs_are_cheap(world, document, request_):
    completed, seconds = play(world, document, lambda number: {"limits": LIMITS} | request_(number))
    assert completed == JOBS
    assert seconds < SECONDS
