"""A warm pool of scarce instances is billed while it idles."""

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
from constructs_lib.rules.preferences._common import UNDECIDED, names, plan_reference, resources_of
from constructs_lib.rules.values import number


@rule(
    "GPU-PL24",
    title="a warm pool of accelerated on-demand instances",
    kinds=(Kind.TRAINING_JOB,),
    finds={Severity.WARNING: "KeepAlivePeriodInSeconds on a list with an accelerated on-demand entry"},
    why="the pool is billed idle at the price of whichever type won, up to six hours after the job",
    fix="leave KeepAlivePeriodInSeconds out unless the next job follows at once",
    source="botocore: KeepAlivePeriodInSeconds, WarmPoolStatus; SageMaker guide, train-warm-pools",
)
def keep_alive(subject: Subject, app: App) -> Findings:
    """Look for entries that would be kept at a price."""
    resources = resources_of(subject)[0]
    given, at = resources.data.get("KeepAlivePeriodInSeconds"), resources.path("KeepAlivePeriodInSeconds")
    if not resources.listed or given is None or number(given) == 0:
        return
    references = {entry: plan_reference(entry, resources, subject, app) for entry in resources.entries}
    kept = [entry for entry, reference in references.items() if entry.accelerated and reference is None]
    open_question = any(entry.accelerated is None for entry in references) or UNDECIDED in references.values()
    if is_unresolved(given) or resources.unknown or (open_question and not kept):
        yield unverified("whether scarce instances are kept as a warm pool is not known here", at)
    elif kept:
        yield warning(f"{names(kept)} would be kept for {given} seconds after the job, billed", at)
