"""A purchase has a fee ceiling."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, rule
from constructs_lib.rules.buying import ceiling, is_ours


@rule(
    "GPU-TP01",
    title="a plan purchase without a fee ceiling",
    kinds=(Kind.TRAINING_PLAN,),
    finds={Severity.ERROR: "MaxUpfrontFee or CurrencyCode missing, or no amount and no code"},
    why="a plan is paid upfront and cannot be cancelled, its price shows at the purchase, and the API takes no maximum",
    fix="give max_upfront_fee with its currency, such as PriceCeiling('60000', 'USD')",
    source="botocore: CreateTrainingPlanRequest; SageMaker guide, reserve-capacity-with-training-plans",
)
def no_ceiling(subject: Subject, _app: App) -> Findings:
    """Look at the two members of our purchase resource."""
    if is_ours(subject):
        yield from ceiling(subject)
