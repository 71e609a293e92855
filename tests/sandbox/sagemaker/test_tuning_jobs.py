import re

import pytest

from constructs_lib.sandbox.errors import ServiceError

G5, G6, P3, M5 = "ml.g5.48xlarge", "ml.g6.48xlarge", "ml.p3.16xlarge", "ml.m5.large"
JOB = {"start": "1m", "download": "2m", "runtime": "30m", "upload": "1m", "stop_takes": "2m"}
RANGES = {
    "IntegerParameterRanges": [{"Name": "layers", "MinValue": "2", "MaxValue": "9"}],
    "ContinuousParameterRanges": [{"Name": "rate", "MinValue": "0.001", "MaxValue": "0.1"}],
    "CategoricalParameterRanges": [{"Name": "optimizer", "Values": ["sgd", "adam"]}],
}


class Tuning:
    """Tuning jobs in a world."""

    def __init__(self, world):
        self.world = world

    def request(self, name="tune", configs=((G5, 2), (G6, 4)), *, jobs=3, parallel=2, definition=None, limits=None):
        rows = [{"InstanceType": kind, "InstanceCount": count, "VolumeSizeInGB": 50} for kind, count in configs]
        training = {
            "AlgorithmSpecification": {"TrainingImage": "123.dkr.ecr/image", "TrainingInputMode": "File"},
            "StaticHyperParameters": {"epochs": "3"},
            "RoleArn": "arn:aws:iam::123456789012:role/training",
            "OutputDataConfig": {"S3OutputPath": "s3://bucket/models/"},
            "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
            "HyperParameterTuningResourceConfig": {"InstanceConfigs": rows, "AllocationStrategy": "Prioritized"},
        } | (definition or {})
        return {
            "HyperParameterTuningJobName": name,
            "HyperParameterTuningJobConfig": {
                "Strategy": "Random",
                "HyperParameterTuningJobObjective": {"Type": "Minimize", "MetricName": "loss"},
                "ResourceLimits": {
                    "MaxNumberOfTrainingJobs": jobs,
                    "MaxParallelTrainingJobs": parallel,
                    **(limits or {}),
                },
                "ParameterRanges": RANGES,
            },
            "TrainingJobDefinition": {name: value for name, value in training.items() if value is not None},
        }

    def create(self, *arguments, **members):
        return self.world.call("CreateHyperParameterTuningJob", **self.request(*arguments, **members))

    def describe(self, name="tune"):
        return self.world.call("DescribeHyperParameterTuningJob", HyperParameterTuningJobName=name)

    def status(self, name="tune"):
        return self.describe(name)["HyperParameterTuningJobStatus"]

    def counters(self, name="tune"):
        counted = self.describe(name)["TrainingJobStatusCounters"]
        return {status: number for status, number in counted.items() if number}

    def stop(self, name="tune"):
        return self.world.call("StopHyperParameterTuningJob", HyperParameterTuningJobName=name)

    def children(self, name="tune", **request):
        answer = self.world.call(
            "ListTrainingJobsForHyperParameterTuningJob", HyperParameterTuningJobName=name, **request
        )
        return answer["TrainingJobSummaries"]

    def resources(self, child):
        return self.world.describe(child["TrainingJobName"])["ResourceConfig"]


@pytest.fixture
def make(world):
    return lambda document=None: Tuning(world({"job": JOB} | (document or {})))


def test_a_tuning_job_launches_training_jobs_so_many_at_a_time_and_completes(make):
    one = make()
    one.create(jobs=3, parallel=2)
    assert one.counters() == {"InProgress": 2}
    one.world.go(minutes=34)
    assert one.counters() == {"Completed": 2, "InProgress": 1}
    one.world.go(minutes=34)
    assert one.status() == "Completed"
    described = one.describe()
    assert described["ObjectiveStatusCounters"] == {"Succeeded": 3, "Pending": 0, "Failed": 0}
    assert described["HyperParameterTuningEndTime"] == described["CreationTime"] + 68 * 60
    assert described["ConsumedResources"] == {"RuntimeInSeconds": 68 * 60}
    assert [row["TrainingJobStatus"] for row in one.children()] == ["Completed"] * 3


def test_each_training_job_takes_the_first_of_the_ordered_configs_that_is_free(make):
    one = make({"types": {G5: 2, G6: 4}})
    one.create(jobs=3, parallel=3)
    first, second, third = one.children()
    assert one.resources(first) == {"InstanceType": G5, "InstanceCount": 2, "VolumeSizeInGB": 50}
    assert one.resources(second) == {"InstanceType": G6, "InstanceCount": 4, "VolumeSizeInGB": 50}
    assert one.world.status(third["TrainingJobName"]) == ("InProgress", "Pending")
    assert [row["rank"] for row in one.world.sagemaker.evaluations(third["TrainingJobName"])] == [1, 2]
    one.world.go(minutes=34)
    assert one.resources(third)["InstanceType"] == G5
    one.world.go(minutes=34)
    assert one.counters() == {"Completed": 3}


def test_training_jobs_are_real_ones_with_their_own_names_and_hyperparameters(make):
    one = make()
    arn = one.create(jobs=2, parallel=1)["HyperParameterTuningJobArn"]
    assert arn.endswith(":hyper-parameter-tuning-job/tune")
    one.world.go(hours=2)
    children = one.children()
    assert re.fullmatch(r"tune-001-[0-9a-f]{8}", children[0]["TrainingJobName"])
    assert [row["TuningJobName"] for row in children] == ["tune", "tune"]
    described = one.world.describe(children[0]["TrainingJobName"])
    assert described["TuningJobArn"] == arn
    assert described["HyperParameters"] == {"epochs": "3"} | children[0]["TunedHyperParameters"]
    tuned = [row["TunedHyperParameters"] for row in children]
    assert [row["optimizer"] for row in tuned] == ["sgd", "adam"]
    assert all(2 <= int(row["layers"]) <= 9 and 0.001 <= float(row["rate"]) <= 0.1 for row in tuned)
    listed = one.world.call("ListTrainingJobs", NameContains="tune-")["TrainingJobSummaries"]
    assert {row["TrainingJobName"] for row in listed} == {row["TrainingJobName"] for row in children}


@pytest.mark.parametrize(("kind", "best"), [("Minimize", min), ("Maximize", max)])
def test_the_best_training_job_has_the_best_metric(make, kind, best):
    one = make()
    request = one.request(jobs=6, parallel=3)
    request["HyperParameterTuningJobConfig"]["HyperParameterTuningJobObjective"]["Type"] = kind
    one.world.call("CreateHyperParameterTuningJob", **request)
    assert "BestTrainingJob" not in one.describe()
    one.world.go(hours=2)
    value = lambda row: row["FinalHyperParameterTuningJobObjectiveMetric"]["Value"]  # noqa: E731
    rows = one.children(SortBy="FinalObjectiveMetricValue")
    assert [value(row) for row in rows] == sorted(value(row) for row in rows)
    assert len({value(row) for row in rows}) == 6
    assert one.describe()["BestTrainingJob"] == best(rows, key=value)


def test_stopping_stops_all_training_jobs_and_launches_no_more(make):
    one = make()
    one.create(jobs=9, parallel=2)
    one.world.go(minutes=10)
    one.stop()
    assert one.status() == "Stopping"
    assert one.counters() == {"InProgress": 2}
    one.world.go(minutes=2)
    assert one.status() == "Stopped"
    assert one.counters() == {"Stopped": 2}
    one.world.go(hours=2)
    assert len(one.children()) == 2
    with pytest.raises(ServiceError, match="because the hyper parameter tuning job is in status Stopped"):
        one.stop()


def test_a_training_job_that_somebody_stops_makes_room_for_the_next(make):
    one = make()
    one.create(jobs=3, parallel=1)
    one.world.stop(one.children()[0]["TrainingJobName"])
    one.world.go(minutes=2)
    assert one.counters() == {"Stopped": 1, "InProgress": 1}
    one.world.go(hours=2)
    assert one.status() == "Completed"


@pytest.mark.parametrize(
    ("document", "configs", "counters"),
    [
        ({"job": JOB | {"fail": "AlgorithmError: x"}}, [(G5, 1)], {"NonRetryableError": 3}),
        ({"types": {M5: 0}}, [(M5, 1)], {"RetryableError": 3}),
    ],
)
def test_a_tuning_job_fails_when_all_its_training_jobs_fail(make, document, configs, counters):
    one = make(document)
    one.create(configs=configs)
    one.world.go(hours=2)
    assert one.status() == "Failed"
    assert one.counters() == counters
    assert one.describe()["FailureReason"].startswith("All training jobs failed.")
    assert one.describe()["ObjectiveStatusCounters"] == {"Succeeded": 0, "Pending": 0, "Failed": 3}


def test_a_tuning_job_completes_if_any_training_job_does(make):
    one = make({"job": JOB | {"overrides": {"tune-002-*": {"fail": "AlgorithmError: x"}}}})
    one.create()
    one.world.go(hours=2)
    assert one.status() == "Completed"
    assert one.counters() == {"Completed": 2, "NonRetryableError": 1}


def test_a_tuning_job_that_runs_too_long_is_stopped(make):
    one = make()
    one.create(jobs=9, parallel=1, limits={"MaxRuntimeInSeconds": 3600})
    one.world.go(hours=2)
    assert one.status() == "Stopped"
    assert one.counters() == {"Completed": 1, "Stopped": 1}


def test_a_grid_search_tries_each_combination_once(make):
    one = make()
    request = one.request()
    config = request["HyperParameterTuningJobConfig"]
    config["Strategy"] = "Grid"
    del config["ResourceLimits"]["MaxNumberOfTrainingJobs"]
    config["ParameterRanges"] = {
        "CategoricalParameterRanges": [
            {"Name": "a", "Values": ["1", "2"]},
            {"Name": "b", "Values": ["1", "2"]},
        ]
    }
    one.world.call("CreateHyperParameterTuningJob", **request)
    one.world.go(hours=3)
    assert one.status() == "Completed"
    tried = [tuple(sorted(row["TunedHyperParameters"].items())) for row in one.children()]
    assert len(tried) == len(set(tried)) == 4


def test_one_instance_type_needs_no_list(make):
    one = make({"types": {G5: 2}})
    one.create(definition={"HyperParameterTuningResourceConfig": {"InstanceType": G5, "InstanceCount": 2}}, jobs=1)
    assert one.resources(one.children()[0]) == {"InstanceType": G5, "InstanceCount": 2}
    resources = {"InstanceType": G5, "InstanceCount": 1, "VolumeSizeInGB": 10}
    one.create("other", definition={"HyperParameterTuningResourceConfig": None, "ResourceConfig": resources}, jobs=1)
    assert one.world.status(one.children("other")[0]["TrainingJobName"]) == ("InProgress", "Pending")


def test_spot_instances_are_taken_if_asked_for(make):
    one = make({"types": {G5: 0, G6: 0}, "spot": {G5: 0, G6: 8}})
    limits = {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200}
    one.create(definition={"EnableManagedSpotTraining": True, "StoppingCondition": limits}, jobs=2)
    one.world.go(hours=1)
    assert one.counters() == {"Completed": 2}
    assert {one.resources(row)["InstanceType"] for row in one.children()} == {G6}


def test_every_listed_type_needs_quota_for_all_that_run_at_once(make):
    one = make({"quotas": {f"{G6} for training job usage": 7}})
    with pytest.raises(ServiceError, match=r"'ml\.g6\.48xlarge for training job usage' is 7 .* request delta of 8"):
        one.create(jobs=5, parallel=2)
    one.create(jobs=1, parallel=2)


def test_the_changes_of_a_tuning_job_are_told_as_events(make):
    one = make()
    request = one.request(jobs=1) | {"Tags": [{"Key": "run", "Value": "7"}]}
    one.world.call("CreateHyperParameterTuningJob", **request)
    one.world.go(hours=1)
    kind = "SageMaker HyperParameter Tuning Job State Change"
    events = [(detail, resources) for _, detail_type, detail, resources in one.world.events if detail_type == kind]
    details = [detail for detail, _ in events]
    assert [detail["HyperParameterTuningJobStatus"] for detail in details] == ["InProgress", "Completed"]
    last, resources = events[-1]
    assert resources == [last["HyperParameterTuningJobArn"]]
    assert last["Tags"] == {"run": "7"}
    assert last["TrainingJobStatusCounters"]["Completed"] == 1
    assert last["LastModifiedTime"] - last["CreationTime"] == 34 * 60 * 1000


def test_lists_are_filtered_and_come_in_pages(make):
    one = make()
    for name in ("a", "b"):
        one.create(name, jobs=4, parallel=3)
        one.world.go(minutes=34)
    rows = one.world.call("ListHyperParameterTuningJobs", SortBy="Name")["HyperParameterTuningJobSummaries"]
    assert [row["HyperParameterTuningJobName"] for row in rows] == ["a", "b"]
    running = one.world.call("ListHyperParameterTuningJobs", StatusEquals="InProgress", NameContains="b")
    assert [row["Strategy"] for row in running["HyperParameterTuningJobSummaries"]] == ["Random"]
    assert len(one.children("b", StatusEquals="Completed")) == 3
    first = one.world.call("ListTrainingJobsForHyperParameterTuningJob", HyperParameterTuningJobName="b", MaxResults=3)
    rest = one.children("b", NextToken=first["NextToken"])
    assert [row["TrainingJobName"][:5] for row in (*first["TrainingJobSummaries"], *rest)] == [
        f"b-00{number}" for number in (1, 2, 3, 4)
    ]


def test_a_tuning_job_that_does_not_exist_is_not_found(make):
    with pytest.raises(ServiceError) as refused:
        make().describe()
    assert refused.value.code == "ResourceNotFound"


def test_a_name_is_used_once(make):
    one = make()
    one.create()
    with pytest.raises(ServiceError, match="a hyper parameter tuning job with this name already exists"):
        one.create()


CONFIG = {"InstanceType": G5, "InstanceCount": 1, "VolumeSizeInGB": 10}


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({"ResourceConfig": CONFIG}, "Exactly one of ResourceConfig and HyperParameterTuningResourceConfig"),
        ({"HyperParameterTuningResourceConfig": None}, "Exactly one of ResourceConfig and"),
        (
            {"HyperParameterTuningResourceConfig": {"InstanceConfigs": [CONFIG], "InstanceCount": 1}},
            "InstanceConfigs and InstanceCount are mutually exclusive",
        ),
        (
            {"HyperParameterTuningResourceConfig": {"InstanceConfigs": [CONFIG | {"VolumeSizeInGB": 9000}]}},
            r"9000 exceeds the local storage of ml\.g5\.48xlarge, which is 7600",
        ),
        ({"HyperParameterTuningResourceConfig": {"InstanceType": P3, "InstanceCount": 1}}, "VolumeSizeInGB must be"),
        (
            {
                "HyperParameterTuningResourceConfig": {
                    "InstanceConfigs": [CONFIG],
                    "VolumeKmsKeyId": "arn:aws:kms:us-east-1:123456789012:key/1",
                }
            },
            "VolumeKmsKeyId can't be specified with",
        ),
        (
            {
                "HyperParameterTuningResourceConfig": None,
                "ResourceConfig": {"InstanceCount": 1, "InstancePreferences": [{"InstanceType": G5}]},
            },
            "no tuning jobs with InstancePreferences: nothing says that SageMaker takes it",
        ),
        ({"EnableManagedSpotTraining": True}, "MaxWaitTimeInSeconds must be specified"),
    ],
)
def test_a_request_that_sagemaker_refuses_is_refused(make, definition, words):
    one = make()
    with pytest.raises(ServiceError, match=words):
        one.create(definition=definition)


def test_what_the_sandbox_does_not_play_is_said(make):
    one = make()
    request = one.request()
    request["TrainingJobDefinitions"] = [request.pop("TrainingJobDefinition")]
    with pytest.raises(ServiceError, match="The sandbox has tuning jobs with one TrainingJobDefinition only"):
        one.world.call("CreateHyperParameterTuningJob", **request)
    unlimited = one.request()
    del unlimited["HyperParameterTuningJobConfig"]["ResourceLimits"]["MaxNumberOfTrainingJobs"]
    with pytest.raises(ServiceError, match="MaxNumberOfTrainingJobs must be specified, unless Strategy is Grid"):
        one.world.call("CreateHyperParameterTuningJob", **unlimited)
