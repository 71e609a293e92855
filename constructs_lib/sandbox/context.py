"""What every part of the sandbox is given: the clock, who and where it is, faults, events and clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clock import Clock
    from .faults import Faults

__all__ = ["ACCOUNT", "Context"]

ACCOUNT = "123456789012"


@dataclass(frozen=True)
class Context:
    """The surroundings of a sandbox's parts.

    Parameters
    ----------
    clock
        Virtual time.
    account, region
        The one account, and the region of everything.
    url
        Where the sandbox listens, such as ``http://127.0.0.1:5005``.
    faults
        Planned failures and switches.
    emit
        ``emit(source, detail_type, detail, resources)`` puts an event on the default bus at virtual time; it never
        raises and returns before the event is delivered.
    client
        ``client(service)`` returns a botocore client of the sandbox itself, without retries.
    """

    clock: Clock
    faults: Faults
    emit: Callable[[str, str, dict[str, Any], list[str]], None]
    client: Callable[[str], Any]
    account: str = ACCOUNT
    region: str = "us-east-1"
    url: str = "http://127.0.0.1:5005"
