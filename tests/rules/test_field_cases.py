"""What went wrong for people, told as small requests: the rules must say it, in words that help."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from constructs_lib.rules import Carrier, Kind, Severity, Subject, check, check_request
from constructs_lib.rules.readers.files import expand, read_inputs

FIELD = Path(__file__).parent.parent / "fixtures" / "field"
PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/nightly"
P5, P4D, G5, P3 = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.48xlarge", "ml.p3.16xlarge"


def job(*entries, **more):
    rows = []
    for name, count, plan in ((*entry, None, None)[:3] for entry in entries):
        row = {"InstanceType": name} | ({"InstanceCount": count} if count is not None else {})
        rows.append(row | ({"TrainingPlanArns": [plan]} if plan else {}))
    resources = more.pop("resources", {})
    return {"ResourceConfig": {"InstancePreferences": rows, **resources}, **more}


def plan(**described):
    given = {"TrainingPlanArn": PLAN, "TargetResources": ["training-job"], "TotalInstanceCount": 8}
    return {"plans": [given | {"ReservedCapacitySummaries": [{"InstanceType": P5}], **described}]}


def endpoint_config(*plans, name=P5):
    reserved = [
        {"CapacityReservationPreference": "capacity-reservations-only", "MlReservationArn": one} for one in plans
    ]
    return {
        "ProductionVariants": [
            {"VariantName": f"v{i}", "InstanceType": name, "InitialInstanceCount": 1, "CapacityReservationConfig": one}
            for i, one in enumerate(reserved)
        ]
    }


def loud(findings):
    return {f.rule for f in findings if f.severity is not Severity.UNVERIFIED}


def errors(kind, request, **more):
    return {f.rule: f for f in check_request(kind, request, **more) if f.severity is Severity.ERROR}


def of_file(name):
    return check(read_inputs(expand([str(FIELD / name)]).files).reading.subjects)


def test_the_same_type_reserved_and_on_demand_is_refused_and_the_two_step_launch_is_offered():
    found = errors("training-job", job((P5, 8, PLAN), (P5, 8)))
    assert set(found) == {"GPU-PL02"}
    assert "two steps" in found["GPU-PL02"].fix


@pytest.mark.parametrize(
    ("request_", "rule"),
    [
        (job((P5, 2), (G5,)), "GPU-PL03"),
        (job((P5, 8), (G5, 8), resources={"InstanceCount": 8}), "GPU-PL03"),
        (job((P5,), (G5,)), "GPU-PL03"),
        (job((P5, 8), (G5, 8), resources={"InstanceType": "ml.m4.xlarge"}), "GPU-PL04"),
        (job((P5, 8), (G5, 8), EnableManagedSpotTraining=True), "GPU-PL04"),
        (job((P5, 8), (G5, 8), resources={"InstanceGroups": [{"InstanceGroupName": "a"}]}), "GPU-PL04"),
        (job((P5, 8), (G5, 8), resources={"InstancePlacementConfig": {"EnableMultipleJobs": True}}), "GPU-PL04"),
        (job((P5, 8, PLAN), (G5, 8), resources={"TrainingPlanArn": PLAN}), "GPU-PL05"),
        (job((P4D, 8), (G5, 8), resources={"TrainingPlanArn": PLAN}), "GPU-PL05"),
        (job((P5, 8), (G5, 8), StoppingCondition={"MaxWaitTimeInSeconds": 3600}), "GPU-PL04"),
        (
            {
                "ResourceConfig": {"InstanceType": P5, "InstanceCount": 1, "TrainingPlanArn": PLAN},
                "EnableManagedSpotTraining": True,
            },
            "GPU-PL04",
        ),
    ],
)
def test_every_excluded_combination_is_refused_by_its_rule(request_, rule):
    assert set(errors("training-job", request_, declared=plan())) == {rule}


def test_a_job_level_plan_that_fits_an_entry_and_a_list_of_one_are_allowed():
    assert errors("training-job", job((P5, 8), (G5, 8), resources={"TrainingPlanArn": PLAN}), declared=plan()) == {}
    alone = check_request("training-job", job((P5, 8)))
    assert "GPU-PL01" in {f.rule for f in alone if f.severity is Severity.WARNING}
    assert not [f for f in alone if f.severity is Severity.ERROR]


def test_a_quota_of_zero_is_named_before_the_whole_list_is_refused():
    quotas = {"quotas": {P5: 8, P4D: 8, G5: 0}}
    found = errors("training-job", job((P5, 8), (P4D, 8), (G5, 8)), declared=quotas)
    assert found["GPU-PL26"].message == (
        "8 instances are asked for, the quota 'ml.g5.48xlarge for training job usage' is 0"
    )


def test_one_volume_key_for_two_kinds_of_storage_names_the_type_that_takes_none():
    mixed = {"VolumeKmsKeyId": "key", "VolumeSizeInGB": 100}
    found = check_request("training-job", job((P4D, 1), (P3, 1), resources=mixed))
    key = next(f for f in found if f.rule == "GPU-PL09")
    assert (str(key.severity), P4D in key.message) == ("warning", True)
    assert "GPU-PL09" in errors("training-job", job((P4D, 1), (P5, 1), resources=mixed))
    assert "GPU-PL10" in errors("training-job", job((P4D, 1), (P3, 1)))


def test_a_type_that_nobody_knows_is_neither_refused_nor_passed_in_silence():
    found = check_request("training-job", job(("ml.p9.48xlarge", 1), (P5, 1), resources={"VolumeKmsKeyId": "key"}))
    assert not [f for f in found if f.severity is Severity.ERROR]
    assert {"GPU-PL06", "GPU-PL11"} <= {f.rule for f in found if f.severity is Severity.UNVERIFIED}


def test_a_plan_that_was_bought_for_something_else_is_refused():
    assert "GPU-TP05" in errors(
        "training-job", job((P5, 1, PLAN), (G5, 1)), declared=plan(TargetResources=["endpoint"])
    )
    assert "GPU-TP05" in errors("endpoint-config", endpoint_config(PLAN), declared=plan())
    serving = plan(TargetResources=["endpoint"])
    assert "GPU-EP03" in errors("endpoint-config", endpoint_config(PLAN, name=P4D), declared=serving)
    assert "GPU-EP03" in errors("endpoint-config", endpoint_config(PLAN, f"{PLAN}-b"), declared=serving)
    assert "GPU-TP16" in errors("training-job", job((P5, 1, PLAN), (G5, 1)), declared=plan(Status="Expired"))


def test_subnets_outside_the_plans_zones_are_refused_when_known_and_unverified_when_not():
    here = plan(ReservedCapacitySummaries=[{"InstanceType": P5, "AvailabilityZone": "us-west-2b"}])
    zones = {"subnets": {"subnet-a": "us-west-2a", "subnet-c": "us-west-2c"}}
    request = job((P5, 1, PLAN), (G5, 1), VpcConfig={"Subnets": ["subnet-a", "subnet-c"], "SecurityGroupIds": ["sg"]})
    assert "GPU-TP10" in errors("training-job", request, declared=here | zones)
    assert "GPU-TP10" not in errors("training-job", request, declared=here)
    by_id = {"subnets": {"subnet-a": "usw2-az2", "subnet-c": "usw2-az3"}, "zone_ids": {"us-west-2b": "usw2-az2"}}
    assert "GPU-TP10" not in errors("training-job", request, declared=here | by_id)


def test_a_job_that_fills_the_window_is_told_when_the_plan_really_ends():
    window = plan(StartTime="2026-12-10T11:30:00Z", EndTime="2026-12-12T11:30:00Z")
    request = job((P5, 1, PLAN), (G5, 1), StoppingCondition={"MaxRuntimeInSeconds": 48 * 3600})
    found = [f for f in check_request("training-job", request, declared=window) if f.rule == "GPU-TP10"]
    assert any("usable until 2026-12-12T11:00:00+00:00" in f.message for f in found)
    assert any("no CheckpointConfig" in f.message for f in found)


def test_a_reference_to_a_plan_that_is_over_is_one_finding_with_the_day():
    over = plan(EndTime="2026-11-20T11:30:00Z")
    now = datetime(2026, 11, 29, tzinfo=UTC)
    found = [
        f
        for f in check_request("training-job", job((P5, 1, PLAN), (G5, 1)), declared=over, now=now)
        if "ended" in f.message
    ]
    assert [(f.rule, str(f.severity), "2026-11-20" in f.message) for f in found] == [("GPU-TP16", "warning", True)]


def test_an_endpoint_on_a_plan_bought_beside_it_is_refused_and_a_job_is_not():
    bought = {
        "TrainingPlanName": "nightly", "InstanceType": P5, "InstanceCount": 4, "DurationHours": 72,
        "TargetResources": ["endpoint", "training-job"], "MaxUpfrontFee": "60000", "CurrencyCode": "USD",
    }  # fmt: skip
    keep = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
    where = {"carrier": Carrier.TEMPLATE, "stack": "Capacity", "file": "t.json"}
    reference = {"Fn::GetAtt": ["Nightly", "TrainingPlanArn"]}
    purchase = Subject(Kind.TRAINING_PLAN, bought, resource="Nightly", about=keep, **where)
    endpoint = Subject(Kind.ENDPOINT_CONFIG, endpoint_config(reference), resource="Config", **where)
    training = Subject(Kind.TRAINING_JOB, job((P5, 4, reference), (G5, 4)), resource="Job", **where)
    found = [f for f in check([purchase, endpoint, training]) if f.severity is Severity.ERROR]
    assert [(f.rule, f.resource) for f in found] == [("GPU-TP06", "Config")]
    assert "ReservedEndpoint" in found[0].fix


def test_tokens_are_never_refused_and_each_is_said_once_by_the_rule_that_wanted_to_know():
    token = -1.8881545897087626e289
    request = job((P5, token), ({"Fn::FindInMap": ["Types", "Big", "Name"]}, 8))
    request["StoppingCondition"] = {"MaxPendingTimeInSeconds": token, "MaxRuntimeInSeconds": {"Ref": "Runtime"}}
    found = check_request("training-job", request)
    assert loud(found) <= {"GPU-PL21"}
    places = {
        "GPU-PL03": "ResourceConfig.InstancePreferences[0].InstanceCount",
        "GPU-PL06": "ResourceConfig.InstancePreferences[1].InstanceType",
        "GPU-PL07": "StoppingCondition.MaxPendingTimeInSeconds",
        "GPU-PL25": "StoppingCondition.MaxRuntimeInSeconds",
    }
    for rule, path in places.items():
        assert [f.path for f in found if f.rule == rule] == [path]


def test_a_public_launch_template_into_a_block_is_clean():
    assert loud(of_file("cfn/eksctl-capacity_block.json")) == set()


def test_the_public_poller_misses_the_stopped_status_in_both_of_its_choices():
    found = [f for f in of_file("asl/serverless-sagemaker-orchestration.yaml") if f.rule == "GPU-WF02"]
    stopped = [f for f in found if "Stopped" in f.message and "no Default" in f.message]
    assert [f.path.rsplit(".", 2)[1] for f in stopped] == ["CheckStatusBranch", "NotifySlackBranch"]
    assert {str(f.severity) for f in stopped} == {"warning"}


def test_the_documented_sample_retries_a_timeout_under_its_constant_name():
    found = {(f.rule, str(f.severity)) for f in of_file("asl/awsdocs-connect-sagemaker-2.json")}
    assert {("GPU-WF01", "error"), ("GPU-WF10", "warning")} <= found


def test_a_retry_over_a_name_that_changes_is_right_and_over_a_name_of_the_execution_is_not():
    def task(name):
        return {
            "Type": "Task",
            "Resource": "arn:aws:states:::sagemaker:createTrainingJob.sync",
            "Parameters": {"TrainingJobName.$": name},
            "Retry": [{"ErrorEquals": ["States.TaskFailed"]}],
        }

    fresh = "States.Format('train-{}-{}', States.UUID(), $$.State.RetryCount)"
    assert "GPU-WF01" not in errors("state", task(fresh))
    assert "GPU-WF01" in errors("state", task("States.Format('train-{}', $$.Execution.Name)"))


def test_a_field_in_wrong_case_is_told_its_spelling():
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sagemaker:createTrainingJob",
        "Parameters": {"ResourceConfig": {"instancePreferences": []}, "Tags": [{"key": "a", "Value": "b"}]},
    }
    found = [f for f in check_request("state", task) if f.rule == "GPU-WF05"]
    assert [f.path for f in found] == ["Parameters.ResourceConfig.instancePreferences", "Parameters.Tags[0].key"]
    assert ["it is spelt 'InstancePreferences'" in found[0].message, "'Key'" in found[1].message] == [True, True]


def test_an_event_rule_with_an_underscore_never_fires():
    pattern = {"source": ["aws.ec2"], "detail_type": ["Capacity Block Reservation Expiration Warning"]}
    assert set(errors("event-pattern", pattern)) == {"GPU-CB03"}


def test_a_job_on_processing_is_told_alone_by_the_rule_that_knows_processing():
    request = {
        "ProcessingResources": {
            "ClusterConfig": {
                "InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}, {"InstanceType": "ml.g6.xlarge"}],
                "InstanceCount": 1,
                "VolumeSizeInGB": 100,
            }
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 7200},
    }
    state = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sagemaker:createProcessingJob.sync",
        "Parameters": request | {"ProcessingJobName.$": "States.UUID()"},
    }
    subjects = [
        Subject(Kind.STATE, state, path="States.Run", carrier=Carrier.STATE),
        Subject(Kind.PROCESSING_JOB, request, path="States.Run.Parameters", carrier=Carrier.STATE),
    ]
    assert [f.rule for f in check(subjects) if f.severity is Severity.ERROR] == ["GPU-PL13"]
    assert [f.rule for f in check(subjects[:1]) if f.severity is Severity.ERROR] == ["GPU-WF05"]
