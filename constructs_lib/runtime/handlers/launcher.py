"""The launcher function: launch and stop for state machines, starts on plans, events, and the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError
from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.runtime.composition import RUN_TABLE, services, setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.runtime.composition import Services

__all__ = ["handler", "route"]

# What holds a job's name in an event, by the kind of job.
_NAMES = frozenset(kind.name_key for kind in JOB_KINDS.values())


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
        case {"action": "launch" | "stop" as action}:
            from constructs_lib.runtime.launch import Launch  # noqa: PLC0415  events and sweeps do without

            launch = Launch.from_payload(event)
            act = to.launching.launch if action == "launch" else to.launching.stop
            return {"job": launch.name, "did": act(launch)}
        case {"action": "sweep"}:
            return {"rows": to.sweeping.sweep()}
        case {"action": "report"}:
            return to.fleet_report.report(event)
        case {"action": "start"}:
            return {"plan": event.get("plan"), "did": to.starting.start(event)}
        case {"source": "aws.sagemaker", "detail": detail} if names := _NAMES.intersection(detail):
            name = str(detail[min(names)])
            to.completion.heard_of(name)
            return {"job": name}
        case {"source": "aws.states", "detail": {"executionArn": str(execution)}}:
            return {"rows": to.sweeping.execution_ended(execution)}
    raise InvalidInputError(
        f"an event with {', '.join(sorted(event)) or 'nothing'} in it is not for the launcher: it takes the actions "
        "launch, stop, sweep, start and report, and events of aws.sagemaker (jobs) and aws.states (executions)"
    )
