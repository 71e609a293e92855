"""Bare requests: which API a JSON object is meant for, told by the members that only that API has."""

from __future__ import annotations

from typing import Any

from constructs_lib.rules.subjects import Kind

__all__ = ["policy_document", "request_kind"]

# The first line whose members are all present names the API. The order goes from the specific to the general.
_SIGNS: tuple[tuple[frozenset[str], Kind], ...] = (
    (frozenset({"HyperParameterTuningJobName"}), Kind.TUNING_JOB),
    (frozenset({"HyperParameterTuningJobConfig"}), Kind.TUNING_JOB),
    (frozenset({"AutoMLJobName"}), Kind.AUTO_ML_JOB),
    (frozenset({"ProcessingResources"}), Kind.PROCESSING_JOB),
    (frozenset({"ProcessingJobName"}), Kind.PROCESSING_JOB),
    (frozenset({"TrainingJobName"}), Kind.TRAINING_JOB),
    (frozenset({"AlgorithmSpecification", "ResourceConfig"}), Kind.TRAINING_JOB),
    (frozenset({"ProductionVariants"}), Kind.ENDPOINT_CONFIG),
    (frozenset({"EndpointName", "EndpointConfigName"}), Kind.ENDPOINT),
    (frozenset({"ClusterName", "InstanceGroups"}), Kind.CLUSTER),
    (frozenset({"TrainingPlanName"}), Kind.TRAINING_PLAN),
    (frozenset({"ScalableDimension", "ResourceId"}), Kind.SCALABLE_TARGET),
    (frozenset({"LaunchTemplateData"}), Kind.LAUNCH_TEMPLATE),
    (frozenset({"InstanceMarketOptions"}), Kind.LAUNCH_TEMPLATE),
    (frozenset({"CapacityDurationHours"}), Kind.CAPACITY_BLOCK_SEARCH),
    (frozenset({"TargetResources", "DurationHours"}), Kind.TRAINING_PLAN_SEARCH),
    (frozenset({"source", "detail-type"}), Kind.EVENT_PATTERN),
    (frozenset({"source", "detail_type"}), Kind.EVENT_PATTERN),
    (frozenset({"source", "detail"}), Kind.EVENT_PATTERN),
)


def request_kind(data: Any) -> Kind | None:
    """Return the kind of a bare request, or ``None`` if it looks like none that a rule knows.

    Examples
    --------
    >>> request_kind({"TrainingJobName": "x", "ResourceConfig": {}}), request_kind({"name": "x"})
    (<Kind.TRAINING_JOB: 'training-job'>, None)
    """
    if not isinstance(data, dict):
        return None
    return next((kind for signs, kind in _SIGNS if signs <= data.keys()), None)


def policy_document(data: Any) -> bool:
    """Tell whether parsed data is a bare IAM policy document.

    Examples
    --------
    >>> policy_document({"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}]})
    True
    """
    statements = data.get("Statement") if isinstance(data, dict) else None
    first = statements[0] if isinstance(statements, list) and statements else statements
    return isinstance(first, dict) and "Effect" in first
