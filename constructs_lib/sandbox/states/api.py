"""The API's answers where moto's lack a field, an operation or a page."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult, EmptyResult

from .patching import adds, needs, replaces, wraps

_RESPONSE = "moto.stepfunctions.responses:StepFunctionResponse"

needs("moto.core.responses:ActionResult")
needs("moto.core.responses:EmptyResult")
needs("moto.core.responses:BaseResponse._get_param", "self param_name if_none")

_LISTED = ("executionArn", "stateMachineArn", "name", "status", "startDate", "stopDate", "mapRunArn", "redriveCount",
           "redriveDate")  # fmt: skip


@replaces(_RESPONSE + ".describe_execution", "self")
def _describe_execution(self: Any) -> Any:
    return ActionResult(self.stepfunction_backend.describe_execution(self._get_param("executionArn")).describe())


@replaces(_RESPONSE + ".list_executions", "self")
def _list_executions(self: Any) -> Any:
    found, token = self.stepfunction_backend.list_executions(
        self._get_param("stateMachineArn"),
        status_filter=self._get_param("statusFilter"),
        max_results=self._get_int_param("maxResults"),
        next_token=self._get_param("nextToken"),
    )
    wanted = self._get_param("redriveFilter")
    known = [execution.describe() for execution in found]
    if wanted:
        known = [one for one in known if (one["redriveCount"] > 0) == (wanted == "REDRIVEN")]
    executions = [{key: one[key] for key in _LISTED if key in one} for one in known]
    return ActionResult({"executions": executions, "nextToken": token})


@replaces(_RESPONSE + ".get_execution_history", "self")
def _get_execution_history(self: Any) -> Any:
    events = self.stepfunction_backend.get_execution_history(self._get_param("executionArn"))["events"]
    if self._get_param("reverseOrder"):
        events.reverse()
    start = int(self._get_param("nextToken") or 0)
    end = start + int(self._get_param("maxResults") or 100)
    page = {"events": events[start:end]}
    if end < len(events):
        page["nextToken"] = str(end)
    return ActionResult(page)


@replaces(_RESPONSE + ".stop_execution", "self")
def _stop_execution(self: Any) -> Any:
    execution = self.stepfunction_backend.stop_execution(
        self._get_param("executionArn"), error=self._get_param("error"), cause=self._get_param("cause")
    )
    return ActionResult({"stopDate": execution.stop_date})


@adds(_RESPONSE, "redrive_execution")
def _redrive_execution(self: Any) -> Any:
    redriven = self.stepfunction_backend.redrive_execution(
        self._get_param("executionArn"), self._get_param("clientToken", "")
    )
    return ActionResult({"redriveDate": redriven})


@replaces(_RESPONSE + ".send_task_failure", "self")
def _send_task_failure(self: Any) -> Any:
    self.stepfunction_backend.send_task_failure(
        self._get_param("taskToken"), error=self._get_param("error"), cause=self._get_param("cause")
    )
    return EmptyResult()


@wraps(_RESPONSE + "._describe_state_machine", "self state_machine_arn")
def _describe_state_machine(plain: Any, self: Any, state_machine_arn: str) -> Any:
    answer = plain(self, state_machine_arn)
    machine = self.stepfunction_backend.describe_state_machine(state_machine_arn)
    if getattr(machine, "deleting", False):
        answer.result["status"] = "DELETING"
    if hasattr(machine, "revision"):  # one that was never updated has none
        answer.result["revisionId"] = machine.revision
    return answer


@wraps(_RESPONSE + ".update_state_machine", "self")
def _update_state_machine(plain: Any, self: Any) -> Any:
    answer = plain(self)
    machine = self.stepfunction_backend.describe_state_machine(self._get_param("stateMachineArn"))
    answer.result["revisionId"] = machine.revision
    return answer


@replaces(_RESPONSE + ".describe_state_machine_for_execution", "self")
def _describe_state_machine_for_execution(self: Any) -> Any:
    execution = self.stepfunction_backend.describe_execution(self._get_param("executionArn"))
    machine = execution.machine
    answer = {
        "stateMachineArn": execution.state_machine_arn,
        "name": machine.name,
        "definition": execution.definition,
        "roleArn": execution.role_arn,
        "updateDate": machine.update_date,
        "loggingConfiguration": machine.loggingConfiguration,
        "tracingConfiguration": machine.tracingConfiguration,
    }
    return ActionResult(answer)
