import pytest

from constructs_lib.sandbox.errors import SandboxError, ServiceError
from constructs_lib.sandbox.sagemaker import Capacity

G5, P5 = "ml.g5.48xlarge", "ml.p5.48xlarge"
JOB = {"start": "1m", "download": "2m", "runtime": "30m", "upload": "1m", "stop_takes": "2m"}
CHECKPOINTS = {"CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints"}}


@pytest.fixture
def spot(world):
    """Return a maker of a world with spot levels of one type."""

    def make(levels=None, **document):
        return world({"job": JOB} | ({} if levels is None else {"spot": {G5: levels}}) | document)

    return make


def create(one, name="job", *, count=8, wait="6h", **members):
    limits = {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": int(wait.removesuffix("h")) * 3600}
    resources = {"InstanceType": G5, "InstanceCount": count}
    return one.create(name, resources=resources, limits=limits, EnableManagedSpotTraining=True, **members)


def test_spot_instances_are_a_pool_of_their_own(spot):
    one = spot(8, types={G5: 0})
    create(one)
    one.create("demand", resources={"InstanceType": G5, "InstanceCount": 1})
    assert one.status() == ("InProgress", "Starting")
    assert one.status("demand") == ("InProgress", "Pending")
    create(one, "next")
    assert len(one.sagemaker.evaluations("next")) == 1
    assert one.sagemaker.evaluations("next")[0]["free"] == 0


def test_spot_instances_are_unlimited_unless_told(spot):
    one = spot(types={G5: 0}, default_free=0)
    create(one, count=100)
    one.go(hours=1)
    assert one.status() == ("Completed", "Completed")


def test_an_uninterrupted_job_goes_through_its_phases_and_is_billed_less_than_it_trains(spot):
    one = spot(8)
    create(one)
    one.go(hours=1)
    assert one.phases() == [("Starting", 0), ("Downloading", 1), ("Training", 3), ("Uploading", 33), ("Completed", 34)]
    described = one.describe()
    assert described["TrainingTimeInSeconds"] == 33 * 60
    assert 0 < described["BillableTimeInSeconds"] < described["TrainingTimeInSeconds"]
    assert described["EnableManagedSpotTraining"] is True


def test_a_job_that_waits_for_its_first_instances_is_starting(spot):
    one = spot([{"at": "0m", "free": 0}, {"at": "50m", "free": 8}])
    create(one)
    one.go(hours=2)
    assert one.phases()[:3] == [("Starting", 0), ("Downloading", 51), ("Training", 53)]
    assert one.describe()["TrainingStartTime"] == one.describe()["CreationTime"] + 51 * 60
    assert one.status() == ("Completed", "Completed")


def test_a_job_that_never_gets_instances_is_stopped_when_its_wait_is_over(spot):
    one = spot(0)
    create(one, wait="2h")
    one.go(hours=3)
    assert one.phases() == [("Starting", 0), ("Stopping", 120), ("MaxWaitTimeExceeded", 122)]
    assert one.status() == ("Stopped", "MaxWaitTimeExceeded")
    assert not {"TrainingStartTime", "BillableTimeInSeconds", "FailureReason"} & one.describe().keys()


def test_a_job_without_checkpoints_begins_again_after_an_interruption(spot):
    one = spot([{"at": "0m", "free": 8}, {"at": "20m", "free": 0, "interrupt": True}, {"at": "40m", "free": 8}])
    create(one)
    one.go(hours=2)
    assert one.phases() == [
        ("Starting", 0),
        ("Downloading", 1),
        ("Training", 3),
        ("Interrupted", 20),
        ("Starting", 40),
        ("Downloading", 41),
        ("Training", 43),
        ("Uploading", 73),
        ("Completed", 74),
    ]
    assert one.describe()["TrainingTimeInSeconds"] == (19 + 33) * 60


def test_a_checkpoint_keeps_what_was_trained(spot):
    one = spot([{"at": "0m", "free": 8}, {"at": "20m", "free": 0, "interrupt": True}, {"at": "40m", "free": 8}])
    create(one, **CHECKPOINTS)
    one.go(hours=2)
    assert one.phases()[-3:] == [("Training", 43), ("Uploading", 43 + 13), ("Completed", 57)]


def test_an_interruption_that_leaves_instances_free_costs_only_the_start(spot):
    one = spot([{"at": "0m", "free": 8}, {"at": "20m", "free": 8, "interrupt": True}])
    create(one, **CHECKPOINTS)
    one.go(hours=2)
    assert one.phases()[3:6] == [("Interrupted", 20), ("Starting", 20), ("Downloading", 21)]


def test_waits_and_runs_count_together_against_the_wait_time(spot):
    one = spot([{"at": "0m", "free": 8}, {"at": "20m", "free": 0, "interrupt": True}, {"at": "100m", "free": 8}])
    create(one, wait="2h")
    one.go(hours=4)
    assert one.phases()[-3:] == [("Training", 103), ("Stopping", 120), ("MaxWaitTimeExceeded", 122)]
    create(one, "next")
    assert one.status("next") == ("InProgress", "Starting")  # the instances came back


def test_time_without_instances_does_not_count_against_the_runtime(spot):
    one = spot([{"at": "0m", "free": 8}, {"at": "20m", "free": 0, "interrupt": True}, {"at": "5h", "free": 8}])
    create(one, **CHECKPOINTS)
    one.go(hours=6)
    assert one.status() == ("Completed", "Completed")


def test_a_lower_level_alone_interrupts_nobody(spot):
    one = spot([{"at": "0m", "free": 8}, {"at": "20m", "free": 0}])
    create(one)
    one.go(hours=1)
    assert one.status() == ("Completed", "Completed")


def test_an_interruption_while_the_model_is_uploaded_costs_the_training_and_the_wait_time_goes_on(spot):
    one = spot([{"at": "0m", "free": 8}, {"at": "33m30s", "free": 0, "interrupt": True}])
    create(one, wait="2h")
    one.go(hours=3)
    assert one.phases()[-4:] == [
        ("Uploading", 33),
        ("Interrupted", 33.5),
        ("Stopping", 120),
        ("MaxWaitTimeExceeded", 122),
    ]


def test_on_demand_jobs_are_never_interrupted(spot):
    one = spot([{"at": "0m", "free": 8}, {"at": "20m", "free": 0, "interrupt": True}])
    one.create("demand", resources={"InstanceType": G5, "InstanceCount": 8})
    one.go(hours=1)
    assert one.status("demand") == ("Completed", "Completed")


def test_interrupted_jobs_come_before_those_that_came_later(spot):
    one = spot(8)
    create(one, "first")
    create(one, "second")
    one.go(minutes=10)
    one.sagemaker.interrupt_spot(G5)
    assert one.status("first") == ("InProgress", "Interrupted")
    one.sagemaker.set_free(G5, 8, spot=True)
    assert one.status("first") == ("InProgress", "Starting")
    assert one.phases("second") == [("Starting", 0)]


def test_an_interrupted_job_can_be_stopped(spot):
    one = spot(8)
    create(one)
    one.go(minutes=10)
    one.sagemaker.interrupt_spot(G5)
    one.stop()
    one.sagemaker.set_free(G5, 8, spot=True)
    one.go(minutes=5)
    assert one.phases()[-3:] == [("Interrupted", 10), ("Stopping", 10), ("Stopped", 12)]


def test_a_job_that_is_interrupted_while_it_stops_is_stopped(spot):
    one = spot(8)
    create(one)
    one.go(minutes=10)
    one.stop()
    one.sagemaker.interrupt_spot(G5)
    assert one.status() == ("Stopped", "Stopped")
    one.go(hours=8)
    assert one.status() == ("Stopped", "Stopped")


def test_spot_jobs_have_a_quota_of_their_own(spot):
    one = spot(quotas={f"{G5} for spot training job usage": 8, f"{G5} for training job usage": 0})
    create(one)
    with pytest.raises(ServiceError, match=r"'ml\.g5\.48xlarge for spot training job usage' is 8 Instances"):
        create(one, "next", count=1)


def test_events_tell_of_an_interruption(spot):
    one = spot(8)
    create(one)
    one.go(minutes=10)
    one.sagemaker.interrupt_spot(G5)
    last = one.events[-1][2]
    assert (last["TrainingJobStatus"], last["SecondaryStatus"]) == ("InProgress", "Interrupted")


def test_a_person_can_read_the_spot_levels():
    capacity = Capacity.of({"spot": {G5: [{"at": "0m", "free": 8}, {"at": "20m", "free": 0, "interrupt": True}]}})
    assert next(capacity.lines()) == f"{G5} spot: 0 free, 8 after 0m, 0 after 20m with an interruption"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("types: {ml.g5.48xlarge: [{at: 1m, free: 0, interrupt: true}]}", "interrupt: unknown key; allowed are at, fr"),
        ("spot: {ml.g5.48xlarge: [{at: 1m, free: 0, interrupt: maybe}]}", "'maybe' is not allowed; give true or false"),
        ("spot: {ml.g5.48xlage: 1}", "did you mean ml.g5.48xlarge"),
    ],
)
def test_a_mistake_in_the_spot_levels_is_told(document, words):
    with pytest.raises(SandboxError) as refused:
        Capacity.parse(document)
    assert words in str(refused.value)
