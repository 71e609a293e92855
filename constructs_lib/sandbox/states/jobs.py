"""The ``.sync`` integrations: wait for a job, and stop it when the state ends first. SageMaker's are ours.

Step Functions learns of a job's end from events and by polling; here it polls, and a nested execution tells its parent.
A state that is aborted or runs into its time limit stops its job, which AWS documents as best effort.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError
from moto.stepfunctions.parser.asl.component.common.timeouts.timeout import EvalTimeoutError
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.resource import ResourceCondition
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_callback import (
    StateTaskServiceCallback,
)

from . import engine, shapes, waiting
from .failures import failed, service_failure
from .patching import ENGINE, needs, wraps

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["await_job", "is_job", "times_are_numbers"]

LOG = logging.getLogger(__name__)
_POLL_SECONDS = 15.0  # virtual
_POLL_REAL_SECONDS = 0.1  # at the least, so that a fast clock does not mean a busy machine

_TASK = ENGINE + "asl.component.state.exec.state_task."
_CALLBACK = _TASK + "service.state_task_service_callback:StateTaskServiceCallback."
_RESOLVER = "self env resource_runtime_part normalised_parameters state_credentials"
needs(_CALLBACK + "__init__", "self supported_integration_patterns")
needs(_CALLBACK + "_build_sync_resolver", _RESOLVER)
needs(_CALLBACK + "_build_sync2_resolver", _RESOLVER)

# Optimised SageMaker actions; the jobs among them also as .sync. None as .waitForTaskToken (documented).
_JOBS = ("TrainingJob", "ProcessingJob", "HyperParameterTuningJob", "TransformJob", "LabelingJob")
_ACTIONS = {f"create{job}": job for job in _JOBS}
_PLAIN_ACTIONS = ("createModel", "createEndpointConfig", "createEndpoint", "updateEndpoint")


def is_job(task: Any) -> bool:
    """Return whether a Task waits for a job to end."""
    return getattr(task.resource, "condition", None) in (ResourceCondition.Sync, ResourceCondition.Sync2)


def times_are_numbers() -> bool:
    """Return whether results of optimised integrations carry times as milliseconds."""
    return bool(engine.reading("states.job-times") == "milliseconds")


def await_job(task: Any, env: Any, about: dict[str, Any]) -> Any:
    """Wait for the job that a Task began; return its description."""
    submitted = env.stack[-1]
    once = task.resource.condition == ResourceCondition.Sync
    build = task._build_sync_resolver if once else task._build_sync2_resolver  # noqa: SLF001 - moto's own names
    look = build(env=env, **about)
    wake = threading.Event()
    child = engine.current().running.get(submitted.get("ExecutionArn"))
    if child is not None:
        child.rings(wake)
    try:
        while (result := _look(look)) is None:
            _pause(env, wake, polls=child is None)
    except (waiting.Interrupted, EvalTimeoutError):
        _stop(task, submitted, about)
        raise
    return result


def _look(look: Callable[[], Any]) -> Any:
    """Describe the job once; what passes by itself, such as throttling, is asked again."""
    try:
        return look() or None
    except BotoCoreError as error:
        LOG.info("a job's description was lost: %s", error)
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if status < 500 and "hrottl" not in error.response["Error"].get("Code", ""):
            raise
        LOG.info("a job's description was refused: %s", error)
    return None


def _pause(env: Any, wake: threading.Event, *, polls: bool) -> None:
    clock = engine.current().context.clock
    next_poll = clock.now() + _POLL_SECONDS
    if polls:
        time.sleep(_POLL_REAL_SECONDS)
    limits = [limit for limit in (env.deadline, next_poll if polls else None) if limit is not None]
    reached = waiting.wait(env, min(limits, default=None), wake)
    if reached and env.deadline is not None and clock.now() >= env.deadline:
        raise EvalTimeoutError


def _stop(task: Any, submitted: dict[str, Any], about: dict[str, Any]) -> None:
    """Stop a job whose state is over, as far as it can be."""
    region = about["resource_runtime_part"].region
    try:
        if "ExecutionArn" in submitted:
            engine.current().client("stepfunctions", region).stop_execution(
                executionArn=submitted["ExecutionArn"], cause="the parent's state was aborted or timed out"
            )
        elif isinstance(task, _SageMakerTask):
            task.stop(engine.current().client("sagemaker", region), about["normalised_parameters"])
    except (ClientError, BotoCoreError) as error:
        LOG.warning("the job of %s could not be stopped: %s", task.resource.resource_arn, error)


class _SageMakerTask(StateTaskServiceCallback):  # type: ignore[misc]
    """``sagemaker:createTrainingJob`` and its like, request-response and ``.sync``."""

    def __init__(self) -> None:
        super().__init__(supported_integration_patterns={ResourceCondition.Sync})

    @property
    def job(self) -> str:
        return _ACTIONS[self.resource.api_action]

    def _validate_service_integration_is_supported(self) -> None:
        action, condition = self.resource.api_action, self.resource.condition
        if condition is None and (action in _ACTIONS or action in _PLAIN_ACTIONS):
            return
        if condition == ResourceCondition.Sync and action in _ACTIONS:
            return
        raise ValueError(f"The resource provided {self.resource.resource_arn} is not recognized.")

    def _eval_service_task(
        self, env: Any, resource_runtime_part: Any, normalised_parameters: dict[str, Any], state_credentials: Any
    ) -> None:
        del state_credentials  # nothing in the sandbox assumes the machine's role
        client = engine.current().client("sagemaker", resource_runtime_part.region)
        answer = getattr(client, self._get_boto_service_action())(**normalised_parameters)
        answer.pop("ResponseMetadata", None)
        env.stack.append(answer)

    def _build_sync_resolver(
        self, env: Any, resource_runtime_part: Any, normalised_parameters: dict[str, Any], state_credentials: Any
    ) -> Callable[[], Any]:
        del state_credentials
        env.stack.pop()
        client = engine.current().client("sagemaker", resource_runtime_part.region)
        describe = getattr(client, xform_name(f"Describe{self.job}"))
        shape = shapes.operation("sagemaker", f"describe{self.job}").output_shape
        name = {f"{self.job}Name": normalised_parameters[f"{self.job}Name"]}

        def look() -> Any:
            answer = describe(**name)
            answer.pop("ResponseMetadata", None)
            status = answer[f"{self.job}Status"]
            result = shapes.to_result(answer, shape, sdk=False, epoch=times_are_numbers())
            stopped_fails = engine.reading("states.stopped-job") == "fails"
            if status == "Failed" or (status == "Stopped" and stopped_fails):
                about = {"resource": self._get_sfn_resource(), "resourceType": self._get_sfn_resource_type()}
                raise failed(env, "States.TaskFailed", engine.text(result), details=about)
            return result if status in ("Completed", "Stopped") else None

        return look

    def stop(self, client: Any, parameters: dict[str, Any]) -> None:
        """Stop the job that this task's parameters name."""
        name = f"{self.job}Name"
        getattr(client, xform_name(f"Stop{self.job}"))(**{name: parameters[name]})

    def _from_error(self, env: Any, ex: Exception) -> Any:
        failure = service_failure(self, env, "SageMaker", ex, "AmazonSageMakerException")
        return failure or super()._from_error(env=env, ex=ex)


@wraps(_TASK + "state_task_factory:state_task_service_for", "service_name")
def _service_task(plain: Any, service_name: str) -> Any:
    return _SageMakerTask() if service_name == "sagemaker" else plain(service_name=service_name)
