"""What the roles that launch jobs may do: the launcher's, the machines' and the schedule's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.shared.policies import Place, Statement, allow
from constructs_lib.workloads.policies import volume_key_statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constructs_lib.workloads.access import Reach

__all__ = ["WHY_WIDE", "job_statements", "launcher_statements", "machine_statements", "sync_statements"]

WHY_WIDE = {
    "cloudwatch": "PutMetricData has no resource types; the namespace is bounded",
    "dynamodb": "the table's own indexes",
    "ec2": "an interface has no name before it exists; these are the calls that SageMaker documents for jobs in a VPC",
    "ecr": "the log-in to ECR has no resource types, and a repository that is known only at deploy is not named",
    "iam": "the execution roles of this stack's jobs, by their path; passed to SageMaker only",
    "kms": "an alias is a condition in IAM, not a resource",
    "logs": "log delivery has no resource types; the streams of training jobs are made by SageMaker",
    "s3": "the objects under the prefixes that the jobs name",
    "sagemaker": "jobs whose names start with the stack's prefix; a plan's reserved capacity, whose id nobody knows",
    "states": "the executions of the stack's machines; a task token has no resource",
    "xray": "tracing has no resource types",
}
"""Why a statement of ours names more than one resource, by the service of its actions."""


def job_statements(place: Place, reach: Reach, *, prefix: str, passed: Sequence[str]) -> list[Statement]:
    """Return what creates, watches and stops training jobs.

    Parameters
    ----------
    place : Place
    reach : Reach
        What the jobs reach: plans and volume keys matter to the caller too.
    prefix : str
        The start of the jobs' names.
    passed : sequence of str
        The execution roles' ARNs.

    Notes
    -----
    A plan needs CreateTrainingJob on the plan and on its reserved capacity too, whose ids nobody knows before.
    Source: IAM permissions for SageMaker training plans.
    """
    # SageMaker writes names into ARNs in lower case, and IAM compares case: both forms are allowed.
    names = dict.fromkeys((prefix, prefix.lower()))
    jobs: list[Any] = [place.arn("sagemaker", f"training-job/{name}*") for name in names]
    plans: list[Any] = sorted(reach.plans)
    if plans:
        plans.append(place.arn("sagemaker", "reserved-capacity/*"))
    watch = ["sagemaker:DescribeTrainingJob", "sagemaker:StopTrainingJob", "sagemaker:ListTags", "sagemaker:AddTags"]
    to_sagemaker = {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    return [
        allow(["sagemaker:CreateTrainingJob"], jobs + plans),
        allow(watch, jobs),
        allow(["iam:PassRole"], list(passed), to_sagemaker),
        *volume_key_statements(place, reach),
    ]


def launcher_statements(place: Place, *, table: str, log_group: str, machines: Sequence[str]) -> list[Statement]:
    """Return what the launcher and the drain function need besides the jobs themselves.

    Parameters
    ----------
    place : Place
    table, log_group : str
        ARNs; a log group's ends in ``:*``.
    machines : sequence of str
        The starts of the names of the machines whose executions the launcher looks at; an empty one means all.
    """
    verbs = ("Query", "Scan", "GetItem", "PutItem", "UpdateItem", "DeleteItem")
    executions: list[Any] = [place.arn("states", f"execution:{name}*") for name in machines]
    return [
        allow([f"dynamodb:{verb}" for verb in verbs], [table, f"{table}/index/*"]),
        # These calls have no resource type in IAM: the token itself is the permission.
        allow(["states:SendTaskSuccess", "states:SendTaskFailure", "states:SendTaskHeartbeat"], ["*"]),
        allow(["states:DescribeExecution"], executions),
        allow(["logs:CreateLogStream", "logs:PutLogEvents"], [log_group]),
    ]


def sync_statements(place: Place) -> list[Statement]:
    """Return what ``createTrainingJob.sync`` needs besides the jobs: Step Functions' own rule for their events."""
    rule = place.arn("events", "rule/StepFunctionsGetEventsForSageMakerTrainingJobsRule")
    return [allow(["events:PutTargets", "events:PutRule", "events:DescribeRule"], [rule])]


def machine_statements(launchers: Sequence[str]) -> list[Statement]:
    """Return what every machine needs: the functions it calls, log delivery and tracing."""
    delivery = ["CreateLogDelivery", "GetLogDelivery", "UpdateLogDelivery", "DeleteLogDelivery", "ListLogDeliveries"]
    policies = ["PutResourcePolicy", "DescribeResourcePolicies", "DescribeLogGroups"]
    tracing = ["PutTraceSegments", "PutTelemetryRecords", "GetSamplingRules", "GetSamplingTargets"]
    calls = [allow(["lambda:InvokeFunction"], list(launchers))] if launchers else []
    return [
        *calls,
        # Neither log delivery nor tracing has resource types.
        allow([f"logs:{action}" for action in (*delivery, *policies)], ["*"]),
        allow([f"xray:{action}" for action in tracing], ["*"]),
    ]
