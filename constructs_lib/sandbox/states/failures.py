"""Error names: which one a failure gets, and which Retry and Catch match it."""

from __future__ import annotations

import logging
import re
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.error_name import ErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.state.choice.comparison.comparison_operator_type import (
    ComparisonOperatorType,
)
from moto.stepfunctions.parser.asl.component.state.choice.comparison.variable import NoSuchVariable
from moto.stepfunctions.parser.asl.eval.callback.callback import HeartbeatTimeoutError
from moto.stepfunctions.parser.asl.utils.json_path import NoSuchJsonPathError

from . import engine, shapes
from .patching import ENGINE, needs, replaces, wraps

__all__ = ["RUNTIME", "failed", "missing_path", "service_failure", "service_prefix"]

LOG = logging.getLogger(__name__)
_ERRORS = ENGINE + "asl.component.common.error_name."
_STATE = ENGINE + "asl.component.state."
_TASK = _STATE + "exec.state_task."

RUNTIME = "States.Runtime"
_TIMEOUTS = {"States.Timeout", "States.HeartbeatTimeout"}
# Documented as terminal: States.ALL does not match them, and nothing at all catches States.Runtime.
_TERMINAL = {RUNTIME, "States.DataLimitExceeded"}

needs(_ERRORS + "failure_event:FailureEvent.__init__", "self env error_name event_type event_details")
needs(_ERRORS + "failure_event:FailureEventException.__init__", "self failure_event")
needs(_ERRORS + "error_name:ErrorName.__init__", "self error_name")
needs(_STATE + "choice.comparison.variable:NoSuchVariable")
needs(_STATE + "choice.comparison.comparison_operator_type:ComparisonOperatorType")
needs(ENGINE + "asl.eval.callback.callback:HeartbeatTimeoutError")


class _Name(ErrorName):  # type: ignore[misc]
    """An error name that Retry and Catch may also know under another name."""

    also: str | None = None


def failed(
    env: Any, error: str, cause: str, event_type: str = "TaskFailed", details: dict[str, Any] | None = None
) -> FailureEventException:
    """Return the exception with which a state fails."""
    kind = HistoryEventType(event_type)
    field = kind.value[0].lower() + kind.value[1:] + "EventDetails"
    return FailureEventException(
        failure_event=FailureEvent(
            env=env,
            error_name=_Name(error),
            event_type=kind,
            event_details={field: {"error": error, "cause": cause, **(details or {})}},
        )
    )


def missing_path(env: Any, missing: Any) -> FailureEventException:
    """Return the failure of a state whose path finds nothing."""
    cause = (
        f"The JSONPath '{missing.json_path}' specified for the field '{env.next_field_name}' could not be found in the "
        f"input '{engine.text(missing.data)}'"
    )
    return failed(env, RUNTIME, cause)


def service_failure(task: Any, env: Any, prefix: str, error: Exception, base: str) -> FailureEvent | None:
    """Return the failure that an error of a called service makes of a task; None for any other error.

    Parameters
    ----------
    prefix, base
        ``SageMaker`` and the exception of everything the service's model does not name, as the Java SDK calls it.
    """
    about = {"resource": task._get_sfn_resource(), "resourceType": task._get_sfn_resource_type()}  # noqa: SLF001
    if isinstance(error, ClientError):
        meta = error.response.get("ResponseMetadata", {})
        modelled = type(error).__name__
        name = base if modelled == "ClientError" else modelled
        name += "" if name.endswith("Exception") else "Exception"
        cause = (
            f"{error.response['Error'].get('Message', '')} (Service: {prefix}, Status Code: "
            f"{meta.get('HTTPStatusCode')}, Error Code: {error.response['Error'].get('Code')}, "
            f"Request ID: {meta.get('RequestId', '')})"
        )
        return failed(env, f"{prefix}.{name}", cause, details=about).failure_event
    if isinstance(error, BotoCoreError):
        return failed(env, f"{prefix}.SdkClientException", str(error), details=about).failure_event
    return None


def service_prefix(service_id: str) -> str:
    """Return the prefix of a service's error names from botocore's service id, as the Java SDK forms it.

    Examples
    --------
    >>> [service_prefix(i) for i in ("SageMaker", "EC2", "DynamoDB", "CloudWatch Logs", "SFN", "S3", "EventBridge")]
    ['SageMaker', 'Ec2', 'DynamoDb', 'CloudWatchLogs', 'Sfn', 'S3', 'EventBridge']
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", service_id)
    return "".join(word.capitalize() for word in words)


@replaces(_ERRORS + "custom_error_name:CustomErrorName.__init__", "self error_name")
def _custom_error_name(self: Any, error_name: str | None) -> None:
    ErrorName.__init__(self, error_name=error_name)  # a Fail state may pass a States.* name on, and branches do


@replaces(_ERRORS + "error_equals_decl:ErrorEqualsDecl._eval_body", "self env")
def _error_equals(self: Any, env: Any) -> None:
    error = env.stack.pop()
    name = error.error_name
    wanted = {candidate.error_name for candidate in self.error_names}
    if name == RUNTIME:
        matches = False
    elif not {name, getattr(error, "also", name)}.isdisjoint(wanted):
        matches = True
    elif name in _TERMINAL:
        matches = False
    else:
        matches = "States.ALL" in wanted or ("States.TaskFailed" in wanted and name not in _TIMEOUTS)
    env.stack.append(matches)


@wraps(_STATE + "exec.execute_state:ExecutionState._from_error", "self env ex")
def _state_error(plain: Any, self: Any, env: Any, ex: Exception) -> Any:
    if isinstance(ex, FailureEventException):
        return plain(self, env, ex)
    if isinstance(ex, NoSuchJsonPathError):
        return missing_path(env, ex).failure_event
    resource: Any = getattr(self, "resource", None)
    model = shapes.operation(resource.api_name, resource.api_action) if hasattr(resource, "api_name") else None
    if model is not None and isinstance(ex, ClientError | BotoCoreError):
        prefix = service_prefix(model.service_model.service_id)
        return service_failure(self, env, prefix, ex, prefix)
    LOG.warning("the state %s fails with %s", self.name, RUNTIME, exc_info=ex)
    return failed(env, RUNTIME, f"{type(ex).__name__}: {ex}").failure_event


@wraps(_TASK + "state_task:StateTask._from_error", "self env ex")
def _task_error(plain: Any, self: Any, env: Any, ex: Exception) -> Any:
    failure = plain(self, env, ex)
    if isinstance(ex, HeartbeatTimeoutError):  # AWS reports States.Timeout, and documents both names as catching it
        name = _Name(failure.error_name.error_name)
        name.also = "States.HeartbeatTimeout"
        failure.error_name = name
    return failure


@wraps(_STATE + "choice.state_choice:StateChoice._eval_state", "self env")
def _choice(plain: Any, self: Any, env: Any) -> None:
    try:
        plain(self, env)
    except RuntimeError as error:
        if not str(error.args[0]).startswith("No branching option"):
            raise
        cause = f"no rule of the state '{self.name}' matched its input, and it has no Default"
        raise failed(env, "States.NoChoiceMatched", cause, "ExecutionFailed") from None


@replaces(
    _STATE + "choice.comparison.comparison_variable:ComparisonVariable._eval_body",
    "self env",
)
def _compare(self: Any, env: Any) -> None:
    self.variable.eval(env)
    function = self.comparison_function
    if isinstance(env.stack[-1], NoSuchVariable) and function.operator_type != ComparisonOperatorType.IsPresent:
        path = self.variable.string_sampler.literal_value
        cause = f"Invalid path '{path}': the condition of a Choice state refers to a value that does not exist"
        raise failed(env, RUNTIME, cause, "ExecutionFailed")
    function.eval(env)


@wraps(
    ENGINE + "asl.component.common.string.string_expression:StringIntrinsicFunction._eval_body",
    "self env",
)
def _intrinsic(plain: Any, self: Any, env: Any) -> None:
    try:
        plain(self, env)
    except FailureEventException:
        raise
    except (ValueError, TypeError, KeyError, IndexError, RuntimeError) as error:
        cause = f"The function '{self.intrinsic_function_derivation}' had the following error: {error}"
        raise failed(env, "States.IntrinsicFailure", cause) from error


@wraps("moto.core.exceptions:AWSError.__init__", "self message exception_type status")
def _aws_error(plain: Any, self: Any, message: str = "", exception_type: Any = None, status: Any = None) -> None:
    code = getattr(type(self), "code", None)  # the engine's errors carry their code there, where moto does not look
    if exception_type is None and self.TYPE is None and isinstance(code, str):
        exception_type = code
    plain(self, message, exception_type, status)
