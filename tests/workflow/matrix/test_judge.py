"""The judge of the matrix notices what must not happen, and the table covers what it should."""

from dataclasses import replace

import pytest

P5, G5, G6 = "ml.p5.48xlarge", "ml.g5.48xlarge", "ml.g6.48xlarge"


def look(time, rank, kind, free, *, selected):
    outcome = "selected" if selected else "no capacity"
    return {"time": time, "rank": rank, "instance_type": kind, "needed": 2, "free": free, "outcome": outcome}


@pytest.fixture
def good(log, job_log):
    """Two steps: the first waits in vain, the second runs."""
    looks = (look(0, 1, G5, 0, selected=False), look(900, 1, G5, 1, selected=False))
    first = job_log("job-1", 0, 1800, (G5,), looks)
    second = job_log("job-2", 1801, 3600, (G6,), (look(1801, 1, G6, "unlimited", selected=True),))
    return log("SUCCEEDED", None, (G5, G6), (first, second), (), {"end": "Completed", "instance_type": G6})


EXPECTED = ("Completed", 2, 2)


def test_a_run_as_it_should_be_is_not_complained_of(judge, good):
    assert judge(good, EXPECTED) == []
    assert judge(replace(good, status="ABORTED", reported={}), ("aborted", 2, 2)) == []
    assert judge(replace(good, status="FAILED", error="Stopped", reported={}), ("Stopped", 2, 2)) == []
    nothing = replace(good, jobs=(), status="FAILED", error="QuotaExceeded", reported={})
    assert judge(nothing, ("QuotaExceeded", 0, 0)) == []


def with_job(log, index, **changes):
    jobs = list(log.jobs)
    jobs[index] = replace(jobs[index], **changes)
    return replace(log, jobs=tuple(jobs))


DEFECTS = {
    "it never ended": (lambda log: replace(log, status="RUNNING"), "ended as RUNNING"),
    "it timed out on its own": (lambda log: replace(log, status="TIMED_OUT"), "ended as timed out"),
    "it failed": (lambda log: replace(log, status="FAILED", error="Unknown"), "ended as Unknown"),
    "it was aborted": (lambda log: replace(log, status="ABORTED"), "ended as aborted"),
    "the record tells another end": (lambda log: replace(log, reported={"end": "Stopped"}), "the record says Stopped"),
    "the last job was left": (lambda log: with_job(log, 1, ended=None), "job-2 was left running"),
    "the first job was left": (lambda log: with_job(log, 0, ended=None), "job-1 was left running"),
    "two jobs ran at once": (lambda log: with_job(log, 1, created=1799), "job-1 and job-2 ran at the same time"),
    "one job too many": (lambda log: replace(log, jobs=(*log.jobs, log.jobs[1])), "3 jobs were created, not 2"),
    "one job too few": (lambda log: replace(log, jobs=log.jobs[1:]), "1 jobs were created, not 2"),
    "a row stays open": (lambda log: replace(log, open_rows=("job-2",)), "the row of job-2 is open still"),
    "the other way won": (lambda log: replace(log, ways=(G6, G5)), "ran on way 1, not 2"),
    "nothing ran": (lambda log: with_job(log, 1, looks=()), "ran on way 0, not 2"),
    "the record names another type": (
        lambda log: replace(log, reported={"end": "Completed", "instance_type": G5}),
        f"the record names {G5}, and {G6} ran",
    ),
    "an entry without room won": (
        lambda log: with_job(log, 1, looks=(look(1801, 1, G6, 1, selected=True),)),
        "took entry [1] where [] had room",
    ),
    "the second entry won though the first had room": (
        lambda log: with_job(
            log,
            1,
            types=(G5, G6),
            looks=(look(1801, 1, G5, 2, selected=False), look(1801, 2, G6, 9, selected=True)),
        ),
        "took entry [2] where [1, 2] had room",
    ),
    "nobody took what had room": (
        lambda log: with_job(log, 0, looks=(look(0, 1, G5, 2, selected=False),)),
        "took entry [] where [1] had room",
    ),
    "the list was reordered": (
        lambda log: with_job(log, 1, types=(G5, G6)),
        "job-2 was not looked at in its order",
    ),
}


@pytest.mark.parametrize("defect", sorted(DEFECTS))
def test_a_planted_defect_is_found(judge, good, defect):
    plant, words = DEFECTS[defect]
    assert any(words in complaint for complaint in judge(plant(good), EXPECTED))


def test_every_cell_is_played_or_left_out_for_a_reason(table):
    strategies = set(table["strategies"])
    for name, row in table["happens"].items():
        assert set(row) <= strategies | {"about", "else"}, name
        for strategy in strategies:
            cell = row.get(strategy, row["else"])
            if isinstance(cell, str):
                assert len(cell.split()) > 3, (name, strategy)
            else:
                end, way, jobs = cell
                assert (way in (0, 1, 2), jobs >= bool(way), bool(end)) == (True, True, True), (name, strategy)


def test_no_strategy_and_nothing_that_happens_is_left_out_altogether(table):
    played = [
        (strategy, name)
        for name, row in table["happens"].items()
        for strategy in table["strategies"]
        if not isinstance(row.get(strategy, row["else"]), str)
    ]
    assert {name for _, name in played} == set(table["happens"])
    assert {strategy for strategy, _ in played} == set(table["strategies"])
    assert len(played) > 140


def test_names_are_short_enough_to_tell_jobs_apart(table):
    names = list(table["happens"])
    assert max(map(len, names)) <= 15
    assert not [(a, b) for a in names for b in names if a != b and b.startswith(a)]
