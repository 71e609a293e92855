"""The decision holds in every interleaving of runs, faults, people and SageMaker, and each of its rules is needed."""

from __future__ import annotations

import pytest

SHORT = {"last": 3}
# Off, each of these breaks something: in which scene, and what.
BREAKS = {
    "segments": (SHORT, "D2"),
    "marker": (SHORT, "D5"),
    "confirmed": (SHORT, "D7"),
    "last_resort": (SHORT | {"teardown": False}, "D2"),
    "spare_used": (SHORT, "D3"),
    "legal_states": (SHORT, "D6"),
    "repair": (SHORT, "D2"),
    "revive": ({"on_expiry": "keep", "faults": 0, "changes": 0}, "D10"),
    "within_plan": (SHORT | {"count": 2, "others": 1}, "C1"),
    "head_room": (SHORT | {"count": 2}, "C1"),
    "fenced": (SHORT | {"late": True, "changes": 0}, ("D3", "D4")),
    "ours_only": (SHORT | {"foreign": True}, "D8"),
}
QUICK = ("revive", "within_plan", "ours_only")
SCENES = {
    "on demand": {},
    "delete": {"on_expiry": "delete"},
    "keep": {"on_expiry": "keep"},
    "full plan": {"count": 2},
    "full plan, downtime accepted": {"count": 1, "total": 1, "downtime": 3600},
    "full plan, no downtime accepted": {"count": 1, "total": 1},
    "others on the plan": {"count": 2, "others": 1},
    "somebody else's endpoint": {"foreign": True},
    "late calls": {"late": True, "changes": 2, "last": 2},
}


def test_the_decision_holds_without_faults(explored):
    states, broken = explored({"faults": 0, "teardown": False})
    assert broken is None
    assert states > 50


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
def test_the_decision_holds_in_every_interleaving(explored, scene):
    states, broken = explored(SCENES[scene])
    print(f"{scene}: {states} states")
    assert broken is None, "\n".join(broken)


@pytest.mark.parametrize(
    "without", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in BREAKS]
)
def test_each_rule_is_needed(explored, without):
    scene, broken = BREAKS[without]
    _, trace = explored(scene, without)
    assert trace is not None
    print(*trace, sep="\n")
    assert trace[-1].startswith(broken)


@pytest.mark.slow
def test_runs_that_overlap_break_what_one_at_a_time_holds(explored):
    _, trace = explored({"overlapping": True, "last": 2})
    assert trace is not None
    assert trace[-1][:2] in ("D3", "D6")


def test_every_rule_is_judged(rule_names):
    assert set(BREAKS) == rule_names
