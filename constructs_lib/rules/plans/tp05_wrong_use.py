"""A plan serves the targets and the type it was bought for."""

from constructs_lib.rules.authoring import App, Findings, Severity, Subject, error, rule, unverified
from constructs_lib.rules.known_plans import plan_of
from constructs_lib.rules.uses import CONSUMERS, Use, uses_of

_USERS = {"training-job": "a training job", "endpoint": "an endpoint", "hyperpod-cluster": "a HyperPod cluster"}


@rule(
    "GPU-TP05",
    title="a plan used for what it was not bought for",
    kinds=CONSUMERS,
    finds={Severity.ERROR: "a user that is not among the plan's targets; a job or cluster of another type"},
    why="targets and type are fixed at purchase and not interchangeable; the mismatch shows at launch",
    fix="use the plan that was bought for this, or the type that the plan has",
    source="botocore: SageMakerResourceName, TrainingPlanArnList; SageMaker guide, train-get-capacity",
)
def wrong_use(subject: Subject, app: App) -> Findings:
    """Compare each use with what is known of its plan."""
    for use in uses_of(subject):
        plan = plan_of(use.reference, subject, app)
        if plan.targets and use.target not in plan.targets:
            bought = ", ".join(sorted(plan.targets))
            yield error(f"{plan.label} was bought for {bought}, not for {_USERS[use.target]}", use.at)
        elif not plan.targets:
            yield unverified(f"what {plan.label} was bought for is not known here", use.at)
        yield from _type(use, plan.instance_type, plan.label)


def _type(use: Use, planned: str | None, label: str) -> Findings:
    """Compare the types; those of endpoints are left to GPU-EP03, a job's plan beside a list to GPU-PL05."""
    beside_a_list = use.at == "ResourceConfig.TrainingPlanArn" and use.type is None
    if use.target == "endpoint" or beside_a_list:
        return
    if planned is None or use.type is None:
        yield unverified(f"whether {label} is for {use.type or 'the type'} is not known here", use.at)
    elif planned != use.type:
        yield error(f"{label} is for {planned}, not for {use.type}", use.at)
