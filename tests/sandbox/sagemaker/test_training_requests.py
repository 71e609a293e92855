import pytest

from constructs_lib.sandbox.errors import ServiceError

P5, P4D, G5, EBS, CPU = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.48xlarge", "ml.p3.16xlarge", "ml.m5.xlarge"
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"
PLANS = [
    {"name": "p5", "instance_type": P5, "count": 8, "start": "-1h", "end": "30d"},
    {"name": "serving", "instance_type": P5, "count": 8, "start": "-1h", "end": "30d", "target": "endpoint"},
    {"name": "unpaid", "instance_type": P5, "count": 8, "start": "1h", "end": "30d", "status": "Pending"},
    {"name": "ended", "instance_type": P5, "count": 8, "start": "-30d", "end": "-1h"},
]


@pytest.fixture
def one(world):
    return world({"plans": PLANS})


def refuse(one, words, code="ValidationException", **arguments):
    with pytest.raises(ServiceError) as refused:
        one.create(**arguments)
    assert words in refused.value.message
    assert (refused.value.code, refused.value.status) == (code, 400)
    with pytest.raises(ServiceError):
        one.describe()  # nothing was created


@pytest.mark.parametrize(
    ("preferences", "resources", "words"),
    [
        ([(P5, 8), (P5, 4)], {}, "Instance type ml.p5.48xlarge appears more than once"),
        ([(P5, 2), (G5,)], {}, "InstanceCount must be specified in every entry of InstancePreferences or in none"),
        ([(P5, 2), (G5, 4)], {"InstanceCount": 8}, "can't be specified both in ResourceConfig and in"),
        ([(P5, 2), (G5,)], {"InstanceCount": 8}, "can't be specified both in ResourceConfig and in"),
        ([(P5,), (G5,)], {}, "InstanceCount must be specified in ResourceConfig or in every entry"),
        ([(P5, 0)], {}, "InstanceCount for ml.p5.48xlarge must be at least 1"),
        ([(P5, 8)], {"InstanceType": P5}, "InstancePreferences and InstanceType are mutually exclusive"),
        ([(P5, 8)], {"InstanceGroups": []}, "InstancePreferences and InstanceGroups are mutually exclusive"),
        ([(P5, 8)], {"InstancePlacementConfig": {}}, "InstancePreferences and InstancePlacementConfig are mutually"),
        ([(P5, 8)], {"SelectedInstanceType": P5}, "SelectedInstanceType is read-only"),
        ([(P5, 8)], {"SelectedInstanceCount": 8}, "SelectedInstanceCount is read-only"),
        (None, {"InstanceType": P5}, "InstanceCount must be specified"),
        (None, {"InstanceCount": 8}, "InstanceType must be specified, or InstancePreferences instead"),
        (None, {"InstanceGroups": []}, "The sandbox does not place jobs with InstanceGroups"),
        ([(P5, 8), (EBS, 8)], {}, "VolumeSizeInGB must be specified for ml.p3.16xlarge"),
        ([(P5, 8)] * 6, {}, "Member must have length less than or equal to 5"),
        ([], {}, "Member must have length greater than or equal to 1"),
    ],
)
def test_a_list_that_breaks_the_rules_is_refused(one, preferences, resources, words):
    refuse(one, words, preferences=preferences, resources=resources)


@pytest.mark.parametrize(
    ("preferences", "resources"),
    [
        ([(P5, 8)], {}),
        ([(P5,), (G5,)], {"InstanceCount": 8}),
        ([(P5, 2), (G5, 4)], {"VolumeSizeInGB": 500, "KeepAlivePeriodInSeconds": 600}),
        ([(P5, 8), (EBS, 8)], {"VolumeSizeInGB": 500}),
        (None, {"InstanceType": P5, "InstanceCount": 8}),
        (None, {"InstanceType": CPU, "InstanceCount": 1, "VolumeSizeInGB": 50, "VolumeKmsKeyId": KEY}),
    ],
)
def test_a_list_that_follows_the_rules_is_taken(one, preferences, resources):
    one.create(preferences=preferences, resources=resources)
    assert one.status() == ("InProgress", "Starting")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"preferences": [(P5, 8)], "EnableManagedSpotTraining": True, "limits": {"MaxWaitTimeInSeconds": 90000}},
            "InstancePreferences and EnableManagedSpotTraining are mutually exclusive",
        ),
        ({"limits": {"MaxWaitTimeInSeconds": 90000}}, "MaxWaitTimeInSeconds can be specified only with"),
        ({"EnableManagedSpotTraining": True}, "MaxWaitTimeInSeconds must be specified and at least"),
        (
            {"EnableManagedSpotTraining": True, "limits": {"MaxWaitTimeInSeconds": 60}},
            "MaxWaitTimeInSeconds must be specified and at least MaxRuntimeInSeconds",
        ),
        ({"limits": {"MaxRuntimeInSeconds": 28 * 86400 + 1}}, "MaxRuntimeInSeconds must not exceed 2419200"),
        ({"ResourceConfig": None}, "ResourceConfig must be specified"),
    ],
)
def test_limits_and_spot_have_their_own_rules(one, arguments, words):
    refuse(one, words, **arguments)


def test_a_spot_job_can_not_run_on_a_plan(one, plan_arn):
    refuse(
        one,
        "EnableManagedSpotTraining can't be used with a training plan",
        resources={"InstanceType": P5, "InstanceCount": 8, "TrainingPlanArn": plan_arn("p5")},
        limits={"MaxWaitTimeInSeconds": 86400},
        EnableManagedSpotTraining=True,
    )


@pytest.mark.parametrize(
    ("preferences", "job_plan", "words"),
    [
        (
            [(P5, 8, "p5"), (P4D, 8)],
            "p5",
            "TrainingPlanArn and the TrainingPlanArns of InstancePreferences are mutually",
        ),
        ([(P4D, 8), (G5, 8)], "p5", "No entry of InstancePreferences has ml.p5.48xlarge"),
        ([(P4D, 8, "p5")], None, "Instance type ml.p4d.24xlarge does not match ml.p5.48xlarge"),
        ([(P5, 8, "serving")], None, "targets endpoint, not training-job"),
        ([(P5, 8, "unpaid")], None, "is Pending; it must be Scheduled or Active"),
        ([(P5, 8, "ended")], None, "is Expired; it must be Scheduled or Active"),
    ],
)
def test_a_plan_must_fit_the_entry_that_names_it(one, plan_arn, preferences, job_plan, words):
    resources = {"TrainingPlanArn": plan_arn(job_plan)} if job_plan else {}
    refuse(one, words, preferences=preferences, resources=resources)


def test_a_plan_that_does_not_exist_is_not_found(one):
    refuse(one, "does not exist", code="ResourceNotFound", preferences=[(P5, 8, "nobody")])


def test_a_plan_of_the_job_is_used_by_the_entry_of_its_type(one, plan_arn):
    one.sagemaker.set_free(G5, 0)
    one.create(preferences=[(G5, 8), (P5, 8)], resources={"TrainingPlanArn": plan_arn("p5")})
    rows = one.sagemaker.evaluations("job")
    assert [(row["instance_type"], row["training_plan_arn"]) for row in rows] == [(G5, None), (P5, plan_arn("p5"))]
    assert one.call("DescribeTrainingPlan", TrainingPlanName="p5")["InUseInstanceCount"] == 8


def test_a_serverless_job_is_refused_in_words(one):
    request = one.request()
    del request["ResourceConfig"]
    arn = "arn:aws:sagemaker:us-east-1:aws:hub-content/SageMakerPublicHub/Model/m/1.0.0"
    request["ServerlessJobConfig"] = {"BaseModelArn": arn, "JobType": "FineTuning"}
    with pytest.raises(ServiceError, match="The sandbox has no serverless training jobs"):
        one.sagemaker.handle("CreateTrainingJob", request)


def test_the_quota_of_every_entry_is_checked_though_the_first_would_win(world):
    one = world({"quotas": {"ml.g5.48xlarge for training job usage": 0, "ml.p5.48xlarge for training job usage": 8}})
    refuse(
        one,
        "The account-level service limit 'ml.g5.48xlarge for training job usage' is 0 Instances, with current"
        " utilization of 0 Instances and a request delta of 8 Instances. Please use AWS Service Quotas",
        code="ResourceLimitExceeded",
        preferences=[(P5, 8), (P4D, 8), (G5, 8)],
    )
    one.create(preferences=[(P5, 8), (P4D, 8)])
    with pytest.raises(ServiceError, match="current utilization of 8 Instances and a request delta of 1 Instances"):
        one.create("second", preferences=[(P5, 1)])


def test_a_quota_counts_instances_of_plans_too_and_spot_has_its_own(world):
    quotas = {"ml.p5.48xlarge for training job usage": 8, "ml.p5.48xlarge for spot training job usage": 0}
    one = world({"quotas": quotas, "plans": PLANS})
    one.create("plan", preferences=[(P5, 8, "p5")])
    with pytest.raises(ServiceError, match="current utilization of 8 Instances"):
        one.create("more", preferences=[(P5, 1)])
    with pytest.raises(ServiceError, match=r"'ml\.p5\.48xlarge for spot training job usage' is 0 Instances"):
        one.create("spot", limits={"MaxWaitTimeInSeconds": 86400}, EnableManagedSpotTraining=True)


def test_a_name_is_used_up_for_ever(world):
    one = world({"job": {"runtime": "1m"}})
    one.create()
    one.go(hours=1)
    assert one.status() == ("Completed", "Completed")
    with pytest.raises(ServiceError) as refused:
        one.create(preferences=[(G5, 1)])
    assert refused.value.code == "ResourceInUse"
    assert refused.value.message == (
        "Job name must be unique within an AWS account and region, and a training job with this name already exists"
        " (arn:aws:sagemaker:us-east-1:123456789012:training-job/job)"
    )


def test_a_volume_key_is_refused_when_every_type_has_local_storage_in_either_reading(one):
    for reading in ("any", "winner"):
        one.faults.switch("sagemaker.kms-on-nvme", reading)
        refuse(
            one,
            "VolumeKmsKeyId can't be specified with instance types that have local storage: ml.p5.48xlarge",
            preferences=[(P5, 8)],
            resources={"VolumeKmsKeyId": KEY},
        )
