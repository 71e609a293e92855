"""Where nobody knows how AWS behaves, both readings can be played."""

import re
from pathlib import Path

import pytest

from constructs_lib import sandbox
from constructs_lib.facts import unknowns
from constructs_lib.sandbox.errors import SandboxError, ServiceError

P5, P4D, EBS = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.p3.16xlarge"
KEY = {"VolumeKmsKeyId": "arn:aws:kms:us-east-1:123456789012:key/1", "VolumeSizeInGB": 500}
DAY = 24 * 60


def test_a_volume_key_is_refused_for_any_type_with_local_storage(world):
    one = world()
    with pytest.raises(ServiceError, match=r"have local storage: ml\.p5\.48xlarge"):
        one.create(preferences=[(EBS, 1), (P5, 1)], resources=KEY)


def test_a_volume_key_fails_the_job_only_if_the_winner_has_local_storage(world):
    one = world({"types": {P5: 1}})
    one.faults.switch("sagemaker.kms-on-nvme", "winner")
    one.create("good", preferences=[(EBS, 1), (P5, 1)], resources=KEY)
    assert one.status("good") == ("InProgress", "Starting")
    one.create("bad", preferences=[(P5, 1), (EBS, 1)], resources=KEY)
    one.go(minutes=1)
    assert one.phases("bad") == [("Starting", 0), ("Failed", 1)]
    assert one.describe("bad")["FailureReason"].startswith("ClientError: VolumeKmsKeyId can't be used with")
    one.create("next", preferences=[(P5, 1)])
    assert one.status("next") == ("InProgress", "Starting")  # the instance came back


@pytest.mark.parametrize(("reading", "minute"), [("2d", 2 * DAY), ("28d", 28 * DAY), ("at-once", 0)])
def test_without_a_limit_a_job_waits_as_long_as_the_reading_says(world, reading, minute):
    one = world({"types": {P5: 0}})
    one.faults.switch("sagemaker.default-pending", reading)
    one.create()
    one.go(hours=24 * 30)
    assert one.phases()[-1] == ("Failed", minute)


@pytest.mark.parametrize(("reading", "status"), [("failed", "Failed"), ("stopped", "Stopped")])
def test_a_job_that_waited_too_long_fails_or_stops(world, reading, status):
    one = world({"types": {P5: 0}})
    one.faults.switch("sagemaker.pending-expired", reading)
    one.create(limits={"MaxPendingTimeInSeconds": 1800})
    one.go(hours=1)
    assert one.status() == (status, status)
    assert ("FailureReason" in one.describe()) == (status == "Failed")


@pytest.mark.parametrize("reading", ["CapacityError", "InsufficientCapacityError"])
def test_the_reason_begins_with_either_word(world, reading):
    one = world({"types": {P5: 0}})
    one.faults.switch("sagemaker.capacity-failure-reason", reading)
    one.create(limits={"MaxPendingTimeInSeconds": 1800})
    one.go(hours=1)
    assert one.describe()["FailureReason"].startswith(f"{reading}: ")


@pytest.mark.parametrize(("reading", "shown"), [("absent", False), ("present", True)])
def test_events_carry_the_selection_or_not(world, reading, shown):
    one = world()
    one.faults.switch("sagemaker.events-selected", reading)
    one.create(preferences=[(P5, 8)])
    resources = one.events[-1][2]["ResourceConfig"]
    assert (resources.get("SelectedInstanceType"), resources.get("SelectedInstanceCount")) == (
        (P5, 8) if shown else (None, None)
    )
    assert one.describe()["ResourceConfig"]["SelectedInstanceType"] == P5


@pytest.mark.parametrize(("reading", "statuses"), [("sent", ["Pending", "Starting"]), ("unsent", ["Starting"])])
def test_waiting_is_told_as_an_event_or_not(world, reading, statuses):
    one = world({"types": {P5: 0}})
    one.faults.switch("sagemaker.events-pending", reading)
    one.create()
    one.sagemaker.set_free(P5, 8)
    assert [detail["SecondaryStatus"] for _, _, detail, _ in one.events] == statuses


def test_stopping_twice_is_taken_or_refused(world):
    one = world()
    one.create()
    one.stop()
    one.stop()
    assert [name for name, _ in one.phases()] == ["Starting", "Stopping"]
    one.faults.switch("sagemaker.stop-while-stopping", "rejected")
    with pytest.raises(ServiceError, match="because the training job is in status Stopping"):
        one.stop()


@pytest.mark.parametrize(("reading", "status"), [("failed", "Failed"), ("stopped", "Stopped")])
def test_a_job_whose_plan_ends_fails_or_stops(world, reading, status):
    plan = {"name": "now", "instance_type": P5, "count": 8, "start": "-1h", "end": "1h"}
    one = world({"plans": [plan], "job": {"runtime": "10h"}})
    one.faults.switch("sagemaker.plan-ends-under-job", reading)
    one.create("runs", preferences=[(P5, 8, "now")])
    one.create("waits", preferences=[(P5, 8, "now")])
    one.go(hours=2)
    assert one.status("runs") == one.status("waits") == (status, status)
    assert one.phases("runs")[-1] == (status, 30)


def test_a_plan_outside_the_subnets_is_refused_or_waited_for(world):
    plan = {"name": "now", "instance_type": P5, "count": 8, "start": "-1h", "end": "30d", "zone": "us-east-1b"}
    one = world({"plans": [plan]})
    outside = {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-a"]}
    with pytest.raises(
        ServiceError, match=r"lie in us-east-1a, but training plan .* has reserved capacity in us-east-1b"
    ):
        one.create(preferences=[(P5, 8, "now")], VpcConfig=outside)
    one.faults.switch("sagemaker.plan-outside-subnets", "waits")
    one.create(preferences=[(P5, 8, "now")], VpcConfig=outside)
    assert one.status() == ("InProgress", "Pending")


def test_a_word_that_is_no_reading_is_refused(world):
    one = world()
    one.faults.switch("sagemaker.stop-while-stopping", "maybe")
    one.create()
    one.stop()
    with pytest.raises(SandboxError, match="'maybe' is not known: use one of accepted, rejected"):
        one.stop()


def test_every_open_question_is_played_and_every_reading_in_the_code_is_of_an_open_question():
    code = "".join(path.read_text() for path in Path(sandbox.__file__).parent.rglob("*.py"))
    assert [name for name in unknowns() if f'"{name}"' not in code] == []
    asked = set(re.findall(r'"(sagemaker\.[a-z-]+)"', code)) | set(re.findall(r'reading\([^"()]*"([^"]+)"', code))
    assert asked <= set(unknowns())
    assert {name for name in unknowns() if name.startswith("sagemaker.")} <= asked
    for unknown in unknowns().values():
        assert unknown.default in unknown.readings
        assert len(set(unknown.readings)) > 1
