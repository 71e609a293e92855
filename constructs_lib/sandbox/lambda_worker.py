"""The process that a Lambda function's code runs in: Lambda's Python runtime in small, on virtual time.

Run as ``python -I -S -B lambda_worker.py RUNTIME_DIRECTORY CLOCK_FILE`` with the variables Lambda sets. It reads one
JSON line an invocation from its standard input and answers with one line on its standard output; the function's own
output goes to standard error. Standard library only: the function must find nothing here but what Lambda would give it.
"""

from __future__ import annotations

import datetime as dt
import http.client
import importlib
import json
import logging
import mmap
import os
import site
import struct
import sys
import time
import traceback
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LINE", "SEQUENCE", "ClockLine", "main"]

SEQUENCE = struct.Struct("=Q")  # odd while the line is being written
LINE = struct.Struct("=dddd")  # virtual, real, rate, skipped
_REAL_SLEEP = time.sleep
_REAL_DATETIME = dt.datetime
_REQUEST_ID = "aws_request_id"


class ClockLine:
    """The sandbox's clock, read from the memory it shares.

    Parameters
    ----------
    path
        The file that the sandbox writes its clock's line to.
    """

    def __init__(self, path: str) -> None:
        with Path(path).open("rb") as file:
            self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _read(self) -> tuple[float, float]:
        while True:
            (before,) = SEQUENCE.unpack_from(self._memory)
            virtual, real, rate, skipped = LINE.unpack_from(self._memory, SEQUENCE.size)
            (after,) = SEQUENCE.unpack_from(self._memory)
            if before == after and before % 2 == 0:
                return virtual + (time.monotonic() - real) * rate, skipped

    def now(self) -> float:
        """Return virtual epoch seconds."""
        return self._read()[0]

    def elapsed(self) -> float:
        """Return virtual seconds without those that a jump skipped."""
        now, skipped = self._read()
        return now - skipped


def _virtual_sleep(seconds: Any, /) -> None:
    """Sleep on the sandbox's clock; it lets virtual time run at full speed meanwhile."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    if seconds == 0:
        return _REAL_SLEEP(0)
    address = os.environ["AWS_ENDPOINT_URL"].partition("://")[2]
    connection = http.client.HTTPConnection(address)
    headers = {"User-Agent": "app/" + os.environ["AWS_SDK_UA_APP_ID"]}
    connection.request("POST", "/_sandbox/sleep", json.dumps({"seconds": seconds}), headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != 200:
        raise OSError(f"the sandbox answered {answer.status} to a sleep")
    return None


class _DatetimeType(type):
    """Lets the virtual datetime stand for the real one in isinstance and issubclass."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _REAL_DATETIME)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _REAL_DATETIME)


class _VirtualDatetime(_REAL_DATETIME, metaclass=_DatetimeType):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls) -> Any:
        return cls.fromtimestamp(time.time(), dt.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Any:
        return cls.fromtimestamp(time.time())


_VirtualDatetime.__name__ = _VirtualDatetime.__qualname__ = "datetime"


def _use(clock: ClockLine) -> None:
    """Make the standard library tell the clock's time; monotonic and performance counters stay real."""
    time.time = clock.now
    time.time_ns = lambda: int(clock.now() * 1e9)
    time.sleep = _virtual_sleep
    for name in ("gmtime", "localtime", "ctime"):
        setattr(time, name, _defaulting(getattr(time, name), clock.now))
    for name in ("strftime", "asctime"):
        setattr(time, name, _defaulting(getattr(time, name), time.localtime))
    dt.datetime = _VirtualDatetime  # type: ignore[misc]


def _defaulting(function: Callable[..., Any], default: Callable[[], Any]) -> Callable[..., Any]:
    """Return a function of `time` whose last argument defaults to the virtual now."""
    arguments = 1 if function.__name__ == "strftime" else 0
    return lambda *given: function(*given, *([default()] if len(given) == arguments else []))


class Context:
    """The object a handler receives as its second argument."""

    def __init__(self, message: dict[str, Any], clock: ClockLine) -> None:
        self.aws_request_id: str = message["request_id"]
        self.invoked_function_arn: str = message["arn"]
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.identity = None
        self.client_context = None
        self._clock = clock
        self._deadline: float = message["deadline"]

    def get_remaining_time_in_millis(self) -> int:
        """Return milliseconds until the function's timeout."""
        return max(0, int((self._deadline - self._clock.elapsed()) * 1000))

    def log(self, message: str) -> None:
        """Write to the function's log."""
        sys.stdout.write(str(message))


class _LogHandler(logging.Handler):
    """Lambda's root log handler: level, time and request id before the message."""

    request_id = ""

    def emit(self, record: logging.LogRecord) -> None:
        setattr(record, _REQUEST_ID, self.request_id)
        sys.stdout.write(self.format(record) + "\n")


class _RuntimeNamedError(Exception):
    """A failure that Lambda's runtime itself names."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def _load_handler() -> Callable[[Any, Context], Any]:
    name = os.environ["_HANDLER"]
    module_name, dot, function_name = name.rpartition(".")
    if not dot:
        raise _RuntimeNamedError("Runtime.MalformedHandlerName", f"Bad handler '{name}': not enough values to unpack")
    try:
        module = importlib.import_module(module_name.replace("/", "."))
    except ImportError as error:
        raise _RuntimeNamedError(
            "Runtime.ImportModuleError", f"Unable to import module '{module_name}': {error}"
        ) from error
    except SyntaxError as error:
        message = f"Syntax error in module '{module_name}': {error}"
        raise _RuntimeNamedError("Runtime.UserCodeSyntaxError", message) from error
    handler: Callable[[Any, Context], Any] | None = getattr(module, function_name, None)
    if handler is None:
        raise _RuntimeNamedError(
            "Runtime.HandlerNotFound", f"Handler '{function_name}' missing on module '{module_name}'"
        )
    return handler


def _encode(value: Any) -> str:
    def default(item: Any) -> float:
        if isinstance(item, Decimal):
            return float(item)
        raise TypeError(f"Object of type {type(item).__name__} is not JSON serializable")

    try:
        return json.dumps(value, default=default)
    except (TypeError, ValueError) as error:
        raise _RuntimeNamedError("Runtime.MarshalError", f"Unable to marshal response: {error}") from error


def _describe(error: Exception) -> dict[str, Any]:
    """Return what Lambda answers when a handler raised, and log it as Lambda does."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    described = {
        "errorMessage": str(error),
        "errorType": error.kind if isinstance(error, _RuntimeNamedError) else type(error).__name__,
        "stackTrace": [] if isinstance(error, _RuntimeNamedError) else traceback.format_list(frames),
    }
    head = f"[ERROR] {described['errorType']}: {described['errorMessage']}\n"
    sys.stdout.write(head + "".join(["Traceback (most recent call last):\n", *described["stackTrace"]]))
    return described


def _take_streams() -> tuple[IO[str], IO[str]]:
    """Keep the pipes to the sandbox for ourselves and give the function's output to the log."""
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    return requests, replies


def _answer(replies: IO[str], reply: dict[str, Any]) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    replies.write(json.dumps(reply) + "\n")
    replies.flush()


def _prepare(runtime: str, clock: ClockLine) -> _LogHandler:
    """Set up what a function finds on Lambda: virtual time here, the import path, the root log handler."""
    _use(clock)
    site.setquit()
    sys.path[:0] = [os.environ["LAMBDA_TASK_ROOT"], runtime]
    form = f"[%(levelname)s]\t%(asctime)s.%(msecs)03dZ\t%({_REQUEST_ID})s\t%(message)s"
    formatter = logging.Formatter(form, "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    log = _LogHandler()
    log.setFormatter(formatter)
    logging.getLogger().addHandler(log)
    return log


def main(runtime: str, clock_file: str) -> None:
    """Load the function, then answer one invocation after the other until the sandbox closes the pipe."""
    requests, replies = _take_streams()
    clock = ClockLine(clock_file)
    log = _prepare(runtime, clock)
    try:
        handler = _load_handler()
    except Exception as error:  # noqa: BLE001 - whatever the function's module raises is its init error
        return _answer(replies, {"init_error": _describe(error)})
    _answer(replies, {"ready": True})
    for line in requests:
        message = json.loads(line)
        log.request_id = message["request_id"]
        try:
            reply: dict[str, Any] = {"result": _encode(handler(message["event"], Context(message, clock)))}
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is its answer
            reply = {"error": _describe(error)}
        _answer(replies, reply)
    return None


if __name__ == "__main__":
    status: object = 0
    try:
        main(sys.argv[1], sys.argv[2])
    except SystemExit as leaving:
        status = leaving.code
        if isinstance(status, str):
            sys.stderr.write(status + "\n")
    sys.stdout.flush()
    # Threads that the function left behind must not outlive the sandbox.
    os._exit(status if isinstance(status, int) else 0 if status is None else 1)
