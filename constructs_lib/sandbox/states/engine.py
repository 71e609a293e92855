"""The one place that knows which sandbox the patched engine works for."""

from __future__ import annotations

import functools
import json
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore.config import Config

from constructs_lib.sandbox import switches
from constructs_lib.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.sandbox.context import Context

    from .tokens import Tokens

__all__ = ["Engine", "current", "iso", "now", "parsed", "reading", "session", "spawn", "text", "use"]

_STACK_BYTES = 1024 * 1024  # Python 3.11 keeps Python frames on the heap; 8 MiB of address space a thread is waste
_FOREVER = 10**7  # real seconds; the engine's own time limits are virtual


@dataclass
class Engine:
    """The state machine engine of one sandbox: its surroundings, task tokens and running executions."""

    context: Context
    tokens: Tokens
    running: dict[str, Any] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    _clients: dict[tuple[str, str], Any] = field(default_factory=dict)

    def client(self, service_name: str, region_name: str) -> Any:
        """Return a client of the sandbox as a state machine's role would have it: no retries, nothing checked."""
        with self.lock:  # making clients is not thread-safe in botocore, using them is
            if (service_name, region_name) not in self._clients:
                self._clients[service_name, region_name] = session().create_client(
                    service_name,
                    region_name=region_name,
                    endpoint_url=self.context.url,
                    aws_access_key_id="states",
                    aws_secret_access_key="states",  # noqa: S106 - nothing verifies signatures here
                    config=Config(
                        parameter_validation=False,
                        retries={"total_max_attempts": 1},
                        connect_timeout=_FOREVER,
                        read_timeout=_FOREVER,
                        max_pool_connections=50,
                        s3={"addressing_style": "path"},
                    ),
                )
            return self._clients[service_name, region_name]


_engine: Engine | None = None


def use(engine: Engine | None) -> Engine | None:
    """Make `engine` the one that moto's engine works for; return the one before."""
    global _engine
    before, _engine = _engine, engine
    return before


def current() -> Engine:
    """Return the engine in use."""
    if _engine is None:
        raise SandboxError("no sandbox runs state machines in this process: call constructs_lib.sandbox.states.install")
    return _engine


def now() -> datetime:
    """Return the virtual time."""
    return datetime.fromtimestamp(current().context.clock.now(), UTC)


def reading(name: str) -> str:
    """Return the reading in force of an open question, a row of ``facts/unknowns.json``."""
    return switches.reading(current().context.faults, name)


def iso(moment: datetime) -> str:
    """Return a moment as the context object and SDK results show it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def text(value: Any) -> str:
    """Return a value as compact JSON."""
    return json.dumps(value, separators=(",", ":"), default=lambda o: iso(o) if isinstance(o, datetime) else str(o))


def parsed(value: str) -> Any:
    """Return what a JSON text says, or the text itself."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def spawn(work: Callable[[], None], name: str) -> threading.Thread:
    """Run `work` on a daemon thread with a small stack."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    before = threading.stack_size(_STACK_BYTES)
    try:
        thread.start()
    finally:
        threading.stack_size(before)
    return thread


@functools.cache
def session() -> Any:
    """Return the botocore session that holds the service models, which cost most of a client."""
    return botocore.session.get_session()
