"""The launch protocol holds in every interleaving, and each of its rules is needed."""

from __future__ import annotations

from dataclasses import fields

import pytest

AGAIN = {"again": True, "events": False}
# Off, each of these breaks the protocol: in which world, and how. Names and owner marks back each other up.
BREAKS = {
    "token_before": ({}, "J1"),
    "token_ordered": ({}, "stuck"),
    "stop_is_last": ({}, "stuck"),
    "stored_answer": ({}, "stuck"),
    "sweep_executions": ({}, "stuck"),
    "close_late": ({}, "J1"),
    "refuse_late": ({}, "stuck"),
    "confirm_stop": ({}, "J1"),
    "check_before": ({"again": True}, "J1"),
    "redrive_waits": ({"again": True}, "J1"),
    "entry_in_name owner_checked": ({"again": True}, "J4"),
}
# Off, these cost idle time or a run, never safety.
COSTS = {"check_after": {}, "retry_same": {}, "owner_checked": AGAIN, "entry_in_name": AGAIN}


def test_the_protocol_holds_when_no_event_ever_comes(explored):
    states, broken = explored({"events": False})
    assert broken is None
    assert states > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("world", [{}, AGAIN, {"faults": 3, "events": False}], ids=str)
def test_the_protocol_holds_in_every_interleaving(explored, world):
    states, broken = explored(world)
    print(f"{states} states")
    assert broken is None


@pytest.mark.slow
@pytest.mark.parametrize("without", BREAKS)
def test_each_rule_is_needed(explored, without):
    world, broken = BREAKS[without]
    _, trace = explored(world, without)
    assert trace is not None
    print(*trace, sep="\n")
    assert trace[-1].startswith(broken)


@pytest.mark.slow
@pytest.mark.parametrize("without", COSTS)
def test_some_rules_only_save_cost(explored, without):
    assert explored(COSTS[without], without)[1] is None


def test_every_rule_is_judged(one_step):
    rules = {field.name for field in fields(one_step.rules)}
    assert {rule for without in [*BREAKS, *COSTS] for rule in without.split()} == rules
