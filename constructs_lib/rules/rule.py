"""A rule: ten lines of metadata and one pure generator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from constructs_lib.rules.findings import Found, Phase, Severity
from constructs_lib.rules.subjects import App, Kind, Subject

__all__ = ["Check", "Rule", "rule"]

Check = Callable[[Subject, App], Iterable[Found]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the catalogue.

    Parameters
    ----------
    id : str
        ``GPU-`` and the start of the file's name; public, never renamed, never used again.
    title : str
        What is wrong, in a few words.
    kinds : tuple of Kind
        The subjects that the rule judges.
    finds : mapping of Severity to str
        What it finds at each severity that it uses.
    why : str
        What happens to people who do it.
    fix : str
        What to write instead, when a finding does not say it better.
    source : str
        The document or model shape that says so.
    check : callable
        ``(subject, app)`` to an iterable of `Found`. Pure: no clock but ``app.now``, no call.
    phase : Phase
        When the rule can know.
    suppresses : tuple of str
        Ids of more general rules that stay silent where this one has spoken (same file, resource and path).
    """

    id: str
    title: str
    kinds: tuple[Kind, ...]
    finds: Mapping[Severity, str]
    why: str
    fix: str
    source: str
    check: Check
    phase: Phase = Phase.SYNTH
    suppresses: tuple[str, ...] = ()


def rule(
    rule_id: str,
    *,
    title: str,
    kinds: tuple[Kind, ...],
    finds: Mapping[Severity, str],
    why: str,
    fix: str,
    source: str,
    phase: Phase = Phase.SYNTH,
    suppresses: tuple[str, ...] = (),
) -> Callable[[Check], Rule]:
    """Turn a generator into a `Rule`; the parameters are those of `Rule`."""

    def bind(check: Check) -> Rule:
        return Rule(
            id=rule_id,
            title=title,
            kinds=kinds,
            finds=finds,
            why=why,
            fix=fix,
            source=source,
            check=check,
            phase=phase,
            suppresses=suppresses,
        )

    return bind
