import pytest

from constructs_lib.sandbox.errors import ServiceError

G5, G6, M5, P54 = "ml.g5.48xlarge", "ml.g6.48xlarge", "ml.m5.large", "ml.p5.4xlarge"
JOB = {"start": "1m", "download": "2m", "runtime": "30m", "upload": "1m", "stop_takes": "2m"}


class Processing:
    """Processing jobs in a world."""

    def __init__(self, world):
        self.world = world

    def request(self, name="job", preferences=None, *, cluster=None, limit=None, **members):
        rows = preferences and [{"InstanceType": kind, "InstanceCount": count} for kind, count in preferences]
        config = {"VolumeSizeInGB": 100} | ({"InstancePreferences": rows} if rows else {}) | (cluster or {})
        return {
            "ProcessingJobName": name,
            "ProcessingResources": {"ClusterConfig": config},
            "AppSpecification": {"ImageUri": "123.dkr.ecr/image"},
            "RoleArn": "arn:aws:iam::123456789012:role/processing",
            **({"StoppingCondition": {"MaxRuntimeInSeconds": limit}} if limit else {}),
        } | members

    def create(self, *arguments, **members):
        return self.world.call("CreateProcessingJob", **self.request(*arguments, **members))

    def describe(self, name="job"):
        return self.world.call("DescribeProcessingJob", ProcessingJobName=name)

    def stop(self, name="job"):
        return self.world.call("StopProcessingJob", ProcessingJobName=name)

    def status(self, name="job"):
        return self.describe(name)["ProcessingJobStatus"]

    def cluster(self, name="job"):
        return self.describe(name)["ProcessingResources"]["ClusterConfig"]


@pytest.fixture
def make(world):
    return lambda document=None: Processing(world({"job": JOB} | (document or {})))


@pytest.fixture
def one(make):
    return make({"types": {G5: 0, G6: 8}})


def test_a_job_starts_on_the_first_type_of_its_list_that_is_free_and_completes(one):
    one.create("job", [(G5, 2), (G6, 4)])
    one.world.go(minutes=1)
    described = one.describe()
    assert one.status() == "InProgress"
    assert described["ProcessingStartTime"] == described["CreationTime"] + 60
    assert (one.cluster()["SelectedInstanceType"], one.cluster()["SelectedInstanceCount"]) == (G6, 4)
    assert "InstanceType" not in one.cluster()
    one.world.go(hours=1)
    described = one.describe()
    assert described["ProcessingJobStatus"] == "Completed"
    assert described["ProcessingEndTime"] == described["LastModifiedTime"] == described["CreationTime"] + 34 * 60
    assert described["StoppingCondition"] == {"MaxRuntimeInSeconds": 86400}


def test_nothing_is_selected_while_a_job_waits(one):
    one.create("job", [(G5, 2)])
    one.world.go(minutes=50)
    assert one.status() == "InProgress"
    assert one.describe()["ProcessingResources"] == one.request("job", [(G5, 2)])["ProcessingResources"]
    assert not {"ProcessingStartTime", "ProcessingEndTime", "FailureReason"} & one.describe().keys()
    one.world.sagemaker.set_free(G5, 2)
    one.world.go(minutes=1)
    assert one.cluster()["SelectedInstanceType"] == G5
    assert "ProcessingStartTime" in one.describe()


def test_a_job_of_one_type_is_of_one_instance_unless_told_and_shows_no_selection(make):
    one = make({"types": {M5: 1}})
    one.create("first", cluster={"InstanceType": M5})
    one.create("second", cluster={"InstanceType": M5, "InstanceCount": 1})
    assert (one.status("first"), one.status("second")) == ("InProgress", "Failed")
    assert one.cluster("first") == {"VolumeSizeInGB": 100, "InstanceType": M5}


def test_a_list_without_accelerators_is_evaluated_once(make):
    one = make({"types": {M5: 0, "ml.m5.xlarge": 0}})
    one.create("job", [(M5, 1), ("ml.m5.xlarge", 1)])
    assert one.status() == "Failed"
    assert one.describe()["FailureReason"].startswith("CapacityError: ")
    assert len(one.world.sagemaker.evaluations("job")) == 2


@pytest.mark.parametrize(("reading", "hours"), [("at-once", 0), ("2d", 48), ("28d", 28 * 24)])
def test_an_accelerated_list_waits_as_long_as_the_reading_says(one, reading, hours):
    one.world.faults.switch("sagemaker.processing-pending", reading)
    one.create("job", [(G5, 1)])
    one.world.go(hours=30 * 24)
    described = one.describe()
    assert described["ProcessingJobStatus"] == "Failed"
    assert described["ProcessingEndTime"] - described["CreationTime"] == hours * 3600


def test_training_and_processing_take_the_same_instances(one):
    one.create("job", [(G6, 5)])
    one.world.create("trains", preferences=[(G6, 4)])
    assert one.world.status("trains") == ("InProgress", "Pending")
    one.world.go(minutes=34)
    assert one.status() == "Completed"
    assert one.world.status("trains") == ("InProgress", "Starting")


def test_a_job_that_runs_too_long_is_stopped(one):
    one.create("job", [(G6, 1)], limit=600)
    one.world.go(minutes=11)
    assert one.status() == "Stopping"
    one.world.go(minutes=2)
    assert one.status() == "Stopped"
    assert one.describe()["StoppingCondition"] == {"MaxRuntimeInSeconds": 600}


def test_a_job_that_is_stopped_while_it_waits_gets_no_capacity(one):
    one.create("job", [(G5, 1)])
    one.stop()
    one.world.sagemaker.set_free(G5, 1)
    one.create("next", [(G5, 1)])
    one.world.go(minutes=3)
    assert one.status() == "Stopped"
    assert not {"ProcessingStartTime", "ProcessingEndTime"} & one.describe().keys()
    assert "ProcessingStartTime" in one.describe("next")


def test_stopping_twice_is_taken_or_refused_as_for_training(one):
    one.create("job", [(G6, 1)])
    one.stop()
    one.stop()
    one.world.faults.switch("sagemaker.stop-while-stopping", "rejected")
    with pytest.raises(ServiceError, match="because the processing job is in status Stopping"):
        one.stop()


@pytest.mark.parametrize("status", ["Completed", "Failed", "Stopped"])
def test_a_job_that_has_ended_can_not_be_stopped(make, status):
    one = make({"job": JOB | {"overrides": {"Failed": {"fail": "AlgorithmError: x"}}}})
    one.create(status, [(G6, 1)])
    if status == "Stopped":
        one.stop(status)
    one.world.go(hours=1)
    with pytest.raises(ServiceError) as refused:
        one.stop(status)
    assert refused.value.code == "ValidationException"
    assert refused.value.message == f"The request was rejected because the processing job is in status {status}."


@pytest.mark.parametrize("operation", ["DescribeProcessingJob", "StopProcessingJob"])
def test_a_job_that_does_not_exist_is_not_found(one, operation):
    with pytest.raises(ServiceError, match="Could not find requested job with name: nobody"):
        one.world.call(operation, ProcessingJobName="nobody")


def test_a_name_is_used_once(one):
    one.create("job", [(G6, 1)])
    with pytest.raises(ServiceError, match=r"a processing job with this name already exists \(.*:processing-job/job\)"):
        one.create("job", [(G6, 1)])
    one.world.create("job", preferences=[(G6, 1)])  # training jobs have names of their own


def test_a_container_that_fails_fails_its_job(make):
    one = make({"job": JOB | {"fail": "AlgorithmError: exit code 1"}})
    one.create("job", [(G6, 1)])
    one.world.go(hours=1)
    described = one.describe()
    assert described["FailureReason"] == "AlgorithmError: exit code 1"
    assert described["ProcessingEndTime"] - described["CreationTime"] == 33 * 60


def test_every_change_of_status_is_told_as_an_event(one):
    one.create("job", [(G6, 1)], Tags=[{"Key": "run", "Value": "7"}])
    one.world.go(hours=1)
    kinds = {(source, kind) for source, kind, _, _ in one.world.events}
    assert kinds == {("aws.sagemaker", "SageMaker Processing Job State Change")}
    details = [detail for _, _, detail, _ in one.world.events]
    assert [detail["ProcessingJobStatus"] for detail in details] == ["InProgress", "Completed"]
    last = details[-1]
    assert one.world.events[-1][3] == [last["ProcessingJobArn"]]
    assert last["Tags"] == {"run": "7"}
    assert last["ProcessingEndTime"] - last["ProcessingStartTime"] == 33 * 60 * 1000
    assert "SelectedInstanceType" not in last["ProcessingResources"]["ClusterConfig"]


def test_events_carry_the_selection_if_the_reading_says_so(one):
    one.world.faults.switch("sagemaker.events-selected", "present")
    one.create("job", [(G6, 1)])
    one.world.go(hours=1)
    cluster = one.world.events[-1][2]["ProcessingResources"]["ClusterConfig"]
    assert (cluster["SelectedInstanceType"], cluster["SelectedInstanceCount"]) == (G6, 1)


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ({"InstanceType": M5, "InstancePreferences": [{"InstanceType": M5}]}, "InstanceType are mutually exclusive"),
        ({}, "InstanceType must be specified, or InstancePreferences instead"),
        ({"InstanceType": M5, "SelectedInstanceType": M5}, "SelectedInstanceType is read-only .*CreateProcessingJob"),
        ({"InstancePreferences": [{"InstanceType": M5}]}, "InstanceCount must be specified in ClusterConfig or in"),
        (
            {"InstanceCount": 1, "InstancePreferences": [{"InstanceType": M5, "InstanceCount": 1}]},
            "can't be specified both in ClusterConfig and",
        ),
        (
            {"InstanceCount": 1, "InstancePreferences": [{"InstanceType": M5}, {"InstanceType": M5}]},
            "appears more than once",
        ),
        ({"InstanceType": "ml.p4d.24xlarge"}, "Member must satisfy enum value set"),
        (
            {"InstanceType": G6, "VolumeSizeInGB": 16000},
            r"16000 exceeds the local storage of ml\.g6\.48xlarge, which is \d+",
        ),
        (
            {
                "InstanceCount": 1,
                "VolumeSizeInGB": 4000,
                "InstancePreferences": [{"InstanceType": t} for t in (G6, P54)],
            },
            r"4000 exceeds the local storage of ml\.p5\.4xlarge",
        ),
        (
            {"InstanceType": G6, "VolumeKmsKeyId": "arn:aws:kms:us-east-1:123456789012:key/1"},
            "VolumeKmsKeyId can't be specified with",
        ),
    ],
)
def test_a_request_that_sagemaker_refuses_is_refused(one, cluster, words):
    with pytest.raises(ServiceError, match=words):
        one.create("job", cluster=cluster)
    with pytest.raises(ServiceError, match="Could not find"):
        one.describe()


def test_a_volume_key_fails_the_job_only_if_the_winner_has_local_storage(one):
    one.world.faults.switch("sagemaker.kms-on-nvme", "winner")
    key = {"VolumeKmsKeyId": "arn:aws:kms:us-east-1:123456789012:key/1"}
    one.create("job", [(G6, 1), (M5, 1)], cluster=key)
    one.world.go(minutes=1)
    assert one.describe()["FailureReason"].startswith("ClientError: VolumeKmsKeyId can't be used")
    assert "ProcessingStartTime" not in one.describe()


def test_a_zone_that_the_subnets_leave_out_is_not_used(make):
    one = make({"types": {G5: {"us-east-1a": 0, "us-east-1b": 8}}})
    network = lambda subnet: {"VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": [subnet]}}  # noqa: E731
    one.create("a", [(G5, 1)], NetworkConfig=network("subnet-a"))
    one.create("b", [(G5, 1)], NetworkConfig=network("subnet-b"))
    one.world.go(minutes=1)
    assert "ProcessingStartTime" not in one.describe("a")
    assert "ProcessingStartTime" in one.describe("b")


def test_jobs_are_listed(one):
    for number in range(3):
        one.create(f"job-{number}", [(G6, 1)])
        one.world.go(minutes=20)
    rows = one.world.call("ListProcessingJobs", SortOrder="Descending")["ProcessingJobSummaries"]
    assert [(row["ProcessingJobName"], row["ProcessingJobStatus"]) for row in rows] == [
        ("job-2", "InProgress"),
        ("job-1", "Completed"),
        ("job-0", "Completed"),
    ]
    done = one.world.call("ListProcessingJobs", StatusEquals="Completed", SortBy="Name", MaxResults=1)
    assert [row["ProcessingJobName"] for row in done["ProcessingJobSummaries"]] == ["job-0"]
    assert "NextToken" in done
