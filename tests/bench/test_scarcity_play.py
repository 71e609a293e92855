"""Strategies in small histories whose course is plain, and the page that shows the comparison."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bench import scarcity
from bench.__main__ import main
from bench.scarcity.histories import HOUR, MINUTE, REGIMES, WATCHED, Arrival, Spell
from bench.scarcity.play import BETWEEN_TRIES, play
from bench.scarcity.plot import draw
from bench.scarcity.report import BEGIN, END, markdown
from bench.scarcity.strategies import STRATEGIES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE, PLOT = ROOT / "docs/cookbook/what-a-list-buys.md", ROOT / "docs/cookbook/scarcity.svg"
P5, P4D, G6E = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g6e.48xlarge"
BY_NAME = {strategy.name: strategy for strategy in STRATEGIES}
FIXED, SCRIPT, LIST, STEPS, PLAN_LIST, PLAN_STEPS = BY_NAME
START = 60  # a job starts a minute after it has instances


def one(strategy, at=0.0, units=1, **free):
    history = {name: [] for name in (P5, P4D, G6E)}
    for key, rows in free.items():
        history[{"p5": P5, "p4d": P4D, "g6e": G6E}[key]] = [Spell(*row) for row in rows]
    (run,) = play(BY_NAME[strategy], history, [Arrival(at, units, HOUR)])
    return run


def test_a_list_takes_the_second_type_at_the_moment_it_comes_free():
    run = one(LIST, p4d=[(20 * MINUTE, HOUR, 4)])
    assert (run.waited, run.instance_type, run.count, run.calls) == (20 * MINUTE + START, P4D, 2, 1)


def test_a_list_that_finds_two_types_free_takes_the_first():
    run = one(LIST, at=30 * MINUTE, p5=[(0, HOUR, 4)], p4d=[(0, HOUR, 4)])
    assert (run.waited, run.instance_type) == (START, P5)


def test_a_fixed_type_waits_for_its_own():
    assert one(FIXED, p4d=[(0, HOUR, 8)], p5=[(5 * HOUR, 6 * HOUR, 1)]).waited == 5 * HOUR + START
    assert one(FIXED, p4d=[(0, HOUR, 8)]).waited is None


def test_a_script_sees_what_is_free_when_it_looks():
    run = one(SCRIPT, p4d=[(16 * MINUTE, 40 * MINUTE, 4)])
    assert (run.waited, run.calls) == (30 * MINUTE + BETWEEN_TRIES + START, 8)
    assert one(SCRIPT, p5=[(16 * MINUTE, 29 * MINUTE, 4)]).waited is None


def test_a_script_gives_up_when_everybody_does():
    run = one(SCRIPT)
    assert (run.waited, run.calls) == (None, 48 * 4 * 3)


def test_steps_go_on_when_the_first_has_waited_enough():
    run = one(STEPS, p4d=[(0, 10 * HOUR, 4)])
    assert (run.waited, run.instance_type, run.calls) == (HOUR + BETWEEN_TRIES + START, P4D, 2)
    assert one(STEPS, p4d=[(0, HOUR, 4)], p5=[(59 * MINUTE, HOUR, 4)]).instance_type == P5


def test_every_strategy_that_waits_gives_up_after_the_same_time():
    for name in (FIXED, LIST, STEPS):
        assert sum(step.pending for step in BY_NAME[name].steps) == 48 * HOUR
        assert one(name, p5=[(50 * HOUR, 60 * HOUR, 8)]).waited is None


def test_the_plan_serves_whom_it_has_room_for_and_the_others_wait_on():
    history = {P5: [], P4D: [], G6E: [Spell(0, WATCHED, 24)]}
    jobs = [Arrival(i, 2, HOUR) for i in range(2)]
    first, second = play(BY_NAME[PLAN_STEPS], history, jobs)
    assert (first.on_plan, first.waited) == (True, START)
    assert (second.on_plan, second.instance_type) == (False, G6E)
    assert second.waited == 30 * MINUTE + BETWEEN_TRIES + START
    assert [run.on_plan for run in play(BY_NAME[PLAN_LIST], history, jobs)] == [True, False]


def test_jobs_of_one_strategy_compete_for_what_is_free():
    history = {P5: [Spell(0, WATCHED, 1)], P4D: [], G6E: []}
    runs = play(BY_NAME[LIST], history, [Arrival(0, 1, HOUR), Arrival(1, 1, HOUR)])
    assert runs[0].waited == START
    assert runs[1].waited > HOUR


def test_what_a_job_is_billed_for_is_its_time_on_instances():
    run = one(LIST, p5=[(0, HOUR, 4)])
    assert run.billed == 120 + HOUR + 60  # download, run, upload
    assert one(LIST).billed == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["no-such"], "unknown bench no-such"), (["scarcity", "--jobs", "0"], "--jobs"), (["--seed", "x"], "--seed")],
)
def test_a_wrong_argument_is_refused_in_words(arguments, words, capsys):
    with pytest.raises(SystemExit) as refused:
        main(arguments)
    assert refused.value.code == 2
    assert words in capsys.readouterr().err


def test_the_command_prints_every_strategy_beside_the_others(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "200")
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    arguments = ["scarcity", "--jobs", "6", "--plot", str(tmp_path / "plot.svg"), "--page", str(page)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    for name in BY_NAME:
        assert len(re.findall(rf"^│ {re.escape(name)} +│", printed, re.MULTILINE)) == len(REGIMES)
        assert page.read_text().count(f"| {name} |") == len(REGIMES)
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")


def curves(text):
    """Return the paths of a plot by regime and strategy."""
    found = {}
    for group in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}g"):
        if "/" in group.get("id", ""):
            (path,) = group.findall("{http://www.w3.org/2000/svg}path")
            found[group.get("id")] = [float(number) for number in re.findall(r"-?\d+\.?\d*", path.get("d"))]
    return found


def waits_of(runs):
    return {
        regime.name: {s.name: [run.waited for run in runs[regime.name, s.name]] for s in STRATEGIES}
        for regime in REGIMES
    }


def test_the_same_waits_give_the_same_plot_and_others_another(tmp_path):
    waits = waits_of(scarcity.week(5, 8))
    for name in ("one", "two"):
        draw(waits, tmp_path / name, "title")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    waits["mild"][LIST][0] = None
    draw(waits, tmp_path / "other", "title")
    here, there = (curves((tmp_path / name).read_text()) for name in ("one", "other"))
    assert len(here) == len(REGIMES) * len(STRATEGIES)
    assert [name for name in here if here[name] != there[name]] == [f"mild/{LIST}"]


@pytest.mark.slow
def test_the_page_and_its_plot_show_what_the_command_finds_today(tmp_path):
    runs = scarcity.week(scarcity.SEED, scarcity.JOBS)
    figures = markdown(scarcity.compare(runs), scarcity.JOBS)
    shown = PAGE.read_text().partition(BEGIN)[2].partition(END)[0].strip()
    assert shown == figures, "renew it with the command that the page names"
    draw(waits_of(runs), tmp_path / "plot.svg", "title")
    drawn, committed = curves((tmp_path / "plot.svg").read_text()), curves(PLOT.read_text())
    assert drawn.keys() == committed.keys()
    for name, path in drawn.items():
        assert committed[name] == pytest.approx(path, abs=0.5), f"{name} is drawn otherwise"
