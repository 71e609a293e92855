"""A fleet as it is synthesized: no resource and no kernel request a job, one file, and words for what is wrong."""

import json
from datetime import timedelta
from pathlib import Path

import aws_cdk as cdk
import pytest

from constructs_lib import (
    CapacityKit,
    InstancePreference,
    InstanceTypeGuardrail,
    JobFleet,
    TrainingJobSpec,
)
from constructs_lib.model import InvalidInputError
from constructs_lib.model.fleets import FleetItem

IMAGE = "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1"
LIMITS = {"ml.p5.48xlarge": 4, "ml.p4d.24xlarge": 8}


def spec(name, **given):
    fields = {
        "image": IMAGE,
        "output": "s3://bucket/models",
        "preferences": [
            InstancePreference("ml.p5.48xlarge", instance_count=1),
            InstancePreference("ml.p4d.24xlarge", instance_count=2),
        ],
        "max_runtime": timedelta(hours=3),
        "max_pending": timedelta(hours=2),
        "inputs": {"train": "s3://bucket/train"},
    }
    return TrainingJobSpec(name=name, **fields | given)


def twice(name="bad"):
    return spec(name, preferences=[InstancePreference("ml.p5.48xlarge", instance_count=1)] * 2)


@pytest.fixture
def fleet(stack):
    def make(jobs, construct_id="Sweep", **given):
        given = {"max_concurrency_per_type": LIMITS, **given}
        return JobFleet(stack, construct_id, jobs=jobs, **given)

    return make


@pytest.fixture
def file_of(app):
    """Return a function that gives the items of an app's one file of jobs."""

    def items():
        app.synth()
        (path,) = Path(app.outdir).glob("asset.*.json")
        return json.loads(path.read_text())

    return items


def test_a_job_of_a_fleet_costs_no_kernel_request(stack, fleet, kernel_requests):
    fleet([spec("first")], "First")
    asked = []
    for count in (1, 300):
        before = kernel_requests()
        fleet([spec(f"lr-{i}") for i in range(count)], f"Sweep{count}")
        asked.append(kernel_requests() - before)
    assert asked[0] == asked[1]


def test_a_job_of_a_fleet_is_no_resource(fleet, synth, app):
    fleet([spec(f"lr-{i}") for i in range(300)])
    kinds = [resource["Type"] for resource in synth(app)["Resources"].values()]
    assert len(kinds) == 15
    assert kinds.count("AWS::StepFunctions::StateMachine") == 1


def test_the_file_holds_every_job_as_a_request_that_the_rules_passed(fleet, file_of):
    fleet([spec(f"lr-{i}", hyperparameters={"lr": str(i)}) for i in range(3)])
    items = file_of()
    assert [item["name"] for item in items] == ["lr-0", "lr-1", "lr-2"]
    assert [item["request"]["HyperParameters"]["lr"] for item in items] == ["0", "1", "2"]
    assert [item["seconds"] for item in items] == [5 * 3600 + 3600] * 3


def test_tokens_of_the_jobs_stand_in_the_definition_and_come_back_at_run_time(stack, fleet, file_of, definition_of):
    parameter = cdk.CfnParameter(stack, "Tag")
    image = f"111122223333.dkr.ecr.us-east-1.amazonaws.com/x:{parameter.value_as_string}"
    jobs = [spec(f"lr-{i}", image=image, tags={"who": parameter.value_as_string}) for i in range(2)]
    machine = fleet(jobs)
    payload = _launch(definition_of(machine))["Parameters"]["Payload"]
    items = file_of()
    assert "Token" not in json.dumps(items)
    values = payload["fleet"]["values"]
    request = FleetItem.of(items[1], values).request
    assert request["AlgorithmSpecification"]["TrainingImage"].endswith("/x:Tag")
    assert request["Tags"] == [{"Key": "who", "Value": "Tag"}]
    assert request["RoleArn"].startswith("arn:aws:iam::111122223333:role/GpuCapacityExecutionRole")
    assert len(values) == 2


def _launch(definition):
    return definition["States"]["Jobs"]["ItemProcessor"]["States"]["Launch"]


def test_a_number_token_is_a_number_in_the_template(stack, fleet, synth, app):
    count = cdk.CfnParameter(stack, "Count", type="Number", default=3)
    fleet([spec("a", preferences=[InstancePreference("ml.p5.48xlarge", instance_count=count.value_as_number)])])
    template = synth(app)
    (machine,) = [r for r in template["Resources"].values() if r["Type"] == "AWS::StepFunctions::StateMachine"]
    parts = machine["Properties"]["DefinitionString"]["Fn::Join"][1]
    before = parts[parts.index({"Ref": "Count"}) - 1]
    assert before.endswith(":"), "the value stands outside quotes"


def test_an_item_waits_for_its_slot_for_as_long_as_it_takes_and_a_named_end_is_never_repeated(fleet, definition_of):
    retry = _launch(definition_of(fleet([spec("a")])))["Retry"]
    assert (retry[0]["ErrorEquals"], retry[0]["JitterStrategy"]) == (["WaitingForSlot"], "FULL")
    assert retry[0]["MaxAttempts"] == 99_999_999
    assert "AlgorithmError" in retry[1]["ErrorEquals"]
    assert retry[1]["MaxAttempts"] == 0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 12),
        ({"max_concurrency": 3}, 3),
        ({"max_concurrency_per_type": {"ml.g5.xlarge": 2}}, 1000),
        ({"max_concurrency_per_type": {}}, 1000),
    ],
)
def test_no_more_items_are_under_way_than_could_have_a_slot(fleet, definition_of, given, expected):
    assert definition_of(fleet([spec("a")], **given))["States"]["Jobs"]["MaxConcurrency"] == expected


def test_failures_stop_nothing_unless_it_is_asked_for(fleet, definition_of):
    jobs = definition_of(fleet([spec("a")], "One", tolerated_failures=3))["States"]["Jobs"]
    assert (jobs["ToleratedFailurePercentage"], "ToleratedFailureCount" in jobs) == (100, False)
    jobs = definition_of(fleet([spec("a")], "Two", stop_after_failures=0))["States"]["Jobs"]
    assert (jobs["ToleratedFailureCount"], "ToleratedFailurePercentage" in jobs) == (0, False)


class TestInvalid:
    def test_a_job_that_breaks_a_rule_is_named_with_its_place_its_name_and_the_rule(self, fleet):
        jobs = [spec(f"lr-{i}") for i in range(1999)]
        jobs.insert(1234, twice())
        with pytest.raises(InvalidInputError, match=r"1 of 2000 .*\n- jobs\[1234\] \(bad\): .*GPU-PL02"):
            fleet(jobs)

    def test_a_bad_line_of_a_file_is_named_with_its_number(self, fleet, tmp_path):
        lines = [json.dumps(_line(f"lr-{i}")) for i in range(2000)]
        lines[1233] = json.dumps(_line("bad") | {"hyperparameters": {"lr": 1}})
        file = tmp_path / "sweep.jsonl"
        file.write_text("\n".join(lines))
        with pytest.raises(InvalidInputError, match=r"sweep.jsonl line 1234 \(bad\): hyperparameters.lr: SageMaker"):
            fleet(None, jobs_file=file)

    def test_the_others_run_when_it_is_asked_for_and_the_bad_one_is_in_the_file(self, app, fleet, file_of):
        made = fleet([spec("a"), twice(), spec("b")], on_invalid="run_others")
        assert len(made.invalid) == 1
        assert "GPU-PL02" in made.invalid[0]
        items = file_of()
        assert [item["name"] for item in items] == ["a", "invalid:jobs[1]", "b"]
        assert "GPU-PL02" in items[1]["refused"]
        assert "request" not in items[1]

    def test_many_bad_ones_are_counted_and_the_first_are_shown(self, fleet):
        with pytest.raises(InvalidInputError, match="30 of 30") as caught:
            fleet([twice(f"bad-{i}") for i in range(30)])
        assert str(caught.value).count("\n- ") == 20
        assert "... and 10 more" in str(caught.value)

    def test_a_name_of_two_jobs_is_refused(self, fleet):
        with pytest.raises(InvalidInputError, match=r"jobs\[2\] \(a\): name: 'a' is the name of jobs\[0\] too"):
            fleet([spec("a"), spec("b"), spec("a")])

    def test_a_type_that_a_guardrail_does_not_approve_is_refused_with_the_jobs_name(self, stack, fleet):
        InstanceTypeGuardrail(stack, "Approved", allowed=["ml.p5.48xlarge"])
        with pytest.raises(InvalidInputError, match=r"Research/Sweep/a asks for ml.p4d.24xlarge, which the guardrail"):
            fleet([spec("a")])

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"max_concurrency_per_type": {"ml.p5.48xlarge": 0}}, "a whole number of at least 1 is needed"),
            ({"max_concurrency_per_type": {"p5.48xlarge": 1}}, "a SageMaker type such as"),
            ({"max_concurrency_per_type": {"ml.p5.48xlarge": 6000}}, "6,000 jobs at once were given, 5,000 are"),
            ({"tolerated_failures": -1}, "tolerated_failures: -1 was given"),
            ({"stop_after_failures": True}, "stop_after_failures: True was given"),
            ({"on_invalid": "ignore"}, "'refuse' and 'run_others' are allowed"),
            ({"jobs_file": "x"}, "give jobs or jobs_file, both were given"),
        ],
    )
    def test_a_prop_that_is_out_of_bounds_is_refused(self, fleet, given, words):
        with pytest.raises(InvalidInputError, match=words):
            fleet([spec("a")], **given)

    def test_a_fleet_has_jobs(self, fleet):
        with pytest.raises(InvalidInputError, match="at least one job"):
            fleet([])
        with pytest.raises(InvalidInputError, match=r"jobs\[0\]: a TrainingJobSpec is needed, a dict was given"):
            fleet([{}])


class TestSizes:
    def test_a_job_larger_than_a_states_input_is_refused(self, fleet):
        environment = {f"K{i}": "x" * 500 for i in range(600)}
        with pytest.raises(InvalidInputError, match=r"the job needs about 3\d\d,\d{3} bytes .* takes 262,144"):
            fleet([spec("a", environment=environment)])

    def test_a_file_over_its_limit_is_refused(self, fleet, monkeypatch):
        monkeypatch.setattr("constructs_lib.workloads.job_fleet_items._FILE_BYTES", 10_000)
        with pytest.raises(InvalidInputError, match=r"the fleet's file has [\d,]+ bytes, 10,000 are allowed"):
            fleet([spec(f"lr-{i}") for i in range(20)])

    def test_more_jobs_than_a_map_may_leave_are_refused(self, fleet, monkeypatch):
        monkeypatch.setattr("constructs_lib.workloads.job_fleet_items._ITEMS", 2)
        with pytest.raises(InvalidInputError, match="3 were given, 2 are allowed: what a Map leaves"):
            fleet([spec(f"lr-{i}") for i in range(3)])

    def test_a_definition_over_its_limit_is_refused(self, fleet, monkeypatch):
        monkeypatch.setattr("constructs_lib.workloads.job_fleet.DEFINITION_BYTES", 1000)
        with pytest.raises(InvalidInputError, match="the machine's definition has"):
            fleet([spec("a")])

    def test_two_thousand_jobs_stay_far_below_every_limit(self, fleet, synth, app, definition_of, tmp_path):
        machine = fleet([spec(f"lr-{i}", hyperparameters={"lr": str(i)}) for i in range(2000)])
        definition = definition_of(machine)
        template = synth(app)
        assert len(template["Resources"]) < 40
        assert len(json.dumps(definition)) < 1_048_576 / 100
        (path,) = Path(app.outdir).glob("asset.*.json")
        longest = max(len(line) for line in path.read_text().splitlines())
        assert longest + len(json.dumps(_launch(definition))) < 262_144 / 10


def _line(name):
    return {
        "name": name,
        "image": IMAGE,
        "output": "s3://bucket/models",
        "preferences": [{"instance_type": "ml.p5.48xlarge", "instance_count": 1}],
        "max_runtime": 3600,
        "max_pending": 3600,
    }


def test_a_file_and_a_list_of_the_same_jobs_give_the_same_fleet(tmp_path):
    file = tmp_path / "sweep.jsonl"
    file.write_text("\n".join(json.dumps(_line(f"lr-{i}")) for i in range(3)))
    entries = [InstancePreference("ml.p5.48xlarge", instance_count=1)]
    jobs = [spec(f"lr-{i}", preferences=entries, max_runtime=3600, max_pending=3600, inputs={}) for i in range(3)]
    templates = []
    for number, given in enumerate([{"jobs": jobs}, {"jobs_file": file}]):
        app = cdk.App(outdir=str(tmp_path / str(number)))
        JobFleet(cdk.Stack(app, "Research"), "Sweep", max_concurrency_per_type=LIMITS, **given)
        templates.append(app.synth().get_stack_by_name("Research").template)
    assert templates[0] == templates[1]


def test_the_machines_role_may_run_its_own_map_and_read_its_own_file(fleet, synth, app, resolved):
    made = fleet([spec("a")])
    template = resolved(synth(app))
    (role,) = [r for name, r in template["Resources"].items() if "MachineRole" in name]
    statements = role["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
    by_action = {action: s["Resource"] for s in statements for action in s["Action"]}
    name = made.job_name_prefix
    assert by_action["states:StartExecution"] == [f"arn:aws:states:us-east-1:111122223333:stateMachine:{name}"]
    assert f"arn:aws:states:us-east-1:111122223333:execution:{name}/Jobs:*" in by_action["states:StopExecution"]
    assert by_action["s3:GetObject"][0].startswith("arn:aws:s3:::")
    assert by_action["s3:GetObject"][0].endswith(".json")


def test_shared_data_keeps_the_execution_roles_policy_small(stack, fleet, synth, app, resolved):
    fleet([spec(f"lr-{i}", output=f"s3://bucket/sweep/lr-{i}") for i in range(500)], shared_data=["s3://bucket/sweep"])
    template = resolved(synth(app))
    (role,) = [r for name, r in template["Resources"].items() if "ExecutionRole" in name]
    assert len(json.dumps(role["Properties"]["Policies"])) < 4000


def test_a_role_of_the_users_is_used_as_it_is(stack, fleet, synth, app):
    fleet([spec("a")], role="arn:aws:iam::111122223333:role/mine")
    assert not [name for name in synth(app)["Resources"] if "ExecutionRole" in name]


def test_whoever_may_start_the_fleet_may_start_its_machine(stack, fleet, synth, app, resolved):
    made = fleet([spec("a")])
    role = cdk.aws_iam.Role(stack, "Starter", assumed_by=cdk.aws_iam.AccountRootPrincipal())
    made.grants.start(role)
    (policy,) = [r for name, r in synth(app)["Resources"].items() if name.startswith("StarterDefaultPolicy")]
    assert "states:StartExecution" in json.dumps(policy)


def test_a_fleet_is_clean_under_cdk_nag(app, fleet, nag):
    fleet([spec("a")])
    assert nag(app) == set()


def test_a_kit_is_shared_with_other_jobs(stack, fleet):
    kit = CapacityKit.of(stack)
    assert fleet([spec("a")]).kit is kit
