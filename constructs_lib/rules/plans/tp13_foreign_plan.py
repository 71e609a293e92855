"""A plan belongs to one account and region."""

from constructs_lib.rules.authoring import App, Findings, Severity, Subject, error, rule, unverified
from constructs_lib.rules.uses import CONSUMERS, uses_of
from constructs_lib.rules.values import UNKNOWN, arn


@rule(
    "GPU-TP13",
    title="a plan of another account or region",
    kinds=CONSUMERS,
    finds={Severity.ERROR: "a literal plan ARN whose account or region is not the stack's"},
    why="plans cannot be shared, neither between accounts of an organization nor between regions",
    fix="name a plan of this account and region",
    source="SageMaker guide, reserve-capacity-with-training-plans",
)
def foreign_plan(subject: Subject, _app: App) -> Findings:
    """Compare the parts of each literal ARN with the stack's."""
    for use in uses_of(subject):
        plan = arn(use.reference)
        if plan is None or plan.kind != "training-plan":
            continue
        for part, theirs, ours in (("region", plan.region, subject.region), ("account", plan.account, subject.account)):
            if ours is None or UNKNOWN in theirs:
                yield unverified(f"whether the plan's {part} is the stack's is not known here", use.at)
            elif theirs != ours:
                yield error(f"training plan {plan.name!r} is of {part} {theirs}, the stack of {ours}", use.at)
