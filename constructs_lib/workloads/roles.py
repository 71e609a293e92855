"""What the roles that launch jobs may do: the launcher's, the machines' and the schedule's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.shared.policies import Place, Statement, allow
from constructs_lib.workloads.policies import volume_key_statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constructs_lib.workloads.access import Reach

__all__ = [
    "WHY_WIDE",
    "checking_statements",
    "job_statements",
    "launcher_statements",
    "machine_statements",
    "starting_statements",
    "sync_statements",
]

_RESOURCES = {"training": "training-job", "processing": "processing-job", "tuning": "hyper-parameter-tuning-job"}
"""IAM's resource type of each kind of job."""
_SYNC_RULES = {"training": "TrainingJobs", "processing": "ProcessingJobs", "tuning": "TuningJobs"}
"""How Step Functions names its own rules."""

WHY_WIDE = {
    "cloudwatch": "PutMetricData has no resource types; the namespace is bounded",
    "dynamodb": "the table's own indexes",
    "ec2": "an interface has no name before it exists, and no list of subnets has a resource; SageMaker documents the "
    "calls for jobs in a VPC",
    "ecr": "the log-in to ECR has no resource types, and a repository that is known only at deploy is not named",
    "iam": "the execution roles of this stack's jobs, by their path; passed to SageMaker only",
    "kms": "an alias is a condition in IAM, not a resource",
    "logs": "log delivery has no resource types; the streams of jobs are made by SageMaker",
    "s3": "the objects under the prefixes that the jobs name",
    "sagemaker": "jobs whose names start with the stack's prefix; a plan's reserved capacity, whose id nobody knows",
    "servicequotas": "quotas are listed, and a list has no resource",
    "states": "the executions of the stack's machines; a task token has no resource",
    "xray": "tracing has no resource types",
}
"""Why a statement of ours names more than one resource, by the service of its actions."""


def job_statements(
    place: Place, reach: Reach, *, prefix: str, passed: Sequence[str], kinds: Sequence[str] = ("training",)
) -> list[Statement]:
    """Return what creates, watches and stops jobs.

    Parameters
    ----------
    place : Place
    reach : Reach
        What the jobs reach: plans and volume keys matter to the caller too.
    prefix : str
        The start of the jobs' names.
    passed : sequence of str
        The execution roles' ARNs.
    kinds : sequence of str
        The kinds of job.

    Notes
    -----
    A plan needs CreateTrainingJob on the plan and on its reserved capacity too, whose ids nobody knows before.
    Source: IAM permissions for SageMaker training plans.
    """
    to_sagemaker = {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    return [
        *(statement for kind in kinds for statement in _of_kind(place, kind, reach, prefix)),
        allow(["iam:PassRole"], list(passed), to_sagemaker),
        *volume_key_statements(place, reach),
    ]


def _of_kind(place: Place, kind: str, reach: Reach, prefix: str) -> list[Statement]:
    noun, jobs = JOB_KINDS[kind].noun, _jobs(place, kind, prefix)
    plans: list[Any] = sorted(reach.plans) if kind == "training" else []
    if plans:
        plans.append(place.arn("sagemaker", "reserved-capacity/*"))
    watch = [f"sagemaker:Describe{noun}", f"sagemaker:Stop{noun}", "sagemaker:ListTags", "sagemaker:AddTags"]
    return [allow([f"sagemaker:Create{noun}"], jobs + plans), allow(watch, jobs)]


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


def _jobs(place: Place, kind: str, prefix: str) -> list[Any]:
    # SageMaker writes names into ARNs in lower case, and IAM compares case: both forms are allowed.
    return [place.arn("sagemaker", f"{_RESOURCES[kind]}/{name}*") for name in dict.fromkeys((prefix, prefix.lower()))]


def checking_statements(place: Place, reach: Reach, *, prefix: str, kinds: Sequence[str]) -> list[Statement]:
    """Return what the launcher looks at besides jobs: quotas, plans, the zones of their subnets, tuning's first jobs.

    Whether a tuning job has begun shows only in the training jobs that it has started.
    """
    begun = "sagemaker:ListTrainingJobsForHyperParameterTuningJob"
    tuning = [allow([begun], _jobs(place, "tuning", prefix))] if "tuning" in kinds else []
    plans = [allow(["sagemaker:DescribeTrainingPlan"], sorted(reach.plans))] if reach.plans else []
    # Neither call has a narrower resource.
    zones = [allow(["ec2:DescribeSubnets"], ["*"])] if reach.plans and reach.vpc else []
    return [allow(["servicequotas:ListServiceQuotas"], ["*"]), *plans, *zones, *tuning]


def starting_statements(place: Place, machines: Sequence[str], plans: Sequence[str]) -> list[Statement]:
    """Return what starts machines when plans are active: the plans are looked at until then."""
    if not machines:
        return []
    arns = [place.arn("states", f"stateMachine:{name}") for name in machines]
    return [allow(["sagemaker:DescribeTrainingPlan"], sorted(plans)), allow(["states:StartExecution"], arns)]


def sync_statements(place: Place, kinds: Sequence[str] = ("training",)) -> list[Statement]:
    """Return what ``.sync`` needs besides the jobs: Step Functions' own rule for the events of each kind."""
    rules = [place.arn("events", f"rule/StepFunctionsGetEventsForSageMaker{_SYNC_RULES[kind]}Rule") for kind in kinds]
    return [allow(["events:PutTargets", "events:PutRule", "events:DescribeRule"], rules)] if rules else []


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
