"""What AWS refuses when a rule, a schedule or an event is made and moto would let pass."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from moto.events.models import EventsBackend, Rule
from moto.events.responses import EventsHandler
from moto.scheduler.models import EventBridgeSchedulerBackend
from moto.scheduler.responses import EventBridgeSchedulerResponse

from .rates import parse
from .targets import check_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.sandbox.patches import Patches

__all__ = ["refuse_what_never_fires"]

_RESERVED = {"ErrorCode": "NotAuthorizedForSourceException", "ErrorMessage": "Not authorized for the source."}


def refuse_what_never_fires(patches: Patches) -> None:
    """Refuse bad expressions and unknown targets when they are made, and events that only AWS may put."""
    patches.wrap(EventsBackend, "put_rule", _rule)
    patches.wrap(Rule, "put_targets", _targets)
    patches.set(EventsHandler, "put_events", _put_events)
    patches.wrap(EventBridgeSchedulerBackend, "create_schedule", _schedule)
    patches.wrap(EventBridgeSchedulerBackend, "update_schedule", _schedule)
    patches.wrap(EventBridgeSchedulerResponse, "update_schedule", _keeping_action)


def _rule(original: Callable[..., Any]) -> Callable[..., Any]:
    def put_rule(backend: EventsBackend, *args: Any, **given: Any) -> Any:
        if given.get("scheduled_expression"):
            parse(given["scheduled_expression"])
        return original(backend, *args, **given)

    return put_rule


def _targets(original: Callable[..., Any]) -> Callable[..., Any]:
    def put_targets(rule: Rule, targets: list[dict[str, Any]]) -> None:
        for target in targets:
            check_target(target["Arn"])
        original(rule, targets)

    return put_targets


def _schedule(original: Callable[..., Any]) -> Callable[..., Any]:
    def put(backend: EventBridgeSchedulerBackend, **given: Any) -> Any:
        parse(given["schedule_expression"], given["schedule_expression_timezone"] or "UTC")
        check_target(given["target"]["Arn"])
        # An update without a state enables, as a creation does.
        return original(backend, **given | {"state": given["state"] or "ENABLED"})

    return put


def _keeping_action(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let an update set ActionAfterCompletion, which moto drops."""

    def update_schedule(response: EventBridgeSchedulerResponse) -> Any:
        answer = original(response)
        body = json.loads(response.body)
        name = response.uri.partition("?")[0].rpartition("/")[2]
        schedule = response.scheduler_backend.get_schedule(body.get("GroupName"), name)
        schedule.action_after_completion = body.get("ActionAfterCompletion")
        return answer

    return update_schedule


def _put_events(handler: EventsHandler) -> str:
    """Answer PutEvents entry by entry; only AWS puts events whose source begins with ``aws.``."""
    entries = json.loads(handler.body).get("Entries") or []
    reserved = [str(entry.get("Source", "")).startswith("aws.") for entry in entries]
    allowed = [entry for entry, is_reserved in zip(entries, reserved, strict=True) if not is_reserved]
    # moto refuses too many entries; it must see all of them for that.
    put = iter(handler.events_backend.put_events(allowed if len(entries) <= 10 else entries))
    answers = [_RESERVED if is_reserved else next(put) for is_reserved in reserved]
    return json.dumps({"FailedEntryCount": sum("ErrorCode" in answer for answer in answers), "Entries": answers})
