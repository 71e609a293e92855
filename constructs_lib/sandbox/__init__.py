"""The embedded AWS: one process on one port of 127.0.0.1 that a CDK app deploys to and its Lambdas run in."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .clock import Clock
    from .errors import SandboxError, ServiceError
    from .faults import Faults, Late
    from .sagemaker import Capacity
    from .server import Sandbox

__all__ = ["Capacity", "Clock", "Faults", "Late", "Sandbox", "SandboxError", "ServiceError"]

_HOME = {
    "Capacity": ".sagemaker",
    "Clock": ".clock",
    "Faults": ".faults",
    "Late": ".faults",
    "Sandbox": ".server",
    "SandboxError": ".errors",
    "ServiceError": ".errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name], __name__), name)
