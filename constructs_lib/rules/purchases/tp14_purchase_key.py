"""A purchase key says what, until when and where."""

from constructs_lib.model.purchase_keys import read_keys
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


@rule(
    "GPU-TP14",
    title="a purchase key that says too little",
    kinds=(Kind.TRAINING_PLAN, Kind.CAPACITY_BLOCK),
    finds={Severity.WARNING: "a key without generation, last day, account or region"},
    why="a malformed key buys nothing; a key without these parts, left in cdk.json, would buy later or elsewhere",
    fix="write name#generation@last-day@account/region, such as nightly#1@2026-12-10@111122223333/us-west-2",
    source="https://docs.aws.amazon.com/cdk/v2/guide/context.html: context values stay until they are removed",
)
def purchase_key(subject: Subject, _app: App) -> Findings:
    """Read each key as the purchase would."""
    given = subject.data.get("Purchase")
    if is_unresolved(given):
        yield unverified("the purchase key is not known here", "Purchase")
        return
    for key in read_keys(str(given or "")):
        if isinstance(key, str):
            yield warning(key, "Purchase")
