"""The state machines as text: every end is reached, under its own name, in both integrations."""

import fnmatch
import json

import pytest

from constructs_lib.model import RunEnd
from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.workloads.definition import Launch, Then, launcher_states, parallel_step
from constructs_lib.workloads.optimized import optimized_states

# A launch without limits and without a plan has none of these ends.
NEVER = {"StartByPassed", "FinishByPassed", "CostLimitReached", "PlanNotUsable"}
REQUEST = {"AlgorithmSpecification": {"TrainingImage": "x"}, "RoleArn": "arn"}


@pytest.fixture
def launch():
    def make(**more):
        given = {
            "kind": "training",
            "request": REQUEST,
            "prefix": "Research-12345678",
            "seconds": 60,
            "partition": "aws",
        }
        return Launch(**{**given, "launcher": "launcher", **more})

    return make


def look_up(path, data):
    value = data
    for key in path.split(".")[1:]:
        if not isinstance(value, dict) or key not in value:
            raise KeyError(path)
        value = value[key]
    return value


def holds(rule, data):
    if "And" in rule:
        return all(holds(part, data) for part in rule["And"])
    if "Or" in rule:
        return any(holds(part, data) for part in rule["Or"])
    if "IsPresent" in rule:
        try:
            look_up(rule["Variable"], data)
        except KeyError:
            return not rule["IsPresent"]
        return rule["IsPresent"]
    value = look_up(rule["Variable"], data)
    if "StringEquals" in rule:
        return value == rule["StringEquals"]
    pattern = rule["StringMatches"].replace("[", "[[]").replace("?", "[?]")
    return fnmatch.fnmatchcase(value, pattern)


def evaluate(expression, data):
    if expression == "States.StringToJson($.Cause)":
        return json.loads(data["Cause"])
    if expression.startswith("States.Format('{}: {}'"):
        return f"{data['Error']}: {data['Cause']}"
    return look_up(expression, data)


def run(definition, outcome):
    """Walk from the end of Launch to the end of the machine, as Amazon States Language says; return the last state."""
    states = definition["States"]
    task = states[definition["StartAt"]]
    if "Error" in outcome:
        name = next(
            catch["Next"] for catch in task["Catch"] if catch["ErrorEquals"][0] in (outcome["Error"], "States.ALL")
        )
        data = outcome
    else:
        name, data = task["Next"], outcome
    while states[name]["Type"] not in ("Succeed", "Fail"):
        state = states[name]
        if state["Type"] == "Pass":
            fields = state["Parameters"].items()
            data = {k.removesuffix(".$"): evaluate(v, data) if k.endswith(".$") else v for k, v in fields}
            data = look_up(state["OutputPath"], data) if "OutputPath" in state else data
            name = state["Next"]
        else:
            name = next((rule["Next"] for rule in state["Choices"] if holds(rule, data)), state["Default"])
    return states[name].get("Error", name)


def job(status="Failed", secondary=None, reason=None):
    described = {"TrainingJobName": "j", "TrainingJobStatus": status, "SecondaryStatus": secondary or status}
    return described | ({"FailureReason": reason} if reason else {})


def failed(**described):
    return {"Error": "States.TaskFailed", "Cause": json.dumps(job(**described), separators=(",", ":"))}


def refused(code, message="no"):
    cause = f"{message} (Service: AmazonSageMaker; Status Code: 400; Error Code: {code}; Request ID: 1)"
    return {"Error": "SageMaker.AmazonSageMakerException", "Cause": cause}


ENDS = [
    (job("Completed"), "Completed"),
    (job("Stopped"), "Stopped"),
    (failed(status="Stopped"), "Stopped"),
    (job("Stopped", "MaxRuntimeExceeded"), "MaxRuntimeExceeded"),
    (failed(status="Stopped", secondary="MaxRuntimeExceeded", reason="ran too long"), "MaxRuntimeExceeded"),
    (failed(reason="CapacityError: Unable to provision requested ML compute capacity"), "InsufficientCapacity"),
    (failed(reason="AlgorithmError: exit code: 1, not enough capacity in my queue"), "AlgorithmError"),
    (failed(reason="InternalServerError: We encountered an internal error"), "ServiceError"),
    (failed(reason="something new"), "Unknown"),
    (failed(), "Unknown"),
    ({"Error": "SageMaker.ResourceLimitExceededException", "Cause": "limit is 0 Instances"}, "QuotaExceeded"),
    (refused("ValidationException"), "InvalidRequest"),
    (refused("AccessDeniedException"), "PermissionDenied"),
    (refused("ThrottlingException", "Rate exceeded"), "Throttled"),
    (refused("SomethingNew"), "Unknown"),
    ({"Error": "States.Timeout", "Cause": ""}, "TimedOut"),
]


@pytest.mark.parametrize(("outcome", "end"), ENDS, ids=[f"{i}-{end}" for i, (_, end) in enumerate(ENDS)])
def test_an_optimized_launch_ends_under_the_name_of_what_happened(launch, outcome, end):
    assert run(optimized_states(launch()), outcome) == end


OTHER_KINDS = [
    ({"Status": "Completed"}, "Completed"),
    ({"Status": "Stopped"}, "Stopped"),
    ({"Status": "Failed", "FailureReason": "AlgorithmError: exit code 1"}, "AlgorithmError"),
    ({"Status": "Failed", "FailureReason": "CapacityError: no"}, "InsufficientCapacity"),
    ({"Status": "Failed"}, "Unknown"),
]


@pytest.mark.parametrize("raised", [False, True], ids=["answered", "raised"])
@pytest.mark.parametrize(("described", "end"), OTHER_KINDS, ids=[f"{i}" for i in range(len(OTHER_KINDS))])
@pytest.mark.parametrize("kind", ["processing", "tuning"])
def test_a_job_of_another_kind_ends_under_the_name_of_what_happened(launch, kind, described, end, raised):
    noun = JOB_KINDS[kind].noun
    job = {f"{noun}Name": "j", f"{noun}Status": described["Status"]}
    job |= {key: value for key, value in described.items() if key == "FailureReason"}
    outcome = {"Error": "States.TaskFailed", "Cause": json.dumps(job, separators=(",", ":"))} if raised else job
    definition = optimized_states(launch(kind=kind))
    assert definition["States"]["Launch"]["Resource"].endswith(f":states:::sagemaker:create{noun}.sync")
    assert run(definition, outcome) == end


def test_the_name_of_an_optimized_tuning_job_fits_and_differs_from_try_to_try(launch):
    name = optimized_states(launch(kind="tuning", prefix="x" * 20))["States"]["Launch"]["Parameters"]
    assert name["HyperParameterTuningJobName.$"] == (
        f"States.Format('{'x' * 20}-{{}}', States.ArrayGetItem(States.StringSplit(States.UUID(), '-'), 0))"
    )
    letters_of_a_uuids_first_part = 8
    assert 20 + 1 + letters_of_a_uuids_first_part <= 32


def test_every_end_of_an_optimized_launch_is_an_end_of_the_launcher_too_and_each_is_reached():
    assert {end for _, end in ENDS} == {str(end) for end in RunEnd} - {"LauncherFailed", "StackDeleted"} - NEVER


def test_the_name_of_an_optimized_job_changes_per_try_and_fits():
    launch = Launch(kind="training", request={}, prefix="x" * 29, seconds=1, partition="aws")
    name = optimized_states(launch)["States"]["Launch"]["Parameters"]["TrainingJobName.$"]
    for part in ("$$.Execution.Id", "$$.Execution.RedriveCount", "$$.State.RetryCount"):
        assert part in name
    assert name.startswith(f"States.Format('{'x' * 29}-{{}}', States.Hash(")
    assert name.endswith("'MD5'))")
    md5_in_hex = 32
    assert len("x" * 29) + 1 + md5_in_hex <= 63


def test_a_named_end_is_final_and_every_other_failure_is_the_launchers_and_is_tried_again(launch):
    task = launcher_states(launch())["States"]["Launch"]
    final, again = task["Retry"]
    assert set(final["ErrorEquals"]) == {str(end) for end in RunEnd} - {"Completed", "LauncherFailed"} - NEVER
    assert final["MaxAttempts"] == 0
    assert again["ErrorEquals"] == ["States.TaskFailed"]
    assert again["MaxAttempts"] > 0
    assert task["Resource"].endswith("lambda:invoke.waitForTaskToken")


@pytest.mark.parametrize(
    ("more", "ends"),
    [
        ({"limits": {"start_by": 60}}, {"StartByPassed", "FinishByPassed", "CostLimitReached"}),
        ({"overrides": ["finish_by"]}, {"StartByPassed", "FinishByPassed", "CostLimitReached"}),
        ({"request": {"ResourceConfig": {"InstanceType": "t", "TrainingPlanArn": "p"}}}, {"PlanNotUsable"}),
        ({"request": {}}, {"PlanNotUsable"}),
    ],
    ids=["limits", "limits of a run", "a plan", "a request that only an execution knows"],
)
def test_the_ends_that_a_launch_can_have_are_final_too(launch, more, ends):
    final = launcher_states(launch(**more))["States"]["Launch"]["Retry"][0]["ErrorEquals"]
    assert set(final) & NEVER == ends


def test_an_end_is_not_caught_so_that_a_redrive_enters_launch_again(launch):
    task = launcher_states(launch())["States"]["Launch"]
    assert task["End"] is True
    assert [catch["ErrorEquals"] for catch in task["Catch"]] == [["States.Timeout"]]


def test_a_timeout_stops_the_job_through_the_same_state_so_that_its_identity_is_the_same(launch):
    states = launcher_states(launch())["States"]
    (timeout,) = states["Launch"]["Catch"]
    assert timeout["Next"] == "Stop"
    again = {"action": "stop", "since.$": "$$.Execution.RedriveCount", "seconds.$": "$.seconds"}
    assert states["Stop"] == {"Type": "Pass", "Parameters": again, "Next": "Launch"}
    # The state's input stays under the cause: how long the stop may take, and the entry.
    assert timeout["ResultPath"] == "$.cause"
    assert states["Start"]["Parameters"] == {
        "action": "launch",
        "since.$": "$$.Execution.RedriveCount",
        "seconds": 60,
    }


def test_the_payload_is_what_the_launcher_reads(launch):
    payload = launcher_states(launch(reasons=["why", None]))["States"]["Launch"]["Parameters"]["Payload"]
    assert payload == {
        "action.$": "$.action",
        "since.$": "$.since",
        "reason": "TimedOut",
        "job": "Research-12345678",
        "kind": "training",
        "token.$": "$$.Task.Token",
        "execution.$": "$$.Execution.Id",
        "state.$": "$$.State.Name",
        "try.$": "$$.State.RetryCount",
        "entry": {"redrive.$": "$$.Execution.RedriveCount"},
        "input.$": "$$.Execution.Input",
        "reasons": ["why", None],
        "request": REQUEST,
    }


def test_a_step_names_its_states_after_itself_and_keeps_the_time_it_was_entered(launch):
    branch = launcher_states(launch(step="Train", item="$$.Map.Item.Index"))
    assert all(name.startswith("Train ") for name in branch["States"])
    start = branch["States"]["Train Start"]["Parameters"]
    assert (start["entered.$"], start["item.$"]) == ("$$.State.EnteredTime", "$$.Map.Item.Index")
    assert parallel_step(branch) == {"Type": "Parallel", "Branches": [branch], "OutputPath": "$[0]"}


def test_an_optimized_step_takes_the_state_and_its_entry_into_the_name(launch):
    states = optimized_states(launch(step="Train", item="$$.Map.Item.Index"))["States"]
    name = states["Train Launch"]["Parameters"]["TrainingJobName.$"]
    assert all(part in name for part in ("$$.State.Name", "$$.State.EnteredTime", "$$.Map.Item.Index"))


THEN = Then(request={"RoleArn": "two"}, seconds=7, reasons=["cheaper"], max_pending=30)


def test_several_steps_go_from_one_to_the_next_or_to_the_end_with_the_record(launch):
    states = launcher_states(launch(then=[THEN, Then(request={"RoleArn": "three"}, seconds=8)]))["States"]
    assert (states["Launch"]["ResultPath"], states["Launch"]["Next"]) == ("$.run", "Ended")
    assert "End" not in states["Launch"]
    goes_on = {"Variable": "$.run.next", "IsPresent": True, "Next": "NextStep"}
    assert states["Ended"] == {"Type": "Choice", "Choices": [goes_on], "Default": "Done"}
    assert states["Done"] == {"Type": "Pass", "OutputPath": "$.run", "End": True}
    assert states["NextStep"] == {
        "Type": "Pass",
        "Parameters": {
            "action": "launch",
            "since.$": "$$.Execution.RedriveCount",
            "seconds.$": "$.run.seconds",
            "step.$": "$.run.next",
            "earlier.$": "$.run.earlier",
        },
        "Next": "Launch",
    }


def test_the_payload_of_several_steps_has_all_their_requests_and_which_one_it_is(launch):
    states = launcher_states(launch(then=[THEN]))["States"]
    payload = states["Launch"]["Parameters"]["Payload"]
    assert payload["then"] == [{"seconds": 7, "reasons": ["cheaper"], "max_pending": 30, "request": {"RoleArn": "two"}}]
    assert (payload["step.$"], payload["earlier.$"], payload["seconds"]) == ("$.step", "$.earlier", 60)
    start = states["Start"]["Parameters"]
    assert (start["step"], start["earlier"]) == (1, [])


@pytest.mark.parametrize("more", [{}, {"step": "Train", "item": "$.i", "overrides_path": "$.o"}], ids=["own", "step"])
def test_what_launch_reads_is_there_however_it_is_entered(launch, more):
    made = launch(then=[THEN], relative=True, limits={"start_by": 60}, **more)
    states = launcher_states(made)["States"]
    task = states[made.name("Launch")]
    payload = task["Parameters"]["Payload"]
    texts = [*payload.values(), *payload["entry"].values(), task["TimeoutSecondsPath"]]
    reads = {path for path in texts if isinstance(path, str) and path.startswith("$.")}
    for entered_from in ("Start", "Stop", "NextStep"):
        given = {f"$.{key.removesuffix('.$')}" for key in states[made.name(entered_from)]["Parameters"]}
        assert reads <= given, entered_from


def test_limits_and_overrides_are_in_the_payload_only_where_they_are_declared(launch):
    plain = launcher_states(launch())["States"]["Launch"]["Parameters"]["Payload"]
    assert plain.keys().isdisjoint({"limits", "overrides", "began.$", "max_pending", "then", "step.$", "seconds"})
    told = launcher_states(launch(limits={"on_quota": "drop"}, overrides=["inputs"], max_pending=60))["States"]
    payload = told["Launch"]["Parameters"]["Payload"]
    assert (payload["limits"], payload["overrides"], payload["max_pending"]) == ({"on_quota": "drop"}, ["inputs"], 60)
