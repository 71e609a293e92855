"""The figures of the comparison, held against runs whose figures are worked out by hand."""

import math
import statistics
from decimal import Decimal
from types import SimpleNamespace

import pytest

from bench.scarcity import figures as module
from bench.scarcity import plot
from bench.scarcity.figures import Prices, figures_of
from bench.scarcity.play import Run
from bench.scarcity.report import BEGIN, END, duration, with_figures

P5, P4D = "ml.p5.48xlarge", "ml.p4d.24xlarge"
BOOK = Prices("USD", "2026-01-01", "made up", {P5: Decimal(60), P4D: Decimal(25)}, {P5: Decimal(30)})
RUNS = [
    Run(60, P5, 1, on_plan=True, billed=7200, calls=1),
    Run(1800, P5, 2, on_plan=False, billed=3600, calls=2),
    Run(1801, P4D, 4, on_plan=False, billed=1800, calls=3),
    Run(waited=None, calls=4),
]
REAL = SimpleNamespace(
    share_within=module.share_within,
    percentile=module.percentile,
    on_demand_cost=module.on_demand_cost,
    plan_fee=module.plan_fee,
    curve=plot.curve,
)


def check(it):
    """Raise AssertionError if a metric function is wrong."""
    waits = [60, 1800, 1801, math.inf]
    assert it.share_within(waits, 1800) == 0.5
    assert it.share_within(waits, 1799) == 0.25
    assert it.share_within([math.inf], 1e9) == 0
    assert [it.percentile(waits, percent) for percent in (25, 26, 50, 75, 95)] == [60, 1800, 1800, 1801, math.inf]
    assert it.percentile([5], 95) == 5
    assert it.percentile(list(range(100, 0, -1)), 95) == 95
    # 2 x 1 h x 60 + 4 x 1/2 h x 25; what ran on the plan is in its fee.
    assert it.on_demand_cost(RUNS, BOOK) == Decimal("170.00")
    assert it.plan_fee(BOOK) == 3 * 10 * 24 * 30
    times, shares = it.curve([run.waited for run in RUNS])
    assert (times[1:-1], shares[1:-1]) == ([60, 1800, 1801], [0.25, 0.5, 0.75])
    assert (shares[0], times[-1], shares[-1]) == (0, 48 * 3600, 0.75)
    assert it.curve([None])[1] == [0, 0]


def test_the_figures_are_those_worked_out_by_hand():
    check(REAL)
    made = figures_of(RUNS, BOOK, has_plan=True)
    assert (made.soon, made.median, made.late, made.never) == (0.5, 1800, math.inf, 1)
    assert (made.on_best, made.calls) == (2, 10)
    assert (made.on_demand, made.fee, made.cost) == (Decimal("170.00"), 21600, Decimal("21770.00"))
    assert figures_of(RUNS, BOOK, has_plan=False).fee == 0


def started(waits):
    return [wait for wait in waits if wait != math.inf]


def priced(keep=lambda run: run.waited is not None and not run.on_plan, count=lambda run: run.count, hour=3600):
    def cost(runs, book):
        rows = [run for run in runs if keep(run)]
        return sum(
            (Decimal(str(r.billed)) * count(r) * book.per_hour[r.instance_type] / hour for r in rows), Decimal(0)
        )

    return cost


DEFECTS = {
    "jobs that never start do not count in the share": (
        "share_within",
        lambda waits, limit: sum(w <= limit for w in started(waits)) / max(1, len(started(waits))),
    ),
    "the limit itself is too late": ("share_within", lambda waits, limit: sum(w < limit for w in waits) / len(waits)),
    "jobs that never start do not count in a percentile": (
        "percentile",
        lambda waits, percent: module.percentile(started(waits) or [0], percent),
    ),
    "percentiles are interpolated": (
        "percentile",
        lambda w, p: statistics.quantiles(w, n=100)[p - 1] if len(w) > 1 else w[0],
    ),
    "percentiles are one rank too high": (
        "percentile",
        lambda w, p: sorted(w)[min(len(w) - 1, math.ceil(len(w) * p / 100))],
    ),
    "waits are not sorted": ("percentile", lambda w, p: w[math.ceil(len(w) * p / 100) - 1]),
    "a run on the plan is billed again": ("on_demand_cost", priced(keep=lambda run: run.waited is not None)),
    "instances are not counted": ("on_demand_cost", priced(count=lambda run: 1)),
    "seconds are taken for minutes": ("on_demand_cost", priced(hour=60)),
    "the plan is paid by use": ("plan_fee", lambda book: book.plan_per_hour[P5] * 2),
    "a plan costs what on demand costs": ("plan_fee", lambda book: book.per_hour[P5] * 3 * 10 * 24),
    "a curve is of the jobs that started": (
        "curve",
        lambda waits: plot.curve([wait for wait in waits if wait is not None]),
    ),
    "a curve goes up to the end": (
        "curve",
        lambda waits: (plot.curve(waits)[0], [*plot.curve(waits)[1][:-1], 1.0]),
    ),
}


@pytest.mark.parametrize("defect", sorted(DEFECTS))
def test_a_planted_defect_of_a_figure_is_found(defect):
    name, wrong = DEFECTS[defect]
    with pytest.raises(AssertionError):
        check(SimpleNamespace(**{**vars(REAL), name: wrong}))


def test_the_price_book_is_dated_and_says_where_it_comes_from():
    book = Prices.given()
    assert book.currency == "USD"
    assert book.as_of
    assert "Examples" in book.source
    assert set(book.per_hour) >= set(book.plan_per_hour)
    assert book.plan_per_hour[P5] < book.per_hour[P5]


@pytest.mark.parametrize(
    ("seconds", "words"), [(60, "1 min"), (7140, "119 min"), (7200, "2.0 h"), (math.inf, "not in 48 h")]
)
def test_durations_read_well(seconds, words):
    assert duration(seconds) == words


def test_a_page_without_marks_is_refused():
    with pytest.raises(ValueError, match="no place for figures"):
        with_figures("nothing here", "x")
    assert with_figures(f"a\n{BEGIN}\nold\n{END}\nb", "new") == f"a\n{BEGIN}\nnew\n{END}\nb"
