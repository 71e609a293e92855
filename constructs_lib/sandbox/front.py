"""The WSGI application: planned failures first, then our own services or moto."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections import deque
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.test import run_wsgi_app

from .dynamodb import Items
from .errors import SandboxError, ServiceError
from .faults import Late
from .protocol import Call, Response, error_response, read_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .context import Context
    from .faults import Fault
    from .lambdas import Lambdas

__all__ = ["Front", "Request"]

LOG = logging.getLogger(__name__)
_CONTROL = "/_sandbox/"


@dataclass
class Request:
    """One API call that the sandbox received."""

    time: float
    service: str
    operation: str
    request: dict[str, Any]
    caller: str
    status: int = 0


class _DroppedError(ConnectionError):
    """The connection is closed without an answer; werkzeug takes any ConnectionError for that."""


def _backend(service: str) -> Any:
    """Return moto's application of one service; what it lacks is said in words, not with a traceback."""
    app = create_backend_app(service)
    app.register_error_handler(NotImplementedError, _lacking)
    return app


def _lacking(error: NotImplementedError) -> tuple[dict[str, str], int]:
    return {"__type": "NotImplemented", "message": f"the sandbox lacks this: {error}"}, HTTPStatus.NOT_IMPLEMENTED


class Front:
    """Dispatches each request by the service it is signed for.

    Parameters
    ----------
    context
        The sandbox's surroundings.
    lambdas
        Whose workers may be the callers.

    Attributes
    ----------
    services
        Our own services: SigV4's name -> a function from call to response. All others are moto's.
    mounted
        WSGI applications by the beginning of their paths.
    after
        Called with a service's name after each of its calls.
    requests
        The latest calls, the oldest first.
    """

    def __init__(self, context: Context, lambdas: Lambdas) -> None:
        self.services: dict[str, Callable[[Call], Response]] = {}
        self.mounted: dict[str, Callable[..., Iterable[bytes]]] = {}
        self.after: dict[str, Callable[[], None]] = {}
        self.requests: deque[Request] = deque(maxlen=10_000)
        self._context = context
        self._lambdas = lambdas
        self._moto = DomainDispatcherApplication(_backend)
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()
        self._dynamodb = threading.Lock()
        self._items = Items(context)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one HTTP request."""
        with self._lock:
            self._threads = {thread for thread in self._threads if thread.is_alive()} | {threading.current_thread()}
        path = environ["PATH_INFO"]
        for prefix, app in self.mounted.items():
            if path.startswith(prefix):
                return app(environ, start_response)
        if path.startswith(_CONTROL):
            status, headers, body = self._control(environ)
        elif call := read_call(environ):
            status, headers, body = self._serve(call, environ)
        else:
            status, headers, body = self._ask_moto(environ)
        headers["Content-Length"] = str(len(body))
        start_response(f"{status} {HTTPStatus(status).phrase}", list(headers.items()))
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def threads(self) -> list[threading.Thread]:
        """Return the threads that answer requests now."""
        with self._lock:
            return [thread for thread in self._threads if thread.is_alive()]

    def _serve(self, call: Call, environ: dict[str, Any]) -> Response:
        entry = Request(self._context.clock.now(), call.service, call.operation, call.request, call.caller)
        self.requests.append(entry)
        response = self._suffer(call, "before", environ)
        if response is None:
            response = self._dispatch(call, environ)
            entry.status = response[0]
            response = self._suffer(call, "after", environ) or response
        entry.status = entry.status or response[0]
        return response

    def _dispatch(self, call: Call, environ: dict[str, Any]) -> Response:
        try:
            if call.service in self.services:
                return self.services[call.service](call)
            if call.operation == "Invoke":
                with self._lambdas.waiting(call.caller):
                    return self._ask_moto(environ)
            if call.service == "dynamodb":  # moto checks a condition and writes in two steps, DynamoDB in one
                with self._dynamodb:
                    return self._ask_tables(call, environ)
            return self._ask_moto(environ)
        except ServiceError as error:
            return error_response(call, error)
        except ConnectionError:
            raise
        except Exception as error:
            LOG.exception("%s.%s failed inside the sandbox", call.service, call.operation)
            message = f"the sandbox failed: {type(error).__name__}: {error}"
            return error_response(call, ServiceError("InternalFailure", message, 500))
        finally:
            if call.service in self.after:
                self.after[call.service]()

    def _ask_tables(self, call: Call, environ: dict[str, Any]) -> Response:
        answer = self._items.answer(call)
        if answer is None:
            answer = self._ask_moto(environ)
            self._items.learn(call, answer)
        return answer

    def _ask_moto(self, environ: dict[str, Any]) -> Response:
        body, status, headers = run_wsgi_app(self._moto, environ, buffered=True)
        first: dict[str, tuple[str, str]] = {}
        for name, value in headers.items():  # moto adds a request id of its own behind Lambda's
            first.setdefault(name.lower(), (name, value))
        return int(status.split()[0]), dict(first.values()), b"".join(body)

    def _suffer(self, call: Call, when: Any, environ: dict[str, Any]) -> Response | None:
        """Let planned failures happen; return the answer if one of them is an answer."""
        by_worker = self._lambdas.is_worker(call.caller)
        while fault := self._context.faults.take(call.service, call.operation, when, call.request, by_worker=by_worker):
            if isinstance(fault.error, tuple):
                return error_response(call, ServiceError(*fault.error))
            if isinstance(fault.error, Late):
                self._serve_later(call, fault.error.seconds, environ)
            if isinstance(fault.error, str | Late):
                self._drop(call, fault, environ)
            else:
                with self._lambdas.waiting(call.caller):
                    self._context.clock.sleep(float(fault.error))
        return None

    def _drop(self, call: Call, fault: Fault, environ: dict[str, Any]) -> None:
        if fault.error == "kill-caller":
            self._lambdas.kill(call.caller)
        environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        raise _DroppedError

    def _serve_later(self, call: Call, seconds: float, environ: dict[str, Any]) -> None:
        clock = self._context.clock
        due = clock.now() + seconds

        def serve() -> None:
            if clock.wait_until(due):
                self._dispatch(call, environ)

        thread = threading.Thread(target=serve, name=f"sandbox-late-{call.operation}", daemon=True)
        with self._lock:
            self._threads.add(thread)
            thread.start()  # within the lock: `threads` drops what is not alive

    def _control(self, environ: dict[str, Any]) -> Response:
        """Answer ``/_sandbox/``: now, sleep, advance, health and requests."""
        clock = self._context.clock
        try:
            what, given = environ["PATH_INFO"].removeprefix(_CONTROL), _parameters(environ)
            if what == "sleep":
                caller = environ.get("HTTP_USER_AGENT", "").removeprefix("app/")
                with self._lambdas.waiting(caller):
                    clock.sleep(_seconds(given))
            elif what == "advance":
                clock.jump(_seconds(given))
            elif what == "requests":
                return _json([asdict(entry) for entry in list(self.requests)])
            elif what == "health":
                return _json({"status": "running", "url": self._context.url, "services": sorted(self.services)})
            elif what != "now":
                names = "now, sleep, advance, health, requests"
                return _json({"message": f"{_CONTROL}{what} is not known: use one of {names}"}, 404)
        except SandboxError as error:
            return _json({"message": str(error)}, 400)
        return _json({"now": clock.now(), "iso": clock.iso(), "speed": clock.speed})


def _parameters(environ: dict[str, Any]) -> Any:
    try:
        return json.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)) or b"{}")
    except ValueError as error:
        raise SandboxError(f"the body is no JSON: {error}") from None


def _seconds(given: Any) -> float:
    seconds = given.get("seconds") if isinstance(given, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise SandboxError('give virtual seconds as a JSON body, such as {"seconds": 60}')
    return float(seconds)


def _json(value: Any, status: int = 200) -> Response:
    return status, {"Content-Type": "application/json"}, json.dumps(value, default=str).encode()
