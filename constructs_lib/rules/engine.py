"""Asking the rules: subjects in, findings out, in a stable order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError
from constructs_lib.rules.findings import Finding, Found, Phase, Severity
from constructs_lib.rules.registry import rule_ids, rules_for
from constructs_lib.rules.subjects import App, Kind, Subject

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

    from constructs_lib.rules.rule import Rule

__all__ = ["check", "check_request"]


def check(
    subjects: Iterable[Subject],
    *,
    now: datetime | None = None,
    phases: Collection[Phase] = tuple(Phase),
    ignore: Collection[str] = (),
    declared: Mapping[str, Any] | None = None,
) -> list[Finding]:
    """Judge all subjects together and return what the rules found.

    Parameters
    ----------
    subjects : iterable of Subject
        Judged as one app: rules may compare them.
    now : datetime, optional
        The clock, with a time zone. Without it everything that depends on the time is ``unverified``.
    phases : collection of Phase
        Findings of other phases are left out; all by default.
    ignore : collection of str
        Rule ids that are not asked.
    declared : Mapping, optional
        What people say about the subjects, see `App`.

    Returns
    -------
    list of Finding
        In the order of the subjects, then of the rule ids. A rule that fails is an error finding of its own; the
        other rules are asked all the same.

    Raises
    ------
    InvalidInputError
        If ``ignore`` names a rule that does not exist, or ``now`` has no time zone.
    """
    if unknown := set(ignore) - rule_ids():
        raise InvalidInputError(f"ignore: no rule {', '.join(sorted(unknown))}; the ids are in docs/rules.md")
    if now is not None and now.tzinfo is None:
        raise InvalidInputError(f"now: {now.isoformat()} has no time zone; write it with one, such as ...Z")
    app = App(subjects, now=now, declared=declared)
    asked = set(phases)
    spoken: list[tuple[Rule, Finding]] = []
    for subject in app.subjects:
        for rule in rules_for(subject.kind):
            if rule.id not in ignore and rule.id not in subject.ignore:
                _ask(rule, subject, app, spoken)
    return _without_the_general([(rule, finding) for rule, finding in spoken if finding.phase in asked])


def check_request(
    kind: str,
    request: Mapping[str, Any],
    *,
    path: str = "",
    now: datetime | None = None,
    declared: Mapping[str, Any] | None = None,
) -> list[Finding]:
    """Judge one request on its own.

    Parameters
    ----------
    kind : str
        A `Kind`, such as ``training-job``.
    request : Mapping
        What the API takes.
    path : str
        Goes before the paths in findings.
    now, declared
        As for `check`; ``declared`` may also hold ``region`` and ``account``.

    Raises
    ------
    InvalidInputError
        If there is no such kind.

    Examples
    --------
    >>> job = {"ResourceConfig": {"InstanceCount": 1, "InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}] * 2}}
    >>> [finding.rule for finding in check_request("training-job", job) if finding.severity == "error"]
    ['GPU-PL02']
    """
    if kind not in set(Kind):
        raise InvalidInputError(f"kind: {kind!r} was given; the kinds are {', '.join(Kind)}")
    said = declared or {}
    subject = Subject(Kind(kind), request, path=path, region=said.get("region"), account=said.get("account"))
    return check([subject], now=now, declared=declared)


def _ask(rule: Rule, subject: Subject, app: App, spoken: list[tuple[Rule, Finding]]) -> None:
    try:
        for found in rule.check(subject, app):
            spoken.append((rule, _finding(rule, subject, found)))  # noqa: PERF401 - what came before a failure counts
    except Exception as failure:  # noqa: BLE001 - one broken rule must neither hide nor stop the others
        words = f"the rule itself failed on this {subject.kind}: {type(failure).__name__}: {failure}"
        fix = "please report it with the input; until then ignore the rule by its id"
        spoken.append((rule, _finding(rule, subject, Found(Severity.ERROR, words, "", fix, None))))


def _finding(rule: Rule, subject: Subject, found: Found) -> Finding:
    return Finding(
        rule=rule.id,
        severity=found.severity,
        phase=found.phase or rule.phase,
        message=found.message,
        fix=found.fix or rule.fix,
        source=rule.source,
        path=subject.place(found.at),
        file=subject.file,
        resource=subject.resource,
        line=subject.line,
    )


def _without_the_general(spoken: list[tuple[Rule, Finding]]) -> list[Finding]:
    """Drop what a more specific rule has said about the same place; "not known here" silences nobody."""
    said = [(rule, finding) for rule, finding in spoken if finding.severity is not Severity.UNVERIFIED]
    silenced = {(_place(finding), rule_id) for rule, finding in said for rule_id in rule.suppresses}
    return [finding for _, finding in spoken if (_place(finding), finding.rule) not in silenced]


def _place(finding: Finding) -> tuple[str | None, str | None, str]:
    return finding.file, finding.resource, finding.path
