"""The launcher function: launch and stop for state machines, events, and the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError
from constructs_lib.runtime.composition import RUN_TABLE, services, setting
from constructs_lib.runtime.launch import Launch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.runtime.composition import Services

__all__ = ["handler", "route"]


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001  Lambda's signature
    """Handle one invocation."""
    return route(event, services(setting(RUN_TABLE)))


def route(event: Mapping[str, Any], to: Services) -> dict[str, Any]:
    """Give an event to the service it is for, by its shape.

    Raises
    ------
    InvalidInputError
        For an event of no known shape.
    """
    match event:
        case {"action": "launch"}:
            launch = Launch.from_payload(event)
            return {"job": launch.name, "did": to.launching.launch(launch)}
        case {"action": "stop"}:
            launch = Launch.from_payload(event)
            return {"job": launch.name, "did": to.launching.stop(launch)}
        case {"action": "sweep"}:
            return {"rows": to.sweeping.sweep()}
        case {"source": "aws.sagemaker", "detail": {"TrainingJobName": str(name)}}:
            to.completion.heard_of(name)
            return {"job": name}
        case {"source": "aws.states", "detail": {"executionArn": str(execution)}}:
            return {"rows": to.sweeping.execution_ended(execution)}
    raise InvalidInputError(
        f"an event with {', '.join(sorted(event)) or 'nothing'} in it is not for the launcher: it takes the actions "
        "launch, stop and sweep, and events of aws.sagemaker (training jobs) and aws.states (executions)"
    )
