"""State machines and executions as the API shows them, and the events they send."""

from __future__ import annotations

import dataclasses
import json
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.backends import get_backend
from moto.stepfunctions.models import StateMachine

from constructs_lib.sandbox import Clock, Sandbox, states

pytestmark = pytest.mark.slow

PASS = {"P": {"Type": "Pass", "End": True}}
WAIT = {"W": {"Type": "Wait", "Seconds": 900, "Next": "P"}, **PASS}


def _code(call: Any, **request: Any) -> str:
    with pytest.raises(ClientError) as refused:
        call(**request)
    return str(refused.value.response["Error"]["Code"])


class TestExecutions:
    def test_unnamed_ones_get_a_name_of_their_own(self, machine: Any, start: Any, end: Any) -> None:
        arn = machine(PASS)
        names = {end(start(arn))["name"] for _ in range(3)}
        assert len(names) == 3
        assert all(uuid.UUID(name) for name in names)

    def test_a_name_is_used_once_but_the_same_request_while_it_runs_is_no_second(self, sfn: Any, machine: Any) -> None:
        request = {"stateMachineArn": machine(WAIT), "name": "once", "input": "{}"}
        first = sfn.start_execution(**request)
        assert sfn.start_execution(**request)["executionArn"] == first["executionArn"]
        assert _code(sfn.start_execution, **request | {"input": "[]"}) == "ExecutionAlreadyExists"
        sfn.stop_execution(executionArn=first["executionArn"])
        assert _code(sfn.start_execution, **request) == "ExecutionAlreadyExists"

    def test_an_input_that_is_no_json_is_refused(self, sfn: Any, machine: Any) -> None:
        assert _code(sfn.start_execution, stateMachineArn=machine(PASS), input="{") == "InvalidExecutionInput"

    def test_an_output_that_is_a_string_is_json_too(self, sfn: Any, run: Any) -> None:
        arn = run({"P": {"Type": "Pass", "Result": "text", "End": True}})["executionArn"]
        assert sfn.describe_execution(executionArn=arn)["output"] == '"text"'

    def test_they_are_listed_by_status(self, sandbox: Sandbox, sfn: Any, machine: Any, start: Any, end: Any) -> None:
        arn = machine(WAIT, TimeoutSeconds=60)
        late = end(start(arn))["executionArn"]
        # At the wall's speed, so that the second execution's time is not up before it is looked at.
        with sandbox.clock.held():
            running = start(arn)
            (found,) = sfn.list_executions(stateMachineArn=arn, statusFilter="TIMED_OUT")["executions"]
            assert (found["executionArn"], "stopDate" in found) == (late, True)
            (found,) = sfn.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"]
            assert (found["executionArn"], "stopDate" in found) == (running, False)

    def test_their_history_comes_in_pages_in_either_order(self, sfn: Any, run: Any, events_of: Any) -> None:
        arn = run({"A": {"Type": "Pass", "Next": "P"}, **PASS})["executionArn"]
        whole = events_of(arn)
        first = sfn.get_execution_history(executionArn=arn, maxResults=2)
        rest = sfn.get_execution_history(executionArn=arn, nextToken=first["nextToken"])
        assert first["events"] + rest["events"] == whole
        (last,) = sfn.get_execution_history(executionArn=arn, maxResults=1, reverseOrder=True)["events"]
        assert last == whole[-1]
        assert last["type"] == "ExecutionSucceeded"

    def test_stopping_one_that_has_ended_changes_nothing(self, sfn: Any, run: Any) -> None:
        found = run(PASS)
        assert sfn.stop_execution(executionArn=found["executionArn"])["stopDate"] == found["stopDate"]
        assert sfn.describe_execution(executionArn=found["executionArn"])["status"] == "SUCCEEDED"


class TestEvents:
    @pytest.mark.parametrize(
        ("machine_of", "top", "status"),
        [
            (PASS, {}, "SUCCEEDED"),
            ({"F": {"Type": "Fail", "Error": "Mine", "Cause": "because"}}, {}, "FAILED"),
            (WAIT, {"TimeoutSeconds": 60}, "TIMED_OUT"),
        ],
    )
    def test_a_start_and_an_end_are_told_with_what_describe_execution_says(
        self, told: list[Any], run: Any, machine_of: Any, top: Any, status: str
    ) -> None:
        found = run(machine_of, {"a": 1}, **top)
        first, last = told
        assert first[:2] == last[:2] == ("aws.states", "Step Functions Execution Status Change")
        assert first[3] == last[3] == [found["executionArn"]]
        assert (first[2]["status"], first[2]["stopDate"], first[2]["output"]) == ("RUNNING", None, None)
        detail = last[2]
        for key in ("executionArn", "stateMachineArn", "name", "input"):
            assert detail[key] == first[2][key] == found[key]
        assert detail["status"] == status
        assert detail["startDate"] == int(found["startDate"].timestamp() * 1000)
        assert detail["stopDate"] == int(found["stopDate"].timestamp() * 1000)
        assert detail["output"] == ('{"a":1}' if status == "SUCCEEDED" else None)
        assert (detail["error"], detail["cause"]) == (found.get("error"), found.get("cause"))
        assert detail["redriveStatus"] == ("NOT_REDRIVABLE" if status == "SUCCEEDED" else "REDRIVABLE")
        json.dumps(detail)

    def test_a_rule_on_the_status_reaches_its_target(
        self, sandbox: Sandbox, recorder: Any, sfn: Any, start: Any, eventually: Any
    ) -> None:
        function, received = recorder()
        events = sandbox.client("events")
        pattern = {"source": ["aws.states"], "detail": {"status": ["ABORTED"]}}
        events.put_rule(Name="aborted", EventPattern=json.dumps(pattern))
        events.put_targets(Rule="aborted", Targets=[{"Id": "1", "Arn": function}])
        arn = start(WAIT)
        sfn.stop_execution(executionArn=arn)
        (event,) = eventually(received)
        events.remove_targets(Rule="aborted", Ids=["1"])
        assert event["detail-type"] == "Step Functions Execution Status Change"
        assert (event["detail"]["executionArn"], event["resources"]) == (arn, [arn])


class TestMachines:
    def test_logging_tracing_and_tags_are_kept(self, sfn: Any, role_arn: str) -> None:
        group = "arn:aws:logs:us-east-1:123456789012:log-group:machines:*"
        logging = {
            "level": "ALL",
            "includeExecutionData": True,
            "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": group}}],
        }
        definition = json.dumps({"StartAt": "P", "States": PASS})
        arn = sfn.create_state_machine(
            name=f"kept-{uuid.uuid4().hex[:8]}",
            definition=definition,
            roleArn=role_arn,
            loggingConfiguration=logging,
            tracingConfiguration={"enabled": True},
            tags=[{"key": "team", "value": "gpu"}],
        )["stateMachineArn"]
        found = sfn.describe_state_machine(stateMachineArn=arn)
        assert (found["status"], found["type"], found["definition"]) == ("ACTIVE", "STANDARD", definition)
        assert found["loggingConfiguration"] == logging
        assert found["tracingConfiguration"] == {"enabled": True}
        assert sfn.list_tags_for_resource(resourceArn=arn)["tags"] == [{"key": "team", "value": "gpu"}]

    def test_making_the_same_one_twice_is_one_and_another_of_its_name_is_refused(self, sfn: Any, machine: Any) -> None:
        name = f"same-{uuid.uuid4().hex[:8]}"
        assert machine(PASS, name=name) == machine(PASS, name=name)
        with pytest.raises(ClientError) as refused:
            machine(WAIT, name=name)
        assert refused.value.response["Error"]["Code"] == "StateMachineAlreadyExists"

    def test_an_integer_percentage_is_accepted_and_kept_as_it_was_written(self, sfn: Any, machine: Any) -> None:
        processor = {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            "StartAt": "P",
            "States": PASS,
        }
        states = {"M": {"Type": "Map", "ToleratedFailurePercentage": 5, "ItemProcessor": processor, "End": True}}
        found = sfn.describe_state_machine(stateMachineArn=machine(states))
        assert json.loads(found["definition"])["States"]["M"]["ToleratedFailurePercentage"] == 5

    def test_a_definition_that_is_wrong_is_refused(self, sfn: Any, role_arn: str) -> None:
        request = {"name": "wrong", "roleArn": role_arn}
        assert _code(sfn.create_state_machine, definition="{", **request) == "InvalidDefinition"
        assert _code(sfn.create_state_machine, definition='{"StartAt": "A"}', **request) == "InvalidDefinition"

    @pytest.mark.parametrize(
        ("states", "words"),
        [
            ({"P": {"Type": "Pass", "Next": "Q"}}, "no state is named 'Q' at /States/P"),
            ({"P": {"Type": "Pass", "End": True}, "Q": {"Type": "Fail"}}, "no state leads to 'Q' at /States/Q"),
            (
                {"M": {"Type": "Map", "ItemProcessor": {"StartAt": "X", "States": PASS}, "End": True}},
                "no state is named 'X' at /States/M/ItemProcessor/StartAt",
            ),
        ],
    )
    def test_a_transition_that_leads_nowhere_is_refused(self, machine: Any, states: Any, words: str) -> None:
        with pytest.raises(ClientError, match=words) as refused:
            machine(states)
        assert refused.value.response["Error"]["Code"] == "InvalidDefinition"

    def test_an_update_changes_later_executions_only(
        self, sfn: Any, machine: Any, start: Any, end: Any, reaches: Any
    ) -> None:
        arn = machine(WAIT)
        before = start(arn, {"old": 1})
        reaches(before, "WaitStateEntered")
        new = json.dumps({"StartAt": "P", "States": {"P": {"Type": "Pass", "Result": "new", "End": True}}})
        assert "revisionId" not in sfn.describe_state_machine(stateMachineArn=arn)
        revision = sfn.update_state_machine(stateMachineArn=arn, definition=new)["revisionId"]
        assert sfn.describe_state_machine(stateMachineArn=arn)["revisionId"] == revision
        assert end(start(arn))["output"] == "new"
        assert end(before)["output"] == {"old": 1}
        kept = sfn.describe_state_machine_for_execution(executionArn=before)["definition"]
        assert json.loads(kept)["StartAt"] == "W"

    def test_a_deletion_ends_executions_at_their_next_transition(
        self, told: list[Any], slow: Any, sfn: Any, machine: Any, start: Any, end: Any, reaches: Any
    ) -> None:
        arn = machine(WAIT)
        running = start(arn)
        reaches(running, "WaitStateEntered")
        sfn.delete_state_machine(stateMachineArn=arn)
        assert sfn.describe_state_machine(stateMachineArn=arn)["status"] == "DELETING"
        assert _code(sfn.start_execution, stateMachineArn=arn) == "StateMachineDeleting"
        new = json.dumps({"StartAt": "P", "States": PASS})
        assert _code(sfn.update_state_machine, stateMachineArn=arn, definition=new) == "StateMachineDeleting"
        assert sfn.describe_execution(executionArn=running)["status"] == "RUNNING"
        slow.jump(910)
        assert end(running)["status"] == "ABORTED"
        assert told[-1][2]["status"] == "ABORTED"
        assert _code(sfn.describe_state_machine, stateMachineArn=arn) == "StateMachineDoesNotExist"

    def test_executions_of_a_deleted_machine_are_described_in_one_reading_only(
        self, sandbox: Sandbox, sfn: Any, machine: Any, start: Any, end: Any
    ) -> None:
        arn = machine(PASS)
        done = end(start(arn))["executionArn"]
        sfn.delete_state_machine(stateMachineArn=arn)
        assert sfn.describe_execution(executionArn=done)["status"] == "SUCCEEDED"
        sandbox.faults.switch("states.executions-of-deleted-machine", "gone")
        assert _code(sfn.describe_execution, executionArn=done) == "ExecutionDoesNotExist"

    def test_a_name_is_free_again_after_the_deletion(self, sfn: Any, machine: Any, start: Any, end: Any) -> None:
        name = f"again-{uuid.uuid4().hex[:8]}"
        sfn.delete_state_machine(stateMachineArn=machine(WAIT, name=name))
        assert end(start(machine(PASS, name=name)))["status"] == "SUCCEEDED"


def test_machines_are_one_to_every_reader(sandbox: Sandbox, sfn: Any, machine: Any) -> None:
    # moto has a second backend that does not execute; whoever asks moto for either must get this one.
    arn = machine(PASS)
    backend = get_backend("stepfunctions")["123456789012"]["us-east-1"]
    assert backend.describe_state_machine(arn).arn == arn


def test_a_machine_that_moto_is_told_to_make_runs_too(role_arn: str, start: Any, end: Any) -> None:
    template = {"Properties": {"DefinitionString": json.dumps({"StartAt": "P", "States": PASS}), "RoleArn": role_arn}}
    made = StateMachine.create_from_cloudformation_json("told", template, "123456789012", "us-east-1")
    assert end(start(made.arn))["status"] == "SUCCEEDED"


def test_a_second_sandbox_abandons_what_the_first_ran_and_has_its_own_time(
    sandbox: Sandbox, sfn: Any, start: Any, run: Any, told: list[Any]
) -> None:
    running = start(WAIT)
    later = Clock(speed=1, start=sandbox.clock.now() + 10**7)
    again: list[Any] = []
    states.install(dataclasses.replace(sandbox.context, clock=later, emit=lambda *event: again.append(event)))
    assert sfn.describe_execution(executionArn=running)["status"] == "ABORTED"
    found = run({"P": {"Type": "Pass", "End": True}})
    assert abs(found["startDate"].timestamp() - later.now()) < 60
    assert [event[2]["status"] for event in told] == ["RUNNING"]
    assert [event[2]["status"] for event in again] == ["RUNNING", "SUCCEEDED"]
    later.close()
