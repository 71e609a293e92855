"""Planned failures: which call fails, before or after it took effect, and how."""

from __future__ import annotations

import difflib
import functools
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import botocore.session
from botocore.exceptions import UnknownServiceError

from .errors import SandboxError
from .protocol import sdk_name, signing_name

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Fault", "Faults", "Late", "When"]


@dataclass(frozen=True, slots=True)
class Late:
    """The caller loses its connection at once, and the request takes effect so many virtual seconds later."""

    seconds: float


When = Literal["before", "after"]
Effect = tuple[str, str, int] | str | float | Late
_WORDS = ("drop", "kill-caller", "crash")


@dataclass
class Fault:
    """One planned failure, made by `Faults.add`."""

    service: str
    operation: str
    when: When
    error: Effect
    times: int | None
    match: Callable[[dict[str, Any]], bool] | None


class Faults:
    """The planned failures of a sandbox and its named switches.

    Attributes
    ----------
    hits
        How often a fault took effect, counted by ``("service.operation", "before" or "after")``.

    Examples
    --------
    >>> faults = Faults()
    >>> _ = faults.add("sagemaker", "CreateTrainingJob", when="after", error=("InternalFailure", "try again", 500))
    >>> faults.take("sagemaker", "CreateTrainingJob", "after", {}).error[0]
    'InternalFailure'
    >>> faults.take("sagemaker", "CreateTrainingJob", "after", {}) is None
    True
    >>> faults.hits[("sagemaker.CreateTrainingJob", "after")]
    1
    """

    def __init__(self) -> None:
        self.hits: Counter[tuple[str, str]] = Counter()
        self._planned: list[Fault] = []
        self._switches: dict[str, str] = {}
        self._lock = threading.Lock()

    def add(
        self,
        service: str,
        operation: str,
        *,
        when: When = "before",
        error: Effect,
        times: int | None = 1,
        match: Callable[[dict[str, Any]], bool] | None = None,
    ) -> Fault:
        """Plan a failure.

        Parameters
        ----------
        service
            SigV4's or boto3's name of the service: ``sagemaker``, ``states`` or ``stepfunctions``, ``lambda`` ...
        operation
            The API operation; with ``crash`` the name of a Lambda function.
        when
            ``before``: the service never sees the request. ``after``: the request takes effect and its answer is lost.
        error
            ``(code, message, HTTP status)`` answers with that error. ``drop`` closes the connection without an answer.
            A number delays by that many virtual seconds and then goes on. `Late` closes the connection and lets the
            request take effect later, as a call whose caller gave up. ``kill-caller`` kills the Lambda worker that
            made the request. ``crash`` (service ``lambda``) kills the worker of that function before its handler runs
            or after the handler returned, as `when` says.
        times
            How many requests fail; None for all.
        match
            Receives the request's parameters (with ``crash`` the event) and says whether it is meant; all if left out.

        Raises
        ------
        SandboxError
            If the fault could never take effect as written.
        """
        service = signing_name(service)
        _check(service, operation, when, error, times)
        fault = Fault(service, operation, when, error, times, match)
        with self._lock:
            self._planned.append(fault)
        return fault

    def take(
        self, service: str, operation: str, when: When, request: dict[str, Any], *, by_worker: bool = False
    ) -> Fault | None:
        """Use up and return the first planned failure that this request meets.

        Parameters
        ----------
        service, operation, when, request
            As in `add`.
        by_worker
            Whether a Lambda worker made the request; ``kill-caller`` waits for one that did.
        """
        with self._lock:
            for fault in self._planned:
                if (fault.service, fault.operation, fault.when) != (signing_name(service), operation, when):
                    continue
                if fault.error == "kill-caller" and not by_worker:
                    continue
                if fault.match is not None and not fault.match(request):
                    continue
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times == 0:
                        self._planned.remove(fault)
                self.hits[f"{fault.service}.{operation}", when] += 1
                return fault
        return None

    def pending(self) -> list[Fault]:
        """Return the planned failures that still wait for a request."""
        with self._lock:
            return list(self._planned)

    def clear(self) -> None:
        """Forget all planned failures and switches; `hits` stays."""
        with self._lock:
            self._planned.clear()
            self._switches.clear()

    def switch(self, name: str, value: str) -> None:
        """Set a named switch that a part of the sandbox reads, such as ``events.sagemaker`` to ``lost``."""
        self._switches[name] = value

    def state(self, name: str, default: str) -> str:
        """Return a switch's value."""
        return self._switches.get(name, default)


def _check(service: str, operation: str, when: str, error: Effect, times: int | None) -> None:
    if when not in ("before", "after"):
        raise SandboxError(f"when={when!r} is not known: use 'before' or 'after'")
    if times is not None and times < 1:
        raise SandboxError(f"times={times!r} never fails anything: use 1 or more, or None for always")
    if isinstance(error, str) and error not in _WORDS:
        raise SandboxError(
            f"error={error!r} is not known: use one of {', '.join(_WORDS)}, (code, message, status), seconds or Late"
        )
    if isinstance(error, Late) and when != "before":
        raise SandboxError("Late lets a request take effect later: use it with when='before'")
    if error == "crash":
        if service != "lambda":
            raise SandboxError(
                f"error='crash' is for service 'lambda', not {service!r}; 'kill-caller' kills the Lambda that calls it"
            )
        return
    names = _operations(service)
    if operation not in names:
        near = difflib.get_close_matches(operation, names, n=3)
        hint = f": did you mean {', '.join(near)}?" if near else ""
        raise SandboxError(f"{service} has no operation {operation!r}{hint}")


@functools.cache
def _operations(service: str) -> frozenset[str]:
    try:
        model = botocore.session.get_session().get_service_model(sdk_name(service))
    except UnknownServiceError:
        raise SandboxError(
            f"botocore knows no service {service!r}: use a name such as 'sagemaker' or 'dynamodb'"
        ) from None
    return frozenset(model.operation_names)
