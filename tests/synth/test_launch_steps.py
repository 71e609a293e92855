"""A launch in steps, with limits and overrides: what is rendered, and what is refused before anything is created."""

from datetime import UTC, datetime, timedelta

import aws_cdk as cdk
import pytest

from constructs_lib import InstancePreference, LaunchStep, PriceBook, PriceCeiling
from constructs_lib.model import InvalidInputError

PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/research"
P5, P4, CPU = (InstancePreference(f"ml.{name}") for name in ("p5.48xlarge", "p4d.24xlarge", "c5.18xlarge"))
RESERVED = InstancePreference("ml.p5.48xlarge", training_plan=PLAN)
PRICES = PriceBook({"ml.p5.48xlarge": "98.32"}, "USD", "2026-11-29", "a list")


@pytest.fixture
def make_steps(make_job):
    """Return a function that makes a job of these steps."""
    return lambda *steps, **props: make_job(preferences=(), steps=steps, **props)


def test_the_same_type_on_a_plan_and_then_on_demand_are_two_steps(make_steps, payload_of):
    job = make_steps(LaunchStep([RESERVED], max_pending=cdk.Duration.minutes(30)), LaunchStep([P5]))
    payload = payload_of(job)
    first, second = payload["request"], payload["then"][0]["request"]
    assert first["ResourceConfig"]["InstancePreferences"][0]["TrainingPlanArns"] == [PLAN]
    assert first["StoppingCondition"]["MaxPendingTimeInSeconds"] == 1800
    assert "TrainingPlanArns" not in second["ResourceConfig"]["InstancePreferences"][0]
    assert second["StoppingCondition"]["MaxPendingTimeInSeconds"] == 7200
    assert job.requests == [job.request, job.requests[1]]
    assert [len(step.preferences) for step in job.steps] == [1, 1]


def test_each_step_has_its_own_backstop(make_steps, definition_of):
    spot = LaunchStep([P5], spot=True, max_wait=cdk.Duration.hours(80))
    states = definition_of(make_steps(LaunchStep([RESERVED], max_pending=1800), spot, LaunchStep([P4])))["States"]
    payload = states["Launch"]["Parameters"]["Payload"]
    assert states["Start"]["Parameters"]["seconds"] == payload["seconds"] == 31_536_000
    assert [step["seconds"] for step in payload["then"]] == [80 * 3600 + 3600, 216_000 + 7200 + 3600]


def test_one_step_alone_is_a_machine_without_choices(make_steps, make_job, definition_of):
    states = definition_of(make_steps(LaunchStep([P5], spot=True, max_wait=cdk.Duration.hours(61))))["States"]
    assert set(states) == set(definition_of(make_job("Plain"))["States"]) == {"Start", "Launch", "Stop"}
    assert "then" not in states["Launch"]["Parameters"]["Payload"]


def test_a_gpu_step_and_then_a_trainium_step_with_an_image_of_its_own(make_steps, payload_of):
    neuron = "111122223333.dkr.ecr.us-east-1.amazonaws.com/train-neuronx:1"
    step = LaunchStep([InstancePreference("ml.trn1.32xlarge")], image=neuron, environment={"DEVICE": "neuron"})
    payload = payload_of(make_steps(LaunchStep([P5]), step, environment={"LOG": "1"}))
    assert payload["then"][0]["request"]["AlgorithmSpecification"]["TrainingImage"] == neuron
    assert payload["then"][0]["request"]["Environment"] == {"LOG": "1", "DEVICE": "neuron"}
    assert payload["request"]["Environment"] == {"LOG": "1"}


def test_the_role_reaches_what_every_step_names(make_steps, synth, of_type, resolved):
    image = "111122223333.dkr.ecr.us-east-1.amazonaws.com/train-neuronx:1"
    neuron = InstancePreference("ml.trn1.32xlarge")
    over = {"CheckpointConfig": {"S3Uri": "s3://two/checkpoints"}}
    step = LaunchStep([neuron], image=image, request_overrides=over)
    for own_role in (False, True):
        job = make_steps(LaunchStep([P5]), step, own_role=own_role, **({"construct_id": "Own"} if own_role else {}))
    roles = of_type(synth(job.node.root), "AWS::IAM::Role")
    for name in ("GpuCapacityExecutionRole22A834F5", "OwnRole"):
        text = str(resolved(roles[name]))
        assert "two/checkpoints" in text
        assert "repository/train-neuronx" in text
        assert "repository/train'" in text


def test_a_wrong_step_is_refused_in_the_rules_words_and_named(make_steps):
    with pytest.raises(InvalidInputError, match=r"Research/FineTune step 2.*GPU-PL02|GPU-PL02.*step 2"):
        make_steps(LaunchStep([P5]), LaunchStep([P4, P4]))


@pytest.mark.parametrize(
    ("props", "words"),
    [
        ({"steps": [LaunchStep([P5])]}, "one list is preferences, several are steps"),
        ({"preferences": (), "steps": [[P5]]}, "each is a LaunchStep"),
        ({"preferences": (), "steps": [LaunchStep([RESERVED])], "training_plan": PLAN}, "name the plan on the step"),
        (
            {"preferences": (), "steps": [LaunchStep([P5]), LaunchStep([P4])], "max_pending": None},
            "step 1 has no max_pending.*step 2 might never be reached",
        ),
    ],
)
def test_steps_that_contradict_the_job_are_refused(make_job, props, words):
    with pytest.raises(InvalidInputError, match=words):
        make_job(**props)


def test_a_step_after_one_on_a_plan_or_on_cpus_can_be_reached_without_a_wait_of_its_own(make_steps):
    assert make_steps(LaunchStep([RESERVED]), LaunchStep([P5]), max_pending=None)
    assert make_steps(LaunchStep([CPU], volume_size_gb=9), LaunchStep([P5]), max_pending=None, construct_id="Cpu")


@pytest.mark.parametrize("start_by", [cdk.Duration.hours(4), timedelta(hours=4), 14_400])
def test_a_step_that_only_begins_after_start_by_is_refused(make_steps, start_by):
    with pytest.raises(InvalidInputError, match=r"step 3 can never be reached: .* 14400 seconds"):
        make_steps(LaunchStep([P5]), LaunchStep([P4]), LaunchStep([RESERVED]), start_by=start_by)


def test_a_spot_steps_wait_is_what_its_runtime_leaves(make_steps):
    spot = LaunchStep([P5], spot=True, max_wait=216_000 + 7200)
    assert make_steps(spot, LaunchStep([P4]), start_by=7201)
    with pytest.raises(InvalidInputError, match="step 2 can never be reached"):
        make_steps(spot, LaunchStep([P4]), start_by=7200, construct_id="Late")


@pytest.mark.parametrize(
    "props",
    [
        {"start_by": 14_401},
        {"start_by": "2027-01-27T00:00Z"},
        {"start_by": 14_400, "drop_without_quota": True},
    ],
    ids=["later", "a moment, with no clock at synth", "a step without quota waits for nothing"],
)
def test_a_step_that_may_be_reached_is_not_refused(make_steps, props):
    assert make_steps(LaunchStep([P5]), LaunchStep([P4]), LaunchStep([RESERVED]), **props)


@pytest.mark.parametrize(
    ("props", "words"),
    [
        ({"start_by": 7200, "finish_by": 3600}, "finish_by 3600 is not after start_by 7200"),
        (
            {"start_by": "2027-01-27T00:00Z", "finish_by": datetime(2027, 1, 26, tzinfo=UTC)},
            "finish_by 2027-01-26T00:00:00Z is not after start_by",
        ),
        ({"finish_by": 0}, "finish_by .* is not after the run began"),
        ({"finish_by": "tomorrow"}, "finish_by 'tomorrow' is no moment"),
        ({"finish_by": "2027-01-27T00:00"}, "has no time zone"),
        ({"max_cost": PriceCeiling("100", "USD")}, "max_cost 100 USD needs prices"),
        ({"max_cost": PriceCeiling("100", "EUR"), "price_book": PRICES}, "in different currencies"),
        (
            {"max_cost": PriceCeiling("100", "USD"), "price_book": PRICES},
            r"max_cost needs a price for ml\.p4d\.24xlarge",
        ),
        ({"run_overrides": ["hyperparameter"]}, "hyperparameter: the names are hyperparameters, environment"),
        ({"run_overrides": "inputs"}, "run_overrides: a list is needed"),
    ],
)
def test_limits_and_overrides_that_contradict_themselves_are_refused(make_job, props, words):
    with pytest.raises(InvalidInputError, match=words):
        make_job(**props)


def test_a_limit_that_only_a_deploy_knows_is_refused_since_the_launcher_compares_it(stack, make_job):
    seconds = cdk.CfnParameter(stack, "Seconds", type="Number").value_as_number
    with pytest.raises(InvalidInputError, match="start_by: a time known at synth is needed"):
        make_job(start_by=cdk.Duration.seconds(seconds))


def test_reserved_entries_need_no_price(make_job):
    entries = [RESERVED, InstancePreference("ml.p4d.24xlarge", training_plan=PLAN)]
    book = PriceBook({}, "USD", "2026-11-29", "a list")
    assert make_job(preferences=entries, max_cost=PriceCeiling("100", "USD"), price_book=book)


def test_relative_limits_alone_ask_for_the_begin_of_the_run(make_job, definition_of):
    relative = definition_of(make_job(start_by=3600))["States"]
    assert relative["Start"]["Parameters"]["began.$"] == "$$.State.EnteredTime"
    assert relative["Stop"]["Parameters"]["began.$"] == "$.began"
    fixed = definition_of(make_job("Fixed", start_by="2027-01-27T00:00Z"))["States"]
    assert "began.$" not in fixed["Start"]["Parameters"]


@pytest.mark.parametrize(
    ("props", "what"),
    [
        ({"preferences": (), "steps": [LaunchStep([P5]), LaunchStep([P4])]}, "steps"),
        ({"finish_by": 3600}, "limits"),
        ({"drop_without_quota": True}, "limits"),
        ({"run_overrides": ["inputs"]}, "run_overrides"),
    ],
)
def test_the_optimized_integration_refuses_what_needs_the_launcher(make_job, props, what):
    with pytest.raises(InvalidInputError, match=f"{what} need the launcher; drop integration='optimized'"):
        make_job(integration="optimized", **props)


def test_the_optimized_integration_takes_one_step_and_reserved_only(make_job):
    assert make_job(integration="optimized", preferences=(), steps=[LaunchStep([P5])])
    assert make_job("Reserved", integration="optimized", preferences=[RESERVED], reserved_only=True)


def test_the_input_of_an_execution_is_handed_on_with_what_it_may_override(make_job, payload_of):
    payload = payload_of(make_job(run_overrides=["inputs"]))
    assert (payload["input.$"], payload["overrides"]) == ("$$.Execution.Input", ["inputs"])
    assert "overrides" not in payload_of(make_job("Plain"))


def test_a_step_in_a_machine_of_ones_own_hands_on_overrides_only_where_it_is_told_to(make_job, stack):
    job = make_job(run_overrides=["inputs"])
    plain = job.as_step("Plain").to_state_json()["Branches"][0]["States"]
    assert "input.$" not in plain["Plain Launch"]["Parameters"]["Payload"]
    told = job.as_step("Told", overrides="$.mine").to_state_json()["Branches"][0]["States"]
    assert told["Told Start"]["Parameters"]["input"] == {"overrides.$": "$.mine"}
    assert told["Told Launch"]["Parameters"]["Payload"]["input.$"] == "$.input"
    assert told["Told Stop"]["Parameters"]["input.$"] == "$.input"
    with pytest.raises(InvalidInputError, match="the job allows none; name it in run_overrides"):
        make_job("None").as_step("Refused", overrides="$.mine")


def test_steps_in_a_machine_of_ones_own_name_all_their_states_after_the_step(make_steps):
    branch = make_steps(LaunchStep([P5]), LaunchStep([P4])).as_step("Train", entry="$.i").to_state_json()["Branches"][0]
    states = branch["States"]
    assert set(states) == {f"Train {name}" for name in ("Start", "Launch", "Stop", "Ended", "NextStep", "Done")}
    assert states["Train NextStep"]["Parameters"]["item.$"] == "$.item"
    assert states["Train Ended"]["Default"] == "Train Done"


def test_a_guardrail_binds_every_step(stack, make_steps):
    from constructs_lib import InstanceTypeGuardrail  # noqa: PLC0415

    InstanceTypeGuardrail(stack, "Approved", allowed=["ml.p5.48xlarge"])
    with pytest.raises(InvalidInputError, match=r"ml\.p4d\.24xlarge, which the guardrail"):
        make_steps(LaunchStep([P5]), LaunchStep([P4]))


def test_the_launcher_looks_at_subnets_only_for_jobs_on_a_plan_in_a_vpc(make_job, synth, of_type):
    vpc = {"subnets": ["subnet-1", "subnet-2", "subnet-3"], "security_groups": ["sg-1"]}

    def role(*jobs):
        roles = of_type(synth(jobs[0].node.root), "AWS::IAM::Role")
        return str(next(role for name, role in roles.items() if "LauncherRole" in name))

    plain = make_job(**vpc)
    assert "ec2:DescribeSubnets" not in role(plain)
    assert "sagemaker:DescribeTrainingPlan" not in role(plain)


def test_the_launcher_looks_at_the_plan_and_the_subnets_of_a_job_that_has_both(make_job, synth, of_type, resolved):
    job = make_job(preferences=[RESERVED], subnets=["subnet-1"], security_groups=["sg-1"])
    roles = of_type(synth(job.node.root), "AWS::IAM::Role")
    text = str(resolved(next(role for name, role in roles.items() if "LauncherRole" in name)))
    assert "ec2:DescribeSubnets" in text
    assert f"'sagemaker:DescribeTrainingPlan'], 'Resource': ['{PLAN}']" in text
