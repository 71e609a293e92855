"""A plan is for accelerated types that its target can use."""

from constructs_lib import facts
from constructs_lib.facts.capacity import plan_targets
from constructs_lib.rules.authoring import (
    App,
    Findings,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
    warning,
)
from constructs_lib.rules.buying import PLAN_PURCHASES
from constructs_lib.rules.values import items, known_text, show


@rule(
    "GPU-TP02",
    title="a type that a plan, or its target, does not have",
    kinds=PLAN_PURCHASES,
    finds={
        Severity.ERROR: "a type without accelerators, a target that does not exist, or one whose API lacks the type",
        Severity.WARNING: "a type that the plan API's enum does not list: through the account team only",
        Severity.UNVERIFIED: "a type that nobody knows yet",
    },
    why="the search finds nothing, or the plan is bought and its target, fixed at purchase, refuses the type",
    fix="take a type that the plan and every target list",
    source="botocore: ReservedCapacityInstanceType, SageMakerResourceName, AppInstanceType, ClusterInstanceType",
)
def plan_type(subject: Subject, _app: App) -> Findings:
    """Look the type up, for the plan and for each target."""
    given = subject.data.get("InstanceType")
    name = known_text(given)
    known = facts.instance_types().get(name or "")
    if is_unresolved(given):
        yield unverified("the instance type is not known here", "InstanceType")
    elif given is not None and (name is None or not name.startswith("ml.")):
        yield error(f"InstanceType is {show(given)}; a type such as 'ml.p5.48xlarge' is needed", "InstanceType")
    elif name and (known is None or known.architecture is None):
        yield unverified(f"nobody knows {name} yet", "InstanceType")
    elif known and known.accelerator is None:
        yield error(f"{name} has no accelerator, and plans are for accelerated types", "InstanceType")
    elif known and "training-plan" not in known.apis:
        yield warning(f"{name} is not in the plan API's list; ask the account team", "InstanceType")
    yield from _targets(subject, known)


def _targets(subject: Subject, known: facts.InstanceType | None) -> Findings:
    targets = plan_targets()
    if is_unresolved(subject.data.get("TargetResources")):
        yield unverified("the targets are not known here", "TargetResources")
    for i, given in enumerate(items(subject.data.get("TargetResources"))):
        at, target = f"TargetResources[{i}]", known_text(given) or ""
        if is_unresolved(given):
            yield unverified("the target is not known here", at)
        elif target not in targets:
            yield error(f"{show(given)} is no target; the targets are {', '.join(targets)}", at)
        elif known and known.apis and targets[target].api not in known.apis:
            yield error(f"{known.name} cannot be used by {target}: its API does not list the type", at)
