"""A purchase key says what, until when and where."""

import re

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

_KEY = re.compile(r"[A-Za-z0-9-]+#[1-9]\d*@\d{4}-\d\d-\d\d@\d{12}/[a-z]{2}(-[a-z]+)+-\d")
_PARTS = {
    "a generation": r"#[1-9]\d*(@|$)",
    "a last day": r"@\d{4}-\d\d-\d\d(@|$)",
    "an account": r"@\d{12}(/|$)",
    "a region": r"/[a-z]{2}(-[a-z]+)+-\d$",
}


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
    """Look for the parts of each key."""
    given = subject.data.get("Purchase")
    if is_unresolved(given):
        yield unverified("the purchase key is not known here", "Purchase")
        return
    for key in filter(None, (part.strip() for part in str(given or "").split(","))):
        if not _KEY.fullmatch(key):
            missing = [name for name, pattern in _PARTS.items() if not re.search(pattern, key)]
            yield warning(f"purchase key {key!r} lacks {', '.join(missing) or 'its form'} and buys nothing", "Purchase")
