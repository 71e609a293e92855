"""Steps and limits keep the protocol's promises in every interleaving, and each of their rules is needed."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

AGAIN = {"again": True, "events": False}
# Off, each of these breaks the protocol: in which world, and how.
BREAKS = {
    "reason_first": ({}, "J8"),
    "deadline_waits": ({}, "J1"),
    "anew": (AGAIN, "J5"),
    "decided_alike": ({}, "J6"),
    "limit_last": ({}, "J7"),
}
# Rules that launching had before: with steps they are needed as much.
STILL = {
    "redrive_waits": ({"again": True}, "J1"),
    "check_before": ({"again": True}, "J1"),
}


def test_steps_hold_when_no_event_ever_comes(explored_steps):
    states, broken = explored_steps({"events": False})
    assert broken is None
    assert states > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("world", [{}, AGAIN], ids=str)
def test_steps_hold_in_every_interleaving(explored_steps, world):
    states, broken = explored_steps(world)
    print(f"{states} states")
    assert broken is None, broken


@pytest.mark.slow
@pytest.mark.parametrize("without", [*BREAKS, *STILL])
def test_each_rule_of_steps_is_needed(explored_steps, without):
    world, broken = {**BREAKS, **STILL}[without]
    _, trace = explored_steps(world, without)
    assert trace is not None
    print(*trace, sep="\n")
    assert trace[-1].startswith(broken)


def test_every_rule_of_steps_is_judged(step_rules):
    assert set(BREAKS) == step_rules
