"""Delivery to the targets of rules, schedules and Lambda destinations, through the sandbox's own API."""

from __future__ import annotations

import json
import logging
import uuid
from collections import deque
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.sandbox.errors import ServiceError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from constructs_lib.sandbox.context import Context
    from constructs_lib.sandbox.tasks import Tasks

__all__ = ["Targets", "check_target"]

LOG = logging.getLogger(__name__)
_SERVICES = ("lambda", "states", "sns", "sqs", "logs", "events")
_UNIVERSAL = "arn:aws:scheduler:::aws-sdk:"
_SDK_NAMES = {"sfn": "stepfunctions", "eventbridge": "events", "cloudwatchlogs": "logs"}  # Java's name -> boto3's
_LONGEST_PAUSE = 300.0


def check_target(arn: str) -> None:
    """Refuse a target the sandbox could not deliver to.

    Raises
    ------
    ServiceError
        ``ValidationException`` in words, when the target is made and not when it should first fire.
    """
    if arn.startswith(_UNIVERSAL):
        _operation(arn)
    elif arn.split(":")[2:3] == [] or arn.split(":")[2] not in _SERVICES:
        known = ", ".join(_SERVICES)
        raise ServiceError("ValidationException", f"the sandbox delivers to {known} and {_UNIVERSAL}*, not to {arn}")


class Targets:
    """Sends texts to ARNs, again and again where AWS would.

    Attributes
    ----------
    failed
        What was given up: (virtual time, ARN, error).
    settled
        Given a request id returns an event that is set once that asynchronous Lambda invocation is over.
    """

    settled: Callable[[str], threading.Event]

    def __init__(self, context: Context, tasks: Tasks) -> None:
        self.failed: deque[tuple[float, str, str]] = deque(maxlen=1000)
        self._context = context
        self._tasks = tasks

    def deliver(self, target: dict[str, Any], text: str) -> None:
        """Deliver, with the retries the target asks for, and return once its handler is done or all tries failed.

        Parameters
        ----------
        target
            A rule's or schedule's target: Arn, RetryPolicy, DeadLetterConfig, SqsParameters ...
        text
            What it receives.
        """
        clock, policy = self._context.clock, target.get("RetryPolicy") or {}
        expires = clock.now() + policy.get("MaximumEventAgeInSeconds", 86400)
        pause = 1.0
        for attempt in range(1 + policy.get("MaximumRetryAttempts", 185)):
            until = clock.now() + pause
            if attempt and (until > expires or not clock.wait_until(until, self._tasks.stopping)):
                break
            pause = min(pause * 2, _LONGEST_PAUSE)
            try:
                return self._await(self.send(target["Arn"], text, target))
            except (BotoCoreError, ClientError) as error:
                reason = str(error)
                if not _may_pass(error):
                    break
        if not self._tasks.stopping.is_set():
            self._give_up(target, text, reason)
        return None

    def send(self, arn: str, text: str, target: dict[str, Any] | None = None) -> str:
        """Deliver once; return the request id of an asynchronous Lambda invocation, empty for all others."""
        target = target or {}
        if arn.startswith(_UNIVERSAL):
            self._call(arn, text)
            return ""
        service, client = arn.split(":")[2], self._context.client
        if service == "lambda":
            answer = client("lambda").invoke(FunctionName=arn, InvocationType="Event", Payload=text.encode())
            return str(answer["ResponseMetadata"]["RequestId"])
        if service == "states":
            name = f"{uuid.uuid4()}_{uuid.uuid4()}"
            client("stepfunctions").start_execution(stateMachineArn=arn, name=name, input=text)
        elif service == "sns":
            client("sns").publish(TopicArn=arn, Message=text)
        elif service == "sqs":
            self._send_message(arn, text, target.get("SqsParameters") or {})
        elif service == "logs":
            self._log(arn.split(":", 6)[6].removesuffix(":*"), text)
        else:
            self._put_event(arn, text, target.get("EventBridgeParameters"))
        return ""

    def _await(self, request_id: str) -> None:
        if request_id:
            self.settled(request_id).wait()

    def _give_up(self, target: dict[str, Any], text: str, reason: str) -> None:
        self.failed.append((self._context.clock.now(), target["Arn"], reason))
        LOG.error("gave up delivering to %s: %s", target["Arn"], reason)
        if queue := (target.get("DeadLetterConfig") or {}).get("Arn"):
            self.send(queue, text)

    def _send_message(self, arn: str, text: str, parameters: dict[str, Any]) -> None:
        sqs = self._context.client("sqs")
        url = sqs.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody=text, **parameters)

    def _log(self, group: str, text: str) -> None:
        logs, stream = self._context.client("logs"), str(uuid.uuid4())
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
        entry = {"timestamp": int(self._context.clock.now() * 1000), "message": text}
        logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=[entry])

    def _put_event(self, arn: str, text: str, parameters: dict[str, Any] | None) -> None:
        parameters = parameters or {"Source": "lambda", "DetailType": "Lambda Function Invocation Result"}
        self._context.client("events").put_events(
            Entries=[
                {"EventBusName": arn, "Detail": text, "Source": parameters["Source"]}
                | {"DetailType": parameters["DetailType"]}
            ]
        )

    def _call(self, arn: str, text: str) -> None:
        """Call any API operation, as a schedule's universal target does."""
        service, operation = _operation(arn)
        parameters = _respell(json.loads(text or "{}"), operation.input_shape)
        getattr(self._context.client(service), xform_name(operation.name))(**parameters)


def _operation(arn: str) -> tuple[str, Any]:
    service, _, action = arn.removeprefix(_UNIVERSAL).partition(":")
    service = _SDK_NAMES.get(service, service)
    session = botocore.session.get_session()
    if service in session.get_available_services():
        model = session.get_service_model(service)
        name = next((name for name in model.operation_names if name.lower() == action.lower()), None)
        if name is not None:
            return service, model.operation_model(name)
    raise ServiceError("ValidationException", f"{arn} names no operation that botocore knows")


def _respell(value: Any, shape: Any) -> Any:
    """Give parameters that are spelled as Java's SDK does (``StateMachineArn``) the spelling of the API's model."""
    if shape is None or shape.type_name not in ("structure", "list", "map"):
        return value
    if shape.type_name == "list":
        return [_respell(item, shape.member) for item in value]
    if shape.type_name == "map":
        return {key: _respell(item, shape.value) for key, item in value.items()}
    names = {name.lower(): name for name in shape.members}
    spelled = {names.get(key.lower(), key): item for key, item in value.items()}
    return {key: _respell(item, shape.members.get(key)) for key, item in spelled.items()}


def _may_pass(error: BotoCoreError | ClientError) -> bool:
    """Say whether AWS would try again."""
    if isinstance(error, BotoCoreError):
        return True  # no answer at all
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    return status >= 500 or status == 429 or "Throttl" in error.response["Error"]["Code"]
