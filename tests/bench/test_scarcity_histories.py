"""The generated scarcity is what its regimes declare, and a function of the seed alone."""

import dataclasses
import itertools
import statistics

import pytest

from bench.scarcity.histories import ARRIVING, HOUR, REGIMES, WATCHED, Spell, arrivals, spells

SEEDS = range(60)


def histories(regime, generate=spells):
    return [generate(regime, seed) for seed in SEEDS]


def check(regime, generate=spells):
    """Raise AssertionError if the histories of a regime are not as it declares."""
    made = histories(regime, generate)
    for name, share in regime.share.items():
        rows = [row for history in made for row in history[name]]
        assert statistics.fmean(
            sum(row.end - row.start for row in history[name]) / WATCHED for history in made
        ) == pytest.approx(share, rel=0.15)
        # Those that the beginning or the end cuts are shorter.
        whole = [row.end - row.start for row in rows if row.start > 0 and row.end < WATCHED]
        assert statistics.fmean(whole) == pytest.approx(regime.spell, rel=0.15)
        assert {row.free for row in rows} == set(range(regime.sizes[0], regime.sizes[1] + 1))
    for history in made:
        for rows in history.values():
            assert all(row.start < row.end <= WATCHED for row in rows)
            assert all(one.end < other.start for one, other in itertools.pairwise(rows))
    assert len({str(history) for history in made}) == len(made)
    together = [_overlap(*[history[name] for name in list(regime.share)[:2]]) for history in made]
    expected = regime.share["ml.p5.48xlarge"] * regime.share["ml.p4d.24xlarge"]
    assert statistics.fmean(together) / WATCHED == pytest.approx(expected, rel=0.35)


def _overlap(ones, others):
    return sum(max(0, min(a.end, b.end) - max(a.start, b.start)) for a in ones for b in others)


@pytest.mark.parametrize("regime", REGIMES, ids=lambda regime: regime.name)
def test_a_regime_is_as_scarce_as_it_declares(regime):
    check(regime)


def test_the_regimes_go_from_mild_to_famine():
    assert [regime.name for regime in REGIMES] == ["mild", "tight", "famine"]
    for milder, harder in itertools.pairwise(REGIMES):
        assert all(milder.share[name] > harder.share[name] for name in milder.share)
        assert milder.spell > harder.spell


def one_seed_for_all(regime, seed):
    return spells(regime, 0)


def half_the_capacity(regime, seed):
    return {name: rows[::2] for name, rows in spells(regime, seed).items()}


def types_hand_in_hand(regime, seed):
    rows = spells(regime, seed)
    return dict.fromkeys(rows, rows["ml.p4d.24xlarge"]) if regime.name == "tight" else rows


def short_spells(regime, seed):
    return {
        name: [Spell(r.start + part * (r.end - r.start) / 3, r.start + (part + 0.9) * (r.end - r.start) / 3, r.free)
               for r in rows for part in range(3)]
        for name, rows in spells(regime, seed).items()
    }  # fmt: skip


def always_the_same_size(regime, seed):
    return {name: [dataclasses.replace(r, free=8) for r in rows] for name, rows in spells(regime, seed).items()}


def overlapping(regime, seed):
    return {name: [dataclasses.replace(r, start=r.start * 0.999) for r in rows]
            for name, rows in spells(regime, seed).items()}  # fmt: skip


DEFECTS = [one_seed_for_all, half_the_capacity, types_hand_in_hand, short_spells, always_the_same_size, overlapping]


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_a_planted_defect_of_the_generator_is_found(defect):
    def check_all():
        for regime in REGIMES:
            check(regime, defect)

    with pytest.raises(AssertionError):
        check_all()


def test_the_same_seed_gives_the_same_history_and_arrivals():
    for regime in REGIMES:
        assert spells(regime, 7) == spells(regime, 7)
    assert arrivals(7, 50) == arrivals(7, 50) != arrivals(8, 50)


def test_jobs_come_over_the_whole_week_in_order():
    jobs = arrivals(3, 700)
    moments = [job.at for job in jobs]
    assert moments == sorted(moments)
    assert 0 < moments[0] < moments[-1] < ARRIVING
    by_day = [sum(day * 86400 <= at < (day + 1) * 86400 for at in moments) for day in range(7)]
    assert min(by_day) > 70
    assert {job.units for job in jobs} == {1, 2}
    assert all(HOUR / 2 <= job.runtime <= 3 * HOUR for job in jobs)
