"""A document that is longer than AWS takes."""

from typing import Any

from constructs_lib.facts import iam
from constructs_lib.model import is_unresolved
from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule, unverified, warning
from constructs_lib.rules.policies.documents import measure

# Below this no kind of document comes near its limit.
_SHORT = 1800
NAMES = {
    "managed": "a managed policy",
    "permissions-boundary": "a permissions boundary",
    "role-inline": "the inline policies of a role",
    "user-inline": "the inline policies of a user",
    "group-inline": "the inline policies of a group",
    "scp": "a service control policy",
}


@rule(
    "GPU-IAM09",
    title="a policy document over its size limit",
    kinds=(Kind.IAM_DOCUMENT,),
    finds={
        Severity.ERROR: "longer than the limit of its kind",
        Severity.WARNING: "a service control policy between the older and the newer limit",
    },
    why="the deploy fails late, and people then split the document; a Deny that is split denies everything",
    fix="shorten lists of types with wildcards; never split a Deny",
    source="IAM and AWS STS quotas, https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html",
)
def document_size(subject: Subject, _app: App) -> Findings:
    """Measure what is known of the document: what a deploy fills in only adds to it."""
    kind = str(subject.about.get("Type"))
    limits = iam.document_limits(kind)
    if measure(subject.data, spaces=True) < _SHORT:
        return
    least = measure(_known(subject.data))
    if not limits:
        managed = iam.document_limits("managed")[0].characters
        if least > managed and kind != "resource":
            yield unverified(f"{least:,} characters; a managed policy may have {managed:,}")
        return
    most = max(limit.characters for limit in limits)
    longest = measure(_known(subject.data), spaces=limits[0].counts_spaces)
    if least > most:
        yield error(f"{least:,} characters; {NAMES[kind]} may have {most:,}")
    elif longest > limits[0].characters:
        yield warning(
            f"{longest:,} characters with spaces; {NAMES[kind]} may have {limits[0].characters:,} in older "
            f"documentation and {most:,} since {limits[-1].since} by public reports"
        )
    elif least > most * 0.9 and _known(subject.data) != subject.data:
        yield unverified(f"{least:,} characters are known here, a deploy adds more; {NAMES[kind]} may have {most:,}")


def _known(value: Any) -> Any:
    """Return a value with nothing in place of what only a deploy knows."""
    if is_unresolved(value):
        return ""
    if isinstance(value, dict):
        return {key: _known(member) for key, member in value.items()}
    return [_known(member) for member in value] if isinstance(value, list) else value
