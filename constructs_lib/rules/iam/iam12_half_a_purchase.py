"""A purchase of a training plan is three actions, and an extension is a purchase too."""

from collections.abc import Iterator

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, rule, unverified, warning
from constructs_lib.rules.iam._common import actions_of

PLAN = "sagemaker:CreateTrainingPlan"
ALSO = ("sagemaker:CreateReservedCapacity", "sagemaker:AddTags")
EXTENSIONS = {PLAN: "sagemaker:ExtendTrainingPlan", "ec2:PurchaseCapacityBlock": "ec2:PurchaseCapacityBlockExtension"}


@rule(
    "GPU-IAM12",
    title="half of a purchase allowed, or half of it denied",
    kinds=(Kind.IAM_DOCUMENT,),
    finds={
        Severity.WARNING: "an Allow of CreateTrainingPlan without CreateReservedCapacity and AddTags, or a Deny of a "
        "purchase that leaves its extension open"
    },
    why="CreateTrainingPlan alone is refused at the buy, when the offering may be gone; an extension spends as well",
    fix="name the actions that belong together, see PurchaseGuardrail",
    source="SageMaker developer guide: training-plan-iam-permissions; service-authorization reference",
)
def half_a_purchase(subject: Subject, _app: App) -> Findings:
    """Look at each effect over the whole document."""
    for effect in ("Allow", "Deny"):
        some = [(one, actions) for one, actions in actions_of(subject) if one.effect == effect]
        named = frozenset().union(*(actions or () for _, actions in some))
        for one, actions in some:
            if actions is None:
                yield unverified("the actions are not known here", f"{one.path}.Action")
                continue
            # A wildcard that happens to cover a purchase is no statement about purchases.
            for purchase in actions.intersection(one.actions, EXTENSIONS):
                yield from (warning(words, f"{one.path}.Action") for words in _half(effect, purchase, named))


def _half(effect: str, purchase: str, named: frozenset[str]) -> Iterator[str]:
    extension = EXTENSIONS[purchase]
    missing = [action for action in ALSO if action not in named]
    if effect == "Deny" and extension not in named:
        yield f"{purchase} is denied, {extension} is not"
    elif effect == "Allow" and purchase == PLAN and missing:
        yield f"{purchase} is allowed without {' and '.join(missing)}"
