"""Lambda: moto keeps the functions, their own code runs in worker processes."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import logging
import threading
import uuid
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from moto.awslambda.models import LambdaBackend, LambdaFunction

from .errors import ServiceError
from .lambda_pool import Function, Pool, ThrottledError, TimedOutError, Worker, WorkerExitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clock import Clock
    from .context import Context
    from .patches import Patches
    from .tasks import Tasks

__all__ = ["Invocation", "Lambdas"]

LOG = logging.getLogger(__name__)
_RETRY_AFTER = (60.0, 120.0)  # AWS waits a minute, then two, before it tries an asynchronous event again
_LONGEST_AGE = 6 * 3600.0  # AWS keeps an asynchronous event that long
_LOG_TAIL = 4096


@dataclass
class Invocation:
    """One run of a function, kept for tests and for ``/_sandbox``."""

    time: float
    function: str
    request_id: str
    event: Any
    attempt: int = 1
    payload: str = "null"
    error: bool = False
    log: str = ""
    worker: str = ""  # who ran it, as the caller of requests is named


@dataclass
class _Pending:
    """An asynchronous event that is not settled yet."""

    function: LambdaFunction
    event: Any
    done: threading.Event = field(default_factory=threading.Event)


class Lambdas:
    """Runs the functions that moto keeps.

    Permissions of callers are not checked: a rule, a topic or a schedule invokes a function whether or not its policy
    allows that. A ``python`` runtime of any version runs on the sandbox's own Python; other runtimes, container images
    and layers fail in words when invoked.

    Parameters
    ----------
    context
        The sandbox's surroundings.
    tasks
        Where asynchronous events are worked on.
    send
        ``send(arn, text)`` delivers to a queue, topic, bus or function: for destinations and dead letters.

    Attributes
    ----------
    invocations
        The latest runs, the oldest first.
    """

    def __init__(self, context: Context, tasks: Tasks, send: Callable[[str, str], object]) -> None:
        self.invocations: deque[Invocation] = deque(maxlen=10_000)
        self._context = context
        self._clock: Clock = context.clock
        self._tasks = tasks
        self._send = send
        self._pool = Pool(context.clock, context.url)
        self._pending: dict[str, _Pending] = {}

    def install(self, patches: Patches) -> None:
        """Make moto's functions run here."""

        def invoke(function: LambdaFunction, *request: Any) -> str | bytes:
            return self.invoke(function, *request)

        patches.set(LambdaFunction, "invoke", invoke)
        patches.wrap(LambdaFunction, "__init__", _remembering)
        patches.wrap(LambdaFunction, "update_configuration", _remembering)
        # A topic does not wait for its subscribers.
        spawn = functools.partial(self._tasks.spawn, "sns-to-lambda")
        patches.wrap(LambdaBackend, "send_sns_message", lambda send: lambda *args, **given: spawn(send, *args, **given))

    def invoke(self, function: LambdaFunction, body: Any, headers: Any, answer: dict[str, str]) -> str | bytes:
        """Answer an Invoke request; `answer` takes the response's headers."""
        event = json.loads(body or "{}")
        kind = headers.get("X-Amz-Invocation-Type") or "RequestResponse"
        if kind == "DryRun":
            return ""
        request_id = str(uuid.uuid4())
        answer["x-amzn-RequestId"] = request_id
        if kind == "Event":
            self._pending[request_id] = _Pending(function, event)
            self._tasks.spawn(f"lambda-{function.function_name}", self._work_off, request_id)
            return ""
        try:
            run = self._run(function, event, request_id, attempt=1)
        except ThrottledError:
            raise ServiceError("TooManyRequestsException", "Rate Exceeded.", 429) from None
        if run.error:
            answer["x-amz-function-error"] = "Unhandled"
        answer["x-amz-log-result"] = base64.b64encode(run.log.encode()[-_LOG_TAIL:]).decode()
        return run.payload.encode()

    def settled(self, request_id: str) -> threading.Event:
        """Return an event that is set once an asynchronous invocation has succeeded or was given up."""
        pending = self._pending.get(request_id)
        if pending is not None:
            return pending.done
        over = threading.Event()
        over.set()
        return over

    def waiting(self, worker_id: str) -> contextlib.AbstractContextManager[None]:
        """Return a block in which the worker that makes a request only waits, so that virtual time may run."""
        worker = self._pool.busy(worker_id)
        hold = worker.hold if worker else None
        return hold.paused() if hold else contextlib.nullcontext()

    def kill(self, worker_id: str) -> bool:
        """Kill a worker in the middle of its invocation; return whether there was one."""
        worker = self._pool.busy(worker_id)
        if worker is not None:
            worker.kill()
        return worker is not None

    def is_worker(self, worker_id: str) -> bool:
        """Say whether a caller is a worker that runs an invocation now."""
        return self._pool.busy(worker_id) is not None

    def close(self) -> None:
        """End all workers."""
        self._pool.close()

    def _work_off(self, request_id: str) -> None:
        """Run an asynchronous event until it succeeds, its tries are used up or it is too old."""
        pending = self._pending[request_id]
        try:
            config = pending.function.event_invoke_config[0].config if pending.function.event_invoke_config else {}
            born, most = self._clock.now(), 1 + config.get("MaximumRetryAttempts", len(_RETRY_AFTER))
            expires = born + config.get("MaximumEventAgeInSeconds", _LONGEST_AGE)
            run, attempt = None, 0
            while attempt < most and not self._tasks.stopping.is_set():
                if attempt and not self._pause(_RETRY_AFTER[attempt - 1], expires):
                    break
                run = self._when_admitted(pending, request_id, attempt + 1, expires)
                if run is None or not run.error:
                    break
                attempt += 1
            if not self._tasks.stopping.is_set():
                self._conclude(pending, config, request_id, run)
        finally:
            pending.done.set()
            del self._pending[request_id]

    def _when_admitted(self, pending: _Pending, request_id: str, attempt: int, expires: float) -> Invocation | None:
        delay = 1.0
        while True:
            try:
                return self._run(pending.function, pending.event, request_id, attempt)
            except ThrottledError:
                if not self._pause(delay, expires):
                    return None
                delay = min(delay * 2, 300.0)

    def _pause(self, seconds: float, expires: float) -> bool:
        """Wait before another try; return False if the event is too old for it or the sandbox stops."""
        until = self._clock.now() + seconds
        return until <= expires and self._clock.wait_until(until, self._tasks.stopping)

    def _conclude(self, pending: _Pending, config: dict[str, Any], request_id: str, run: Invocation | None) -> None:
        failed = run is None or run.error
        outcome = "OnFailure" if failed else "OnSuccess"
        destination = config.get("DestinationConfig", {}).get(outcome, {}).get("Destination")
        if destination:
            condition = "EventAgeExceeded" if run is None else "RetriesExhausted" if failed else "Success"
            record = {
                "version": "1.0",
                "timestamp": self._clock.iso(),
                "requestContext": {
                    "requestId": request_id,
                    "functionArn": f"{pending.function.function_arn}:$LATEST",
                    "condition": condition,
                    "approximateInvokeCount": run.attempt if run else 0,
                },
                "requestPayload": pending.event,
                "responseContext": {"statusCode": 200, "executedVersion": "$LATEST"}
                | ({"functionError": "Unhandled"} if failed else {}),
                "responsePayload": json.loads(run.payload) if run else None,
            }
            self._send(destination, json.dumps(record))
        if failed and (queue := getattr(pending.function, "dead_letter_arn", "")):
            self._send(queue, json.dumps(pending.event))

    def _run(self, function: LambdaFunction, event: Any, request_id: str, attempt: int) -> Invocation:
        run = Invocation(self._clock.now(), function.function_name, request_id, event, attempt)
        try:
            self._check_runnable(function)
            reserved = None if function.reserved_concurrency is None else int(function.reserved_concurrency)
            described = _describe(function)
            with (
                self._pool.admitted(described, reserved),
                self._clock.held() as hold,
                self._pool.worker(described, function.code_bytes, hold) as worker,
            ):
                self._run_on(worker, function, run)
        except WorkerExitError as error:
            run.error, run.payload = True, _error("Runtime.ExitError", _exit_message(request_id, str(error)))
        except ServiceError as error:
            LOG.warning("Lambda function %s: %s", function.function_name, error.message)
            run.error, run.payload = True, _error(error.code, error.message)
        self.invocations.append(run)
        return run

    def _run_on(self, worker: Worker, function: LambdaFunction, run: Invocation) -> None:
        started, run.worker = self._clock.elapsed(), worker.id
        try:
            reply = self._ask(worker, function, run)
        except TimedOutError:
            message = f"{self._clock.iso()} {run.request_id} Task timed out after {function.timeout:.2f} seconds"
            reply = {"error": {"errorType": "Sandbox.Timedout", "errorMessage": message}}
            worker.warm = False
        except WorkerExitError:
            worker.warm = False
            raise
        finally:
            run.log = _write_log(function, worker, run, self._clock, self._clock.elapsed() - started)
        failed = reply.get("error") or reply.get("init_error")
        run.error, run.payload = bool(failed), json.dumps(failed) if failed else reply["result"]

    def _ask(self, worker: Worker, function: LambdaFunction, run: Invocation) -> dict[str, Any]:
        faults = self._context.faults
        if not worker.warm and (error := worker.init()):
            return {"init_error": error}
        if faults.take("lambda", run.function, "before", run.event):
            worker.crash()
        message = {"request_id": run.request_id, "arn": function.function_arn, "event": run.event}
        reply = worker.invoke(message, self._clock, float(function.timeout))
        if faults.take("lambda", run.function, "after", run.event):
            worker.crash()
        return reply

    def _check_runnable(self, function: LambdaFunction) -> None:
        if function.package_type != "Zip":
            raise ServiceError("Sandbox.Unsupported", "the sandbox does not run container images: use a zip package")
        if not str(function.run_time).startswith("python"):
            raise ServiceError(
                "Sandbox.Unsupported", f"the sandbox does not run {function.run_time}: only python runtimes"
            )
        if function.layers:
            raise ServiceError(
                "Sandbox.Unsupported", "the sandbox does not mount layers: put the code into the package"
            )


def _remembering(original: Callable[..., Any]) -> Callable[..., Any]:
    """Keep the two settings that moto drops from a function's configuration."""

    def configure(function: LambdaFunction, *args: Any, **given: Any) -> Any:
        result = original(function, *args, **given)
        config = next(value for value in (*args, *given.values()) if isinstance(value, dict))
        if group := config.get("LoggingConfig", {}).get("LogGroup"):
            function.logs_group_name = group
        if "DeadLetterConfig" in config:
            function.dead_letter_arn = config["DeadLetterConfig"].get("TargetArn", "")
        return result

    return configure


def _describe(function: LambdaFunction) -> Function:
    return Function(
        name=function.function_name,
        arn=function.function_arn,
        version=str(function.version),
        handler=function.handler,
        code_sha=function.code_sha_256,
        memory=int(function.memory_size),
        log_group=function.logs_group_name,
        region=function.region,
        environment=tuple(sorted((key, str(value)) for key, value in (function.environment_vars or {}).items())),
    )


def _error(kind: str, message: str) -> str:
    return json.dumps({"errorType": kind, "errorMessage": message})


def _exit_message(request_id: str, reason: str) -> str:
    return f"RequestId: {request_id} Error: Runtime exited with error: {reason}"


def _write_log(function: LambdaFunction, worker: Worker, run: Invocation, clock: Clock, seconds: float) -> str:
    """Put what the function wrote into its log group, framed as Lambda frames it."""
    text = (
        f"START RequestId: {run.request_id} Version: {function.version}\n{worker.read_log().rstrip()}\n"
        f"END RequestId: {run.request_id}\nREPORT RequestId: {run.request_id}\tDuration: {seconds * 1000:.2f} ms\n"
    )
    logs, group, now = function.logs_backend, function.logs_group_name, int(clock.now() * 1000)
    logs.ensure_log_group(group)
    logs.ensure_log_stream(group, worker.log_stream)
    logs.put_log_events(
        group, worker.log_stream, [{"timestamp": now, "message": line} for line in text.splitlines() if line]
    )
    return text
