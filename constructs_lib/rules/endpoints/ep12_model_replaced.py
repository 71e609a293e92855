"""A model stays until the endpoint has left it."""

from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Severity,
    Subject,
    is_unresolved,
    rule,
    unverified,
    warning,
)
from constructs_lib.rules.values import items, mapping


@rule(
    "GPU-EP12",
    title="a model that is deleted while a reserved endpoint still serves it",
    kinds=(Kind.RESERVED_ENDPOINT,),
    finds={Severity.WARNING: "a model of the same template, named by the endpoint, without UpdateReplacePolicy Retain"},
    why="a deploy only declares a reserved endpoint and ends: a model that it replaces is deleted before the endpoint "
    "has moved, and an update that waits or is rolled back goes on with a model that is gone",
    fix="set the model's UpdateReplacePolicy to Retain (cfn_options.update_replace_policy); delete old models later",
    source="CloudFormation guide, UpdateReplacePolicy; what SageMaker does without a model in use is not documented",
)
def model_replaced(subject: Subject, _app: App) -> Findings:
    """Look at the policy of each model that the declaration refers to."""
    for model in map(mapping, items(subject.about.get("Models"))):
        policy, at = model.get("UpdateReplacePolicy"), "EndpointConfig.ProductionVariants"
        if is_unresolved(policy):
            yield unverified(f"whether the model {model.get('Name')} is kept when it is replaced is not known here", at)
        elif policy != "Retain":
            yield warning(f"the model {model.get('Name')} is deleted by the deploy that replaces it", at)
