"""The log lines of the keeper: figures in CloudWatch's embedded metric format, and what was called."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from constructs_lib.model.endpoint_names import ENDPOINT_DIMENSION, METRIC_NAMESPACE

if TYPE_CHECKING:
    from constructs_lib.model.endpoints_rules import Action, Decision
    from constructs_lib.model.endpoints_view import View

__all__ = ["action_line", "endpoint_line"]


def endpoint_line(decision: Decision, view: View) -> str:
    """Return the line of one run for one endpoint.

    ``SecondsToCut`` is there while the endpoint is on a plan: how long it may stay.
    """
    item = decision.item
    values: dict[str, float] = {
        "EndpointState": int(decision.as_declared),
        "RolledBack": int(item.state == "RolledBack"),
        "NoHeadRoom": int(item.state == "NoHeadRoom"),
        "PlanInstancesUsed": decision.used,
    }
    if view.on and decision.cut:
        values["SecondsToCut"] = (decision.cut - view.now).total_seconds()
    metrics = [{"Name": name, "Unit": "Seconds" if name == "SecondsToCut" else "Count"} for name in values]
    directive = {"Namespace": METRIC_NAMESPACE, "Dimensions": [[ENDPOINT_DIMENSION]], "Metrics": metrics}
    line = {
        "_aws": {"Timestamp": int(view.now.timestamp() * 1000), "CloudWatchMetrics": [directive]},
        ENDPOINT_DIMENSION: item.name,
        **values,
        "status": view.endpoint.status,
        "config": view.endpoint.config,
        "state": item.state,
        "reason": item.reason,
        "next": f"{item.next_action} {item.next_at}".strip(),
    }
    return json.dumps(line, separators=(",", ":"))


def action_line(name: str, action: Action, kind: str, words: str) -> str:
    """Return the line of one call."""
    line = {"endpoint": name, "call": action.call, "about": action.name, "why": action.why, "outcome": kind}
    return json.dumps(line | ({"words": words} if words else {}), separators=(",", ":"))
