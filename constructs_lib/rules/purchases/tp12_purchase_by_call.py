"""A purchase call must not stand where it runs again."""

from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
)
from constructs_lib.rules.values import show, text

_PURCHASES = ("createtrainingplan", "extendtrainingplan")


@rule(
    "GPU-TP12",
    title="a plan purchase in a call that is repeated",
    kinds=(Kind.SDK_CALL,),
    finds={Severity.ERROR: "CreateTrainingPlan, ExtendTrainingPlan in an AwsCustomResource, task, schedule or command"},
    why="the purchase calls have no client token: an update, a retry, a redrive or the next run buys again, without a "
    "look at what is already there",
    fix="use the TrainingPlan construct, which looks, claims, compares and buys once",
    source="botocore: CreateTrainingPlanRequest, ExtendTrainingPlanRequest (no ClientToken)",
)
def purchase_by_call(subject: Subject, _app: App) -> Findings:
    """Look at service and action."""
    service, action = subject.data.get("Service"), subject.data.get("Action")
    name = (text(service) or "").lower().replace("@aws-sdk/client-", "")
    if is_unresolved(action) and name == "sagemaker":
        yield unverified("the action is not known here; purchases must not be called this way", "Action")
    elif name == "sagemaker" and str(action).lower().removesuffix("command") in _PURCHASES:
        via = subject.about.get("Via", "this call")
        yield error(f"{show(action)} buys again whenever {via} runs again", "Action")
