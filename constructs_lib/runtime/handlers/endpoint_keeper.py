"""The keeper function: runs for endpoints, on a schedule, on a hint, or when it is woken. One at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError
from constructs_lib.runtime.endpoint_keeper import services

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.runtime.endpoint_keeper import EndpointServices

__all__ = ["handler", "route"]


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001  Lambda's signature
    """Handle one invocation."""
    return route(event, services())


def route(event: Mapping[str, Any], to: EndpointServices) -> dict[str, Any]:
    """Run for the endpoints that an event is about; an event of an endpoint is a hint only.

    Raises
    ------
    InvalidInputError
        For an event of no known shape.
    """
    match event:
        case {"action": "reconcile"}:
            return {"calls": to.reconciling.run(event.get("names", ()))}
        case {"source": "aws.sagemaker", "detail": {"EndpointName": str(name)}}:
            return {"calls": to.reconciling.run((name,))}
    raise InvalidInputError(
        f"an event with {', '.join(sorted(event)) or 'nothing'} in it is not for the keeper: it takes the action "
        "reconcile, and events of aws.sagemaker (endpoints)"
    )
