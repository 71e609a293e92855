"""EventBridge and its Scheduler: moto keeps buses, rules and schedules and matches; delivery and time are here."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import threading
from typing import TYPE_CHECKING, Any

from moto.events.models import Rule, events_backends

from constructs_lib.sandbox.switches import reading

from .checks import refuse_what_never_fires
from .inputs import rule_input
from .schedules import Schedules
from .targets import Targets

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.sandbox.context import Context
    from constructs_lib.sandbox.patches import Patches
    from constructs_lib.sandbox.tasks import Tasks

__all__ = ["Events", "Targets"]

_LATE = 45.0  # virtual seconds by which every other event comes late under "thrice"
_COPIES = (0.0, 1.0, 120.0)


class Events:
    """Delivers what rules match and fires what is scheduled.

    The switch ``events.<source without aws.>`` of the sandbox's faults decides for each source: ``delivered``
    (default), ``lost``, or ``thrice``: three times within two minutes, and every other event so late that the next
    overtakes it.
    Whether a target's policy or role allows the call is not checked.
    """

    def __init__(self, context: Context, tasks: Tasks, targets: Targets) -> None:
        self._context = context
        self._tasks = tasks
        self._targets = targets
        self._schedules = Schedules(context, tasks, targets)
        self._counter = itertools.count()
        self._lock = threading.Lock()

    def emit(self, source: str, detail_type: str, detail: dict[str, Any], resources: list[str]) -> None:
        """Put an event on the default bus as an AWS service does."""
        entry = {
            "Source": source,
            "DetailType": detail_type,
            "Detail": json.dumps(detail),
            "Resources": resources,
            "Time": self._context.clock.now(),
        }
        bus = events_backends[self._context.account][self._context.region]
        self._tasks.spawn("event", bus.put_events, [entry])

    def refresh(self) -> None:
        """Follow changes of rules and schedules; the server calls this after each of their API calls."""
        self._schedules.refresh()

    def install(self, patches: Patches) -> None:
        """Make moto's rules deliver here, and its stores refuse what could never fire."""

        def delivering(forward: Callable[..., None]) -> Callable[..., None]:
            def send_to_targets(rule: Rule, event: Any, transform_input: bool = True) -> None:
                message = self._message(event)
                # A rule with a schedule only has an empty pattern, which moto takes for one that matches everything.
                matches = rule.event_pattern.get_pattern() and rule.event_pattern.matches_event(message)
                if matches and rule.state == "ENABLED":
                    self._send(rule, message, lambda only: forward(only, event, transform_input))

            return send_to_targets

        patches.wrap(Rule, "send_to_targets", delivering)
        refuse_what_never_fires(patches)

    def _message(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return an event as a target sees it; moto keeps its time as a number and adds when it came in."""
        moment = event["time"]
        if not isinstance(moment, str):
            moment = self._context.clock.iso(float(moment))[:19] + "Z"
        return {key: value for key, value in event.items() if key != "ingestion-time"} | {"time": moment}

    def _send(self, rule: Rule, message: dict[str, Any], forward: Callable[[Rule], None]) -> None:
        delays = self._delays(message["source"])
        clock, received = self._context.clock, self._context.clock.iso()
        missing = {"nothing": "", "empty text": '""'}[reading(self._context.faults, "events.missing-path")]
        for target in list(rule.targets):
            if target["Arn"].split(":")[2] == "events":
                work = functools.partial(forward, _only(rule, target))
            else:
                text = rule_input(target, message, rule.arn, received, missing)
                work = functools.partial(self._targets.deliver, target, text)
            spawn = functools.partial(self._tasks.spawn, f"rule-{rule.name}", work)
            for delay in delays:
                if delay:
                    clock.call_at(clock.now() + delay, spawn)
                else:
                    spawn()

    def _delays(self, source: str) -> list[float]:
        state = self._context.faults.state(f"events.{source.removeprefix('aws.')}", "delivered")
        if state == "lost":
            return []
        if state == "thrice":
            with self._lock:
                late = _LATE if next(self._counter) % 2 == 0 else 0.0
            return [late + copy for copy in _COPIES]
        return [0.0]


def _only(rule: Rule, target: dict[str, Any]) -> Rule:
    """Return a copy of a rule with one target: another bus, an archive or an API destination, where moto delivers."""
    only = copy.copy(rule)
    only.targets = [target]
    return only
