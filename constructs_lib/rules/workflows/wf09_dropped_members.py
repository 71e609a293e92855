"""An older SDK drops what it does not know."""

from constructs_lib.facts.integrations import new_members
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
from constructs_lib.rules.values import flag, text
from constructs_lib.rules.workflows._members import given_at, operation_of


@rule(
    "GPU-WF09",
    title="new fields through an SDK of unknown age",
    kinds=(Kind.SDK_CALL,),
    finds={
        Severity.WARNING: "an AwsCustomResource with installLatestAwsSdk=false, and fields that older SDKs do not know"
    },
    why="the JavaScript SDK leaves unknown fields out without a word: a reservation or a list is dropped, and another "
    "request is sent than was written",
    fix="set installLatestAwsSdk to true, or make the call from a function that brings its own SDK",
    source="https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.custom_resources.AwsCustomResource.html",
)
def dropped_members(subject: Subject, _app: App) -> Findings:
    """Look for new members in the call's parameters."""
    service = (text(subject.data.get("Service")) or "").lower().replace("@aws-sdk/client-", "")
    latest = flag(subject.about.get("InstallLatestAwsSdk", True))
    if service != "sagemaker" or subject.about.get("Via") != "AwsCustomResource" or latest is True:
        return
    parameters = subject.data.get("Parameters")
    newer = new_members(operation_of(str(subject.data.get("Action"))))
    if newer and is_unresolved(parameters):
        yield unverified("which fields the call has is not known here", "Parameters")
    for member in newer:
        for at in given_at(parameters, member.member):
            words = f"{member.member} is unknown to SDKs from before {member.since or 'the middle of 2026'}"
            yield (unverified if latest is None else warning)(words, f"Parameters.{at}")
