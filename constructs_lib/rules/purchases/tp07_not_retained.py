"""A purchase outlives its stack."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, rule
from constructs_lib.rules.buying import is_ours, retained


@rule(
    "GPU-TP07",
    title="a plan purchase that is not retained",
    kinds=(Kind.TRAINING_PLAN,),
    finds={Severity.ERROR: "DeletionPolicy or UpdateReplacePolicy other than Retain"},
    why="a plan cannot be cancelled: deleting the resource would only make the template forget what was paid for",
    fix="set both to Retain after every other removal policy: RemovalPolicies.of(app).destroy() overrides "
    "apply_removal_policy, add_override wins",
    source="SageMaker guide, reserve-capacity-with-training-plans; https://docs.aws.amazon.com/AWSCloudFormation/latest/"
    "UserGuide/aws-attribute-deletionpolicy.html",
)
def not_retained(subject: Subject, _app: App) -> Findings:
    """Look at both policies of our purchase resource in a template."""
    if is_ours(subject):
        yield from retained(subject)
