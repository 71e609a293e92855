"""Running a Task: one thread, virtual time limits, a fresh token for every try, names as the service spells them."""

from __future__ import annotations

import copy
from typing import Any

from botocore import xform_name
from botocore.exceptions import ClientError
from moto.stepfunctions.parser.asl.component.state.exec.state_task.lambda_eval_utils import LambdaFunctionErrorException
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.resource import ResourceCondition
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_callback import (
    StateTaskServiceCallback,
)
from moto.stepfunctions.parser.asl.component.state.state import CommonStateField

from . import engine, jobs, shapes, tokens, waiting
from .failures import RUNTIME, failed, service_failure
from .patching import ENGINE, needs, replaces, wraps

_EXEC = ENGINE + "asl.component.state.exec."
_TASK = _EXEC + "state_task."
_SERVICE = _TASK + "service."
_CALLBACK = _SERVICE + "state_task_service_callback:StateTaskServiceCallback."
_SDK = _SERVICE + "state_task_service_aws_sdk:StateTaskServiceAwsSdk."
_LAMBDA = _TASK + "lambda_eval_utils:"

needs(_SERVICE + "resource:ResourceCondition")
needs(_TASK + "lambda_eval_utils:LambdaFunctionErrorException")
needs(_CALLBACK + "_assert_integration_pattern_is_supported", "self")
needs(_TASK + "state_task:StateTask._eval_parameters", "self env")
needs(_TASK + "state_task:StateTask._eval_state_credentials", "self env")


class _Clients:
    """Takes the place of boto3 where the engine makes its clients: one shared client for each service and region."""

    @staticmethod
    def client(*, service_name: str, region_name: str, **_: Any) -> Any:
        return engine.current().client(service_name, region_name)


replaces(ENGINE + "asl.utils.boto_client:boto3", None)(_Clients)


@replaces(_EXEC + "execute_state:ExecutionState._evaluate_with_timeout", "self env")
def _try(self: Any, env: Any) -> None:
    data = env.states.context_object.context_object_data
    again = data["State"]["RetryCount"] > 0
    if again and engine.reading("states.entered-time-on-retry") == "new":
        data["State"]["EnteredTime"] = engine.iso(engine.now())
    token = engine.current().tokens.issue(env).text if _waits_for_token(self) else None
    if token is not None:
        data["Task"] = {"Token": token}
    self.timeout.eval(env=env)
    seconds = env.stack.pop()
    frame = env.open_frame()
    if not self.timeout.is_default_value():
        frame.deadline = engine.current().context.clock.now() + seconds
    frame.states.reset(input_value=env.states.get_input())
    frame.stack = copy.deepcopy(env.stack)
    try:
        self._eval_execution(frame)
        output = frame.stack.pop()
    finally:
        waiting.close_frame(env, frame)
        if token is not None:
            engine.current().tokens.close(token)
    _take_result(self, env, output)


def _take_result(state: Any, env: Any, output: Any) -> None:
    env.stack.append(output)
    if not state._is_language_query_jsonpath():  # noqa: SLF001 - moto's own name
        env.states.set_result(output)
    if state.assign_decl:
        state.assign_decl.eval(env=env)
    if state.result_selector:
        state.result_selector.eval(env=env)
    if state.result_path:
        state.result_path.eval(env)
    else:
        env.states.reset(input_value=env.stack.pop())


def _waits_for_token(state: Any) -> bool:
    return (
        isinstance(state, StateTaskServiceCallback)
        and getattr(state.resource, "condition", None) == ResourceCondition.WaitForTaskToken
    )


@replaces(_CALLBACK + "_eval_body", "self env")
def _callback_state(self: Any, env: Any) -> None:
    if self._is_integration_pattern():
        self._assert_integration_pattern_is_supported()
    try:
        CommonStateField._eval_body(self, env)  # noqa: SLF001
    finally:
        env.states.context_object.context_object_data.pop("Task", None)


@replaces(
    _CALLBACK + "_eval_integration_pattern",
    "self env resource_runtime_part normalised_parameters state_credentials",
)
def _integration(self: Any, env: Any, **about: Any) -> None:
    if self.resource.condition == ResourceCondition.WaitForTaskToken:
        env.stack.pop()
        token = env.states.context_object.context_object_data["Task"]["Token"]
        env.stack.append(tokens.await_answer(self, env, token))
    else:
        env.stack.append(jobs.await_job(self, env, about))


@replaces(_SERVICE + "state_task_service:StateTaskService._eval_execution", "self env")
def _execute(self: Any, env: Any) -> None:
    self.resource.eval(env=env)
    place = env.stack.pop()
    raw = self._eval_parameters(env=env)
    credentials = self._eval_state_credentials(env=env)
    normalised = copy.deepcopy(raw)
    try:
        self._normalise_parameters(normalised)
    except shapes.UnknownField as error:
        raise failed(env, RUNTIME, str(error)) from error
    about = {"env": env, "resource_runtime_part": place, "state_credentials": credentials}
    self._before_eval_execution(raw_parameters=raw, **about)

    def call() -> None:
        self._eval_service_task(normalised_parameters=normalised, **about)

    if jobs.is_job(self):
        call()  # a job that begins unheard would have nobody to stop it: the time limit counts after the call
    else:
        waiting.bounded(env, call)
    self._normalise_response(env.stack[-1])
    self._after_eval_execution(normalised_parameters=normalised, **about)


@replaces(
    _SERVICE + "state_task_service:StateTaskService._normalise_parameters",
    "self parameters boto_service_name service_action_name",
)
def _request(self: Any, parameters: Any, boto_service_name: Any = None, service_action_name: Any = None) -> None:
    model = shapes.operation(
        boto_service_name or self.resource.api_name, service_action_name or self.resource.api_action
    )
    if model is not None and model.input_shape is not None:
        converted = shapes.to_request(parameters, model.input_shape, sdk=_is_sdk(self))
        parameters.clear()
        parameters.update(converted)


@replaces(
    _SERVICE + "state_task_service:StateTaskService._normalise_response",
    "self response boto_service_name service_action_name",
)
def _result(self: Any, response: Any, boto_service_name: Any = None, service_action_name: Any = None) -> None:
    model = shapes.operation(
        boto_service_name or self.resource.api_name, service_action_name or self.resource.api_action
    )
    if isinstance(response, dict):
        shape = model.output_shape if model is not None else None
        epoch = not _is_sdk(self) and jobs.times_are_numbers()
        converted = shapes.to_result(response, shape, sdk=_is_sdk(self), epoch=epoch)
        response.clear()
        response.update(converted)


@replaces(_SERVICE + "state_task_service:StateTaskService._get_boto_service_name", "self boto_service_name")
def _boto_service(self: Any, boto_service_name: str | None = None) -> str:
    return shapes.service_name(boto_service_name or self.resource.api_name)


@replaces(_SERVICE + "state_task_service:StateTaskService._get_boto_service_action", "self service_action_name")
def _boto_action(self: Any, service_action_name: str | None = None) -> str:
    action = service_action_name or self.resource.api_action
    model = shapes.operation(self.resource.api_name, action)
    return str(xform_name(model.name if model is not None else action))


@replaces(_SDK + "_validate_service_integration_is_supported", "self")
def _sdk_is_supported(self: Any) -> None:
    if shapes.operation(self.resource.api_name, self.resource.api_action) is None:
        raise ValueError(
            f"The resource provided {self.resource.resource_arn} is not recognized. The value is not a valid resource"
            " ARN, or the resource is not available in this region."
        )


@replaces(_SDK + "_from_error", "self env ex")
def _sdk_error(self: Any, env: Any, ex: Exception) -> Any:
    return StateTaskServiceCallback._from_error(self, env, ex)  # noqa: SLF001 - named as every service's errors are


@replaces(_LAMBDA + "execute_lambda_function_integration", "env parameters region state_credentials")
def _invoke(env: Any, parameters: dict[str, Any], region: str, state_credentials: Any) -> None:
    del state_credentials  # nothing in the sandbox assumes the machine's role
    answer = waiting.bounded(env, lambda: engine.current().client("lambda", region).invoke(**parameters))
    payload = engine.parsed(answer["Payload"].read().decode())
    if answer.get("FunctionError"):
        raise LambdaFunctionErrorException(answer["FunctionError"], engine.text(payload))
    env.stack.append(
        {
            "ExecutedVersion": answer.get("ExecutedVersion", "$LATEST"),
            "Payload": payload,
            "StatusCode": answer.get("StatusCode", 200),
        }
    )


replaces(_SERVICE + "state_task_service_lambda:_SUPPORTED_API_PARAM_BINDINGS", None)(
    {"invoke": {"ClientContext", "FunctionName", "InvocationType", "LogType", "Payload", "Qualifier"}}
)


@wraps(_SERVICE + "state_task_service_lambda:StateTaskServiceLambda._from_error", "self env ex")
def _lambda_error(plain: Any, self: Any, env: Any, ex: Exception) -> Any:
    if isinstance(ex, LambdaFunctionErrorException):
        about = {"resource": self._get_sfn_resource(), "resourceType": self._get_sfn_resource_type()}
        return failed(env, _error_type(ex), ex.payload, details=about).failure_event
    return service_failure(self, env, "Lambda", ex, "AWSLambdaException") or plain(self, env, ex)


@wraps(_TASK + "state_task_lambda:StateTaskLambda._from_error", "self env ex")
def _bare_lambda_error(plain: Any, self: Any, env: Any, ex: Exception) -> Any:
    if isinstance(ex, LambdaFunctionErrorException):
        return failed(env, _error_type(ex), ex.payload, "LambdaFunctionFailed").failure_event
    if isinstance(ex, ClientError):
        code = ex.response["Error"]["Code"]
        name = type(ex).__name__ if type(ex) is not ClientError else "AWSLambdaException"
        return failed(
            env, f"Lambda.{name}", f"{ex.response['Error']['Message']} ({code})", "LambdaFunctionFailed"
        ).failure_event
    return plain(self, env, ex)


def _error_type(error: Any) -> str:
    """Return the error's name: the function's errorType, or the name of failures that carry none."""
    payload = engine.parsed(error.payload)
    named = payload.get("errorType") if isinstance(payload, dict) else None
    return str(named) if named else "Lambda.Unknown"


def _is_sdk(task: Any) -> bool:
    return bool(task.resource.service_name == "aws-sdk")
