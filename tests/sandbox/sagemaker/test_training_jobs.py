import pytest

from constructs_lib.sandbox.errors import ServiceError

P5, P4D = "ml.p5.48xlarge", "ml.p4d.24xlarge"
JOB = {"start": "1m", "download": "2m", "runtime": "30m", "upload": "1m", "stop_takes": "2m"}


@pytest.fixture
def one(world):
    return world({"types": {P5: 0, P4D: 8}, "job": JOB})


def test_a_job_goes_through_its_phases_on_the_clock(one):
    one.create(preferences=[(P5, 4), (P4D, 8)])
    one.go(hours=1)
    assert one.phases() == [("Starting", 0), ("Downloading", 1), ("Training", 3), ("Uploading", 33), ("Completed", 34)]
    described = one.describe()
    created = described["CreationTime"]
    assert described["TrainingStartTime"] == created + 60
    assert described["TrainingEndTime"] == described["LastModifiedTime"] == created + 34 * 60
    assert described["BillableTimeInSeconds"] == described["TrainingTimeInSeconds"] == 33 * 60
    assert described["ModelArtifacts"] == {"S3ModelArtifacts": "s3://bucket/models/job/output/model.tar.gz"}
    rows = described["SecondaryStatusTransitions"]
    assert [row["EndTime"] for row in rows] == [*(row["StartTime"] for row in rows[1:]), created + 34 * 60]


def test_the_selection_is_absent_until_it_is_made_and_the_list_stays_as_it_was_sent(one):
    one.sagemaker.set_free(P4D, 0)
    one.create(preferences=[(P5, 4), (P4D, 8)])
    sent = one.request(preferences=[(P5, 4), (P4D, 8)])["ResourceConfig"]
    waiting = one.describe()
    assert waiting["ResourceConfig"] == sent
    assert not {"TrainingStartTime", "TrainingEndTime", "BillableTimeInSeconds", "FailureReason"} & waiting.keys()
    one.sagemaker.set_free(P4D, 8)
    assert one.describe()["ResourceConfig"] == sent | {"SelectedInstanceType": P4D, "SelectedInstanceCount": 8}
    assert "InstanceType" not in one.describe()["ResourceConfig"]


def test_a_job_of_one_type_shows_no_selection(one):
    one.create(resources={"InstanceType": P4D, "InstanceCount": 8})
    assert one.describe()["ResourceConfig"] == {"InstanceType": P4D, "InstanceCount": 8}


def test_a_description_fills_in_what_the_request_left_out(one):
    request = one.request(preferences=[(P4D, 8)])
    del request["StoppingCondition"]
    one.call("CreateTrainingJob", **request)
    described = one.describe()
    assert described["StoppingCondition"] == {"MaxRuntimeInSeconds": 86400}
    assert described["EnableNetworkIsolation"] is described["EnableManagedSpotTraining"] is False
    assert "Tags" not in described


def test_a_container_that_fails_fails_its_job_at_the_end_of_the_runtime(world):
    failure = {"broken-*": {"fail": "AlgorithmError: exit code 1", "runtime": "5m"}}
    one = world({"types": {P4D: 8}, "job": JOB | {"overrides": failure}})
    one.create("broken-1", preferences=[(P4D, 8)])
    one.go(hours=1)
    assert one.phases("broken-1") == [("Starting", 0), ("Downloading", 1), ("Training", 3), ("Failed", 8)]
    described = one.describe("broken-1")
    assert described["FailureReason"] == "AlgorithmError: exit code 1"
    assert described["BillableTimeInSeconds"] == 7 * 60
    one.create("next", preferences=[(P4D, 8)])
    assert one.status("next") == ("InProgress", "Starting")


def test_a_job_that_runs_too_long_is_stopped(one):
    one.create(preferences=[(P4D, 8)], limits={"MaxRuntimeInSeconds": 600})
    one.go(hours=1)
    assert one.phases()[2:] == [("Training", 3), ("Stopping", 11), ("MaxRuntimeExceeded", 13)]
    assert one.status() == ("Stopped", "MaxRuntimeExceeded")
    assert one.describe()["BillableTimeInSeconds"] == 12 * 60


def test_a_limit_that_passes_while_the_model_is_uploaded_stops_nothing(one):
    one.create(preferences=[(P4D, 8)], limits={"MaxRuntimeInSeconds": 32 * 60 + 30})
    one.go(hours=1)
    assert one.status() == ("Completed", "Completed")


def test_a_job_that_is_stopped_takes_its_time_and_then_returns_its_instances(one):
    one.create(preferences=[(P4D, 8)])
    one.create("next", preferences=[(P4D, 8)])
    one.go(minutes=10)
    one.stop()
    assert one.status() == ("Stopping", "Stopping")
    one.go(minutes=1)
    assert one.status("next") == ("InProgress", "Pending")
    one.go(minutes=1)
    assert one.status() == ("Stopped", "Stopped")
    assert one.status("next") == ("InProgress", "Starting")
    assert one.describe()["BillableTimeInSeconds"] == 11 * 60


def test_a_job_that_is_stopped_while_it_waits_gets_no_capacity_and_costs_nothing(one):
    one.create(preferences=[(P5, 8)])
    one.go(minutes=5)
    one.stop()
    one.sagemaker.set_free(P5, 8)
    one.go(minutes=10)
    assert one.phases() == [("Pending", 0), ("Stopping", 5), ("Stopped", 7)]
    assert not {"TrainingStartTime", "TrainingEndTime", "BillableTimeInSeconds"} & one.describe().keys()


@pytest.mark.parametrize("status", ["Completed", "Failed", "Stopped"])
def test_a_job_that_has_ended_can_not_be_stopped(world, status):
    one = world({"job": JOB | {"overrides": {"Failed": {"fail": "AlgorithmError: x"}}}})
    one.create(status)
    if status == "Stopped":
        one.stop(status)
    one.go(hours=1)
    with pytest.raises(ServiceError) as refused:
        one.stop(status)
    assert refused.value.code == "ValidationException"
    assert refused.value.message == f"The request was rejected because the training job is in status {status}."


@pytest.mark.parametrize("operation", ["DescribeTrainingJob", "StopTrainingJob"])
def test_a_job_that_does_not_exist_is_not_found(one, operation):
    with pytest.raises(ServiceError) as refused:
        one.call(operation, TrainingJobName="nobody")
    assert (refused.value.code, refused.value.message) == ("ValidationException", "Requested resource not found.")


def test_every_change_is_told_as_an_event(one):
    one.create(preferences=[(P5, 4), (P4D, 8)], Tags=[{"Key": "run", "Value": "7"}])
    one.go(hours=1)
    assert {(source, kind) for source, kind, _, _ in one.events} == {
        ("aws.sagemaker", "SageMaker Training Job State Change")
    }
    details = [detail for _, _, detail, _ in one.events]
    assert [detail["SecondaryStatus"] for detail in details] == [name for name, _ in one.phases()]
    last = details[-1]
    assert one.events[-1][3] == [last["TrainingJobArn"]]
    assert last["TrainingJobStatus"] == "Completed"
    assert last["Tags"] == {"run": "7"}
    assert last["TrainingEndTime"] - last["TrainingStartTime"] == 33 * 60 * 1000
    assert last["SecondaryStatusTransitions"][0]["StartTime"] == last["CreationTime"]
    assert last["ResourceConfig"] == one.request(preferences=[(P5, 4), (P4D, 8)])["ResourceConfig"]
    assert "FailureReason" not in last


def test_the_event_of_a_failure_tells_the_reason(world):
    one = world({"job": {"fail": "AlgorithmError: x"}})
    one.create()
    one.go(hours=1)
    assert one.events[-1][2]["FailureReason"] == "AlgorithmError: x"


def test_tags_are_kept_changed_and_listed(one):
    arn = one.create(preferences=[(P4D, 8)], Tags=[{"Key": "b", "Value": "1"}])["TrainingJobArn"]
    one.call("AddTags", ResourceArn=arn, Tags=[{"Key": "a", "Value": "2"}, {"Key": "b", "Value": "3"}])
    assert one.call("ListTags", ResourceArn=arn)["Tags"] == [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": "3"}]
    one.call("DeleteTags", ResourceArn=arn, TagKeys=["b", "c"])
    assert one.call("ListTags", ResourceArn=arn)["Tags"] == [{"Key": "a", "Value": "2"}]
    with pytest.raises(ServiceError, match="would have more than 50 tags"):
        one.call("AddTags", ResourceArn=arn, Tags=[{"Key": f"k{i}", "Value": ""} for i in range(50)])
    with pytest.raises(ServiceError, match="Could not find resource"):
        one.call("ListTags", ResourceArn=f"{arn}-2")


def names(answer):
    return [row["TrainingJobName"] for row in answer["TrainingJobSummaries"]]


@pytest.fixture
def many(world):
    one = world({"types": {P5: 0}, "job": JOB})
    for number in range(25):
        one.create(f"job-{number:02d}", resources={"InstanceType": P5 if number % 2 else P4D, "InstanceCount": 1})
        one.go(minutes=1)
    return one


def test_a_list_comes_in_pages_that_a_new_job_does_not_shift(many):
    first = many.call("ListTrainingJobs", SortOrder="Descending", MaxResults=10)
    many.create("job-99")
    second = many.call("ListTrainingJobs", SortOrder="Descending", MaxResults=10, NextToken=first["NextToken"])
    third = many.call("ListTrainingJobs", SortOrder="Descending", MaxResults=10, NextToken=second["NextToken"])
    assert names(first) + names(second) + names(third) == [f"job-{number:02d}" for number in reversed(range(25))]
    assert "NextToken" not in third
    assert len(names(many.call("ListTrainingJobs"))) == 10


def test_a_list_is_filtered_and_sorted(many):
    many.go(minutes=20)
    everything = {"MaxResults": 100}
    done = many.call("ListTrainingJobs", StatusEquals="Completed", SortBy="Name", SortOrder="Descending", **everything)
    assert names(done) == ["job-10", "job-08", "job-06", "job-04", "job-02", "job-00"]
    assert names(many.call("ListTrainingJobs", NameContains="-2", **everything)) == [f"job-2{n}" for n in range(5)]
    early = many.describe("job-02")["CreationTime"]
    assert names(many.call("ListTrainingJobs", CreationTimeBefore=early, **everything)) == ["job-00", "job-01"]
    assert len(names(many.call("ListTrainingJobs", CreationTimeAfter=early, **everything))) == 22
    late = many.describe("job-10")["LastModifiedTime"]
    assert names(many.call("ListTrainingJobs", LastModifiedTimeAfter=late, **everything))[0] == "job-12"
    by_status = many.call("ListTrainingJobs", SortBy="Status", **everything)["TrainingJobSummaries"]
    assert [row["TrainingJobStatus"] for row in by_status] == ["Completed"] * 6 + ["InProgress"] * 19
    assert names(many.call("ListTrainingJobs", WarmPoolStatusEquals="Available")) == []


def test_a_token_that_this_list_did_not_make_is_refused(many):
    token = many.call("ListTrainingJobs", SortBy="Name")["NextToken"]
    for request in ({"NextToken": token}, {"NextToken": "x"}, {"NextToken": "e30="}):
        with pytest.raises(ServiceError, match="Invalid NextToken"):
            many.call("ListTrainingJobs", **request)
