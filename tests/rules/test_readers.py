"""Readers: from what people have (templates, machines, pipelines, policies, requests) to subjects."""

import json

import pytest

from constructs_lib.rules import check
from constructs_lib.rules.readers.document import read_document
from constructs_lib.rules.readers.files import Input, Library, expand, read_inputs
from constructs_lib.rules.readers.template import read_template
from constructs_lib.rules.subjects import Carrier, Kind

TASK = {
    "Type": "Task",
    "Resource": "arn:aws:states:::sagemaker:createTrainingJob.sync",
    "Parameters": {"TrainingJobName.$": "$.name", "ResourceConfig": {"InstanceType": "ml.g5.xlarge"}},
    "End": True,
}
MACHINE = {"StartAt": "Train", "States": {"Train": TASK}}


def template(resources, **sections):
    return read_template(read_document(json.dumps({"Resources": resources, **sections}).encode(), "t.json"))


def of(reading, kind):
    return [subject for subject in reading.subjects if subject.kind is kind]


def test_a_resource_becomes_a_subject_with_its_place():
    properties = {"ProductionVariants": [{"InstanceType": "ml.g5.xlarge"}]}
    [subject] = of(
        template({"C": {"Type": "AWS::SageMaker::EndpointConfig", "Properties": properties}}), Kind.ENDPOINT_CONFIG
    )
    assert (subject.data, subject.path, subject.resource) == (properties, "Resources.C.Properties", "C")
    assert subject.carrier is Carrier.TEMPLATE


def test_a_resource_whose_condition_is_false_by_default_is_left_out():
    config = {"Type": "AWS::SageMaker::EndpointConfig", "Condition": "Off", "Properties": {}}
    assert not template({"C": config}, Conditions={"Off": {"Fn::Equals": ["a", "b"]}}).subjects


def test_metadata_with_a_reason_acknowledges_and_without_one_does_not():
    said = {"ignore": ["GPU-PL12"], "reason": "one image for both"}
    config = {"Type": "AWS::SageMaker::EndpointConfig", "Properties": {}, "Metadata": {"gpucap": said}}
    assert of(template({"C": config}), Kind.ENDPOINT_CONFIG)[0].ignore == {"GPU-PL12"}
    config["Metadata"] = {"gpucap": said | {"reason": " "}}
    assert of(template({"C": config}), Kind.ENDPOINT_CONFIG)[0].ignore == frozenset()


@pytest.mark.parametrize(
    "properties",
    [
        {"DefinitionString": json.dumps(MACHINE)},
        {"Definition": MACHINE},
        {"DefinitionString": {"Fn::Join": ["", [json.dumps(MACHINE)[:40], json.dumps(MACHINE)[40:]]]}},
        {"DefinitionString": {"Fn::Sub": json.dumps(MACHINE).replace("arn:aws:", "arn:${AWS::Partition}:")}},
        {
            "DefinitionString": json.dumps(MACHINE).replace("ml.g5.xlarge", "${kind}"),
            "DefinitionSubstitutions": {"kind": "ml.g5.xlarge"},
        },
    ],
)
@pytest.mark.parametrize("kind", ["AWS::StepFunctions::StateMachine", "AWS::Serverless::StateMachine"])
def test_every_way_to_write_a_machine_gives_its_request(kind, properties):
    [request] = of(template({"M": {"Type": kind, "Properties": properties}}), Kind.TRAINING_JOB)
    assert request.data == {
        "TrainingJobName": {"Fn::RunTime": "$.name"},
        "ResourceConfig": {"InstanceType": "ml.g5.xlarge"},
    }
    assert request.carrier is Carrier.STATE
    assert request.path.endswith("States.Train.Parameters")


def test_states_in_maps_and_branches_are_found_at_any_depth():
    inner = {"StartAt": "Each", "States": {"Each": {"Type": "Map", "ItemProcessor": MACHINE, "End": True}}}
    outer = {"StartAt": "Both", "States": {"Both": {"Type": "Parallel", "Branches": [inner, MACHINE], "End": True}}}
    reading = template({"M": {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"Definition": outer}}})
    assert sorted(s.about["Name"] for s in of(reading, Kind.STATE)) == ["Both", "Each", "Train", "Train"]
    assert len(of(reading, Kind.TRAINING_JOB)) == 2


def test_jsonata_arguments_are_marked_as_run_time_values():
    task = {
        "Type": "Task",
        "Resource": TASK["Resource"],
        "Arguments": {"RoleArn": "{% $role %}", "Tags": []},
        "End": True,
    }
    machine = {"QueryLanguage": "JSONata", "StartAt": "T", "States": {"T": task}}
    reading = template({"M": {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"Definition": machine}}})
    assert of(reading, Kind.TRAINING_JOB)[0].data == {"RoleArn": {"Fn::RunTime": "{% $role %}"}, "Tags": []}
    assert of(reading, Kind.STATE)[0].about["QueryLanguage"] == "JSONata"


def test_the_request_that_our_launcher_is_given_is_read():
    payload = {"action.$": "$.action", "kind": "training", "request": {"RoleArn": "r"}}
    task = TASK | {"Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "Parameters": {"Payload": payload}}
    machine = {"StartAt": "Launch", "States": {"Launch": task}}
    reading = template({"M": {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"Definition": machine}}})
    assert of(reading, Kind.TRAINING_JOB)[0].data == {"RoleArn": "r"}


def test_the_requests_of_later_steps_are_read_and_found_where_they_stand():
    steps = [{"seconds": 60, "request": {"RoleArn": "two"}}, {"seconds": 60, "request": {"RoleArn": "three"}}]
    payload = {"action.$": "$.action", "kind": "training", "request": {"RoleArn": "one"}, "then": steps}
    task = TASK | {"Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "Parameters": {"Payload": payload}}
    machine = {"StartAt": "Launch", "States": {"Launch": task}}
    reading = template({"M": {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"Definition": machine}}})
    found = of(reading, Kind.TRAINING_JOB)
    assert [subject.data["RoleArn"] for subject in found] == ["one", "two", "three"]
    assert found[2].path.endswith("Parameters.Payload.then[1].request")
    assert {subject.about["Steps"] for subject in found} == {3}


def test_a_list_of_one_has_something_to_fall_back_to_in_a_launch_of_several_steps():
    request = {"ResourceConfig": {"InstancePreferences": [{"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1}]}}
    for later, warned in (([], 1), ([{"seconds": 60, "request": request}], 0)):
        payload = {"action.$": "$.action", "kind": "training", "request": request, "then": later}
        task = TASK | {"Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken"}
        machine = {"StartAt": "Launch", "States": {"Launch": task | {"Parameters": {"Payload": payload}}}}
        reading = template({"M": {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"Definition": machine}}})
        assert [finding.rule for finding in check(reading.subjects)].count("GPU-PL01") == warned


def test_a_definition_that_is_no_json_is_unreadable_with_its_line():
    machine = {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"DefinitionString": '{"StartAt": '}}
    [unreadable] = template({"M": machine}).unreadable
    assert "DefinitionString is not JSON" in unreadable.reason
    assert unreadable.line == 1


def test_pipeline_steps_are_requests_and_references_are_run_time_values():
    arguments = {"ResourceConfig": {"InstanceType": {"Get": "Parameters.Type"}}}
    training = {"Name": "T", "Type": "Training", "Arguments": arguments}
    condition = {"Name": "C", "Type": "Condition", "Arguments": {"IfSteps": [training], "ElseSteps": []}}
    body = json.dumps({"Version": "2020-12-01", "Steps": [condition]})
    pipeline = {
        "Type": "AWS::SageMaker::Pipeline",
        "Properties": {"PipelineDefinition": {"PipelineDefinitionBody": body}},
    }
    [subject] = template({"P": pipeline}).subjects
    assert subject.data == {"ResourceConfig": {"InstanceType": {"Fn::RunTime": '"Parameters.Type"'}}}
    assert subject.carrier is Carrier.PIPELINE


def test_a_launch_template_knows_who_launches_from_it():
    reading = template(
        {
            "T": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"ImageId": "ami-1"}}},
            "G": {
                "Type": "AWS::EKS::Nodegroup",
                "Properties": {"LaunchTemplate": {"Id": {"Ref": "T"}}, "CapacityType": "CAPACITY_BLOCK"},
            },
        }
    )
    [subject] = of(reading, Kind.LAUNCH_TEMPLATE)
    assert [user["Type"] for user in subject.about["Users"]] == ["AWS::EKS::Nodegroup"]


def test_purchase_calls_are_found_in_custom_resources_schedules_and_builds():
    call = {"service": "SageMaker", "action": "createTrainingPlan", "parameters": {"TrainingPlanName": "x"}}
    target = {"Arn": "arn:aws:scheduler:::aws-sdk:sagemaker:createTrainingPlan", "Input": "{}"}
    spec = 'phases: {build: {commands: ["aws sagemaker create-training-plan --training-plan-name x"]}}'
    reading = template(
        {
            "A": {"Type": "Custom::AWS", "Properties": {"Create": json.dumps(call), "InstallLatestAwsSdk": "false"}},
            "B": {"Type": "AWS::Scheduler::Schedule", "Properties": {"Target": target}},
            "C": {"Type": "AWS::CodeBuild::Project", "Properties": {"Source": {"BuildSpec": spec}}},
        }
    )
    calls = {s.about["Via"]: (s.data["Service"], s.data["Action"]) for s in of(reading, Kind.SDK_CALL)}
    assert calls == {
        "AwsCustomResource": ("SageMaker", "createTrainingPlan"),
        "schedule": ("sagemaker", "createTrainingPlan"),
        "command": ("sagemaker", "createTrainingPlan"),
    }


def test_a_role_has_all_that_the_template_attaches_and_the_calls_that_run_with_it():
    def policy(action):
        return {"Statement": [{"Effect": "Allow", "Action": action, "Resource": "*"}]}

    inline = [{"PolicyName": "p", "PolicyDocument": policy("a:B")}]
    machine = {"Definition": MACHINE, "RoleArn": {"Fn::GetAtt": ["R", "Arn"]}}
    reading = template(
        {
            "R": {"Type": "AWS::IAM::Role", "Properties": {"Policies": inline}},
            "P": {"Type": "AWS::IAM::Policy", "Properties": {"Roles": [{"Ref": "R"}], "PolicyDocument": policy("c:D")}},
            "M": {"Type": "AWS::StepFunctions::StateMachine", "Properties": machine},
        }
    )
    [role] = of(reading, Kind.ROLE)
    assert [s["Action"] for s in role.data["Statements"]] == ["a:B", "c:D"]
    assert role.data["Complete"] is True
    assert [call["Action"] for call in role.about["Calls"]] == ["CreateTrainingJob"]
    assert [s.about["Type"] for s in of(reading, Kind.IAM_DOCUMENT)] == ["role-inline", "role-inline"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"TrainingJobName": "x", "ResourceConfig": {}}, Kind.TRAINING_JOB),
        ({"ProcessingJobName": "x", "ProcessingResources": {}}, Kind.PROCESSING_JOB),
        ({"HyperParameterTuningJobName": "x"}, Kind.TUNING_JOB),
        ({"EndpointConfigName": "x", "ProductionVariants": []}, Kind.ENDPOINT_CONFIG),
        ({"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}, Kind.IAM_DOCUMENT),
        ({"source": ["aws.ec2"], "detail-type": ["x"]}, Kind.EVENT_PATTERN),
        (MACHINE, Kind.STATE_MACHINE),
        ({"Train": TASK}, Kind.STATE),
    ],
)
def test_bare_files_are_recognised(data, kind):
    library = Library()
    library.add(json.dumps(data).encode(), Input("x.json"))
    assert library.reading.subjects[0].kind is kind
    assert library.checked == 1


def test_a_named_file_of_no_known_kind_is_unreadable_and_one_in_a_folder_is_skipped(tmp_path):
    (tmp_path / "package.json").write_text('{"name": "x"}')
    named = read_inputs(expand([str(tmp_path / "package.json")]).files)
    assert "no known kind" in named.reading.unreadable[0].reason
    walked = read_inputs(expand([str(tmp_path)]).files)
    assert (walked.reading.unreadable, len(walked.skipped)) == ([], 1)


def test_folders_globs_and_missing_paths(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "m.asl.json").write_text(json.dumps(MACHINE))
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.json").write_text("{}")
    assert [i.path.name for i in expand([str(tmp_path)]).files] == ["m.asl.json"]
    assert [i.path.name for i in expand([str(tmp_path / "**" / "*.asl.json")]).files] == ["m.asl.json"]
    assert "no such file" in expand([str(tmp_path / "nothing.json")]).unreadable[0].reason
    (tmp_path / "empty").mkdir()
    assert "without JSON or YAML" in expand([str(tmp_path / "empty")]).unreadable[0].reason


def test_a_reserved_endpoint_is_its_declaration_and_its_configurations():
    properties = {
        "EndpointConfig": {"ProductionVariants": [{"ModelName": {"Fn::GetAtt": ["Model", "ModelName"]}}]},
        "OnExpiry": {"Action": "to_on_demand", "EndpointConfig": {"ProductionVariants": []}},
    }
    kind = "Custom::SageMakerReservedEndpoint"
    reading = template(
        {
            "Chat": {"Type": kind, "Properties": properties},
            "Model": {"Type": "AWS::SageMaker::Model", "UpdateReplacePolicy": "Retain"},
            "Other": {"Type": "AWS::SageMaker::Model"},
        }
    )
    [declared] = of(reading, Kind.RESERVED_ENDPOINT)
    assert declared.data == properties
    assert declared.about == {"Models": [{"Name": "Model", "UpdateReplacePolicy": "Retain"}]}
    configs = of(reading, Kind.ENDPOINT_CONFIG)
    assert [config.path for config in configs] == [
        "Resources.Chat.Properties.EndpointConfig",
        "Resources.Chat.Properties.OnExpiry.EndpointConfig",
    ]
    assert all(config.about == {"Reconciled": True} for config in configs)
    assert {config.carrier for config in configs} == {Carrier.TEMPLATE}
