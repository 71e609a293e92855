"""An event pattern must be able to fire."""

from constructs_lib.facts.capacity import block_events
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
    warning,
)
from constructs_lib.rules.values import items

_MISSPELT = {"detail_type": "detail-type", "detailType": "detail-type", "DetailType": "detail-type", "Source": "source"}


@rule(
    "GPU-CB03",
    title="an event pattern that never fires, or only for one spelling",
    kinds=(Kind.EVENT_PATTERN,),
    finds={
        Severity.ERROR: "detail_type or another key that no event has",
        Severity.WARNING: "only one of the two documented names of a capacity block event",
    },
    why="the rule stays silent, so nobody hears that a block was delivered or is about to end; AWS's own pages "
    "disagree on the names",
    fix="write detail-type, and list both names; let a schedule watch the block as well",
    source="EC2 guide, capacity-blocks-monitor (two variants); EventBridge guide, eb-event-patterns",
)
def event_pattern(subject: Subject, _app: App) -> Findings:
    """Look at the keys, then at the names."""
    for key, right in _MISSPELT.items():
        if key in subject.data:
            yield error(f"no event has the key {key!r}; it is called {right!r}", key)
    given = subject.data.get("detail-type")
    names = {name for name in items(given) if isinstance(name, str)}
    if is_unresolved(given) or any(map(is_unresolved, items(given))):
        yield unverified("the names of the events are not known here", "detail-type")
    for spellings in block_events().values():
        missing = [name for name in spellings if name not in names]
        if 0 < len(missing) < len(spellings):
            yield warning(f"AWS's pages also call this event {missing[0]!r}", "detail-type")
