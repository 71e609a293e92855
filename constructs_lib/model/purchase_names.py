"""The names by which what is deployed and what runs know each other's table, events, metrics and variables."""

from __future__ import annotations

__all__ = [
    "ASK_AGAIN_CONTEXT",
    "EVENT_SOURCE",
    "METRIC_DIMENSION",
    "METRIC_NAMESPACE",
    "NOTICE",
    "NOTICE_TOPIC_VARIABLE",
    "PLAN_METRICS",
    "PURCHASE_TABLE",
    "PURCHASE_TABLE_VARIABLE",
    "STATUS_CHANGE",
]

PURCHASE_TABLE = "gpu-capacity-purchases"
"""The DynamoDB table with a record for each identity, made by the buyer and owned by no stack."""
PURCHASE_TABLE_VARIABLE = "GPUCAP_PURCHASE_TABLE"
NOTICE_TOPIC_VARIABLE = "GPUCAP_NOTICE_TOPIC"

ASK_AGAIN_CONTEXT = "@gpu-capacity/ask-again"
"""Any new text under this context key makes a deploy ask again: for a fresh quote, or with an approval given since.

CloudFormation sends no event for a resource whose properties stay as they are.
"""

EVENT_SOURCE = "gpu-capacity"
STATUS_CHANGE = "Training Plan Status Change"
NOTICE = "Training Plan Notice"
"""Source and detail types of what the watcher puts on the default bus."""

METRIC_NAMESPACE = "GpuCapacity"
METRIC_DIMENSION = "TrainingPlanName"
PLAN_METRICS = (
    "UnusedReservedInstanceHours",
    "AvailableInstances",
    "InUseInstances",
    "PendingPayment",
    "StartDelayMinutes",
    "HoursToEnd",
)
"""What the watcher measures of each live plan, every five minutes."""
