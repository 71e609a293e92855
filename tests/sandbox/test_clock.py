from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from constructs_lib.sandbox import Clock, SandboxError


@pytest.fixture
def clock() -> Clock:
    clock = Clock(speed=600, start=0)
    yield clock
    clock.close()


def took(work: Callable[[], object]) -> float:
    start = time.monotonic()
    work()
    return time.monotonic() - start


def test_virtual_time_runs_as_fast_as_told(clock: Clock) -> None:
    before, real = clock.now(), time.monotonic()
    time.sleep(0.1)
    virtual, wall = clock.now() - before, time.monotonic() - real
    assert virtual / wall == pytest.approx(600, rel=0.05)


def test_an_hour_of_sleep_takes_seconds(clock: Clock) -> None:
    before = clock.now()
    assert took(lambda: clock.sleep(60)) == pytest.approx(0.1, abs=0.08)
    assert clock.now() - before >= 60


def test_a_start_in_the_past_does_not_move_with_the_wall() -> None:
    assert Clock(start=1000.0).now() == pytest.approx(1000.0, abs=1.0)
    assert Clock().now() == pytest.approx(time.time(), abs=1.0)


def test_moments_are_written_as_aws_writes_them() -> None:
    assert Clock(start=0).iso(1795953600.25) == "2026-11-29T12:00:00.250Z"


def test_a_held_clock_runs_at_the_walls_speed(clock: Clock) -> None:
    with clock.held():
        before = clock.now()
        time.sleep(0.1)
        assert 0.1 <= clock.now() - before < 1.0
    time.sleep(0.02)
    assert clock.now() - before > 5


def test_a_slow_clock_is_not_sped_up_by_holding_it() -> None:
    clock = Clock(speed=0.5, start=0)
    with clock.held():
        time.sleep(0.1)
        assert clock.now() < 0.09


def test_a_clock_is_held_until_the_last_holder_lets_go(clock: Clock) -> None:
    with clock.held():
        with clock.held():
            pass
        before = clock.now()
        time.sleep(0.05)
        assert clock.now() - before < 1.0


def test_a_paused_hold_lets_time_run_and_holds_again_afterwards(clock: Clock) -> None:
    with clock.held() as hold:
        with hold.paused():
            assert took(lambda: clock.sleep(60)) < 0.5
        before = clock.now()
        time.sleep(0.05)
        assert clock.now() - before < 1.0


def test_a_hold_that_ends_while_paused_leaves_others_hold_alone(clock: Clock) -> None:
    with clock.held() as hold:
        pause = hold.paused()
        pause.__enter__()
    with clock.held():
        pause.__exit__(None, None, None)
        before = clock.now()
        time.sleep(0.05)
        assert clock.now() - before < 1.0
    time.sleep(0.02)
    assert clock.now() - before > 5


@pytest.mark.parametrize("wake", [None, threading.Event()], ids=["alone", "listening"])
def test_a_wait_that_began_while_held_ends_on_time_after_release(clock: Clock, wake: threading.Event | None) -> None:
    late: list[float] = []

    def wait(goal: float) -> None:
        clock.wait_until(goal, wake)
        late.append(clock.now() - goal)

    for _ in range(5):
        with clock.held():
            waiter = threading.Thread(target=wait, args=(clock.now() + 60,))
            waiter.start()
            time.sleep(0.05)
        waiter.join(timeout=2)
    assert min(late) >= 0
    assert min(late) < 12  # 20 ms at full speed; a busy machine may be late now and then


def test_a_wait_ends_early_when_woken(clock: Clock) -> None:
    wake = threading.Event()
    threading.Timer(0.05, wake.set).start()
    assert took(lambda: clock.wait_until(clock.now() + 3600 * 24, wake)) < 1.0
    assert clock.wait_until(clock.now() + 3600, wake) is False
    assert clock.wait_until(clock.now() - 1) is True


def test_a_jump_moves_time_at_once_and_ends_waits(clock: Clock) -> None:
    goal = clock.now() + 86400
    waiter = threading.Thread(target=clock.wait_until, args=(goal,))
    waiter.start()
    clock.jump(86400)
    waiter.join(timeout=1)
    assert not waiter.is_alive()
    assert clock.now() >= goal


def test_skipped_time_is_not_time_that_ran_by(clock: Clock) -> None:
    before = clock.elapsed()
    clock.jump(86400)
    assert clock.elapsed() - before < 60


def test_time_never_moves_backwards(clock: Clock) -> None:
    with pytest.raises(SandboxError, match="only moves forward"):
        clock.jump(-1)
    last = clock.now()
    for _ in range(200):
        with clock.held():
            now = clock.now()
        assert now >= last
        last = now


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_a_speed_that_stands_still_is_refused(speed: float) -> None:
    with pytest.raises(SandboxError, match="not above 0"):
        Clock(speed=speed)


def test_timers_ring_in_the_order_of_their_time(clock: Clock) -> None:
    rung: list[str] = []
    done = threading.Event()
    now = clock.now()
    clock.call_at(now + 60, done.set)
    clock.call_at(now + 30, lambda: rung.append("second"))
    clock.call_at(now + 15, lambda: rung.append("first"))
    clock.call_at(now + 40, lambda: rung.append("cancelled")).cancel()
    assert done.wait(2)
    assert rung == ["first", "second"]


def test_a_timer_that_fails_does_not_stop_the_others(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()
    clock.call_at(clock.now() + 1, lambda: 1 / 0)
    clock.call_at(clock.now() + 2, done.set)
    assert done.wait(2)
    assert "timer" in caplog.text


def test_a_jump_rings_every_timer_that_it_passes(clock: Clock) -> None:
    rung: list[int] = []
    done = threading.Event()
    base = clock.now() + 3600
    for number in range(5):
        clock.call_at(base + number * 60, lambda number=number: rung.append(number))
    clock.call_at(base + 3600, done.set)
    clock.jump(86400)
    assert done.wait(1)
    assert rung == [0, 1, 2, 3, 4]


def test_a_closed_clock_lets_go_of_all_who_wait(clock: Clock) -> None:
    threads = [
        threading.Thread(target=clock.sleep, args=(1e9,)),
        threading.Thread(target=clock.wait_until, args=(1e12, threading.Event())),
    ]
    for thread in threads:
        thread.start()
    clock.call_at(clock.now() + 1e9, lambda: None)
    clock.close()
    for thread in threads:
        thread.join(timeout=1)
        assert not thread.is_alive()
    assert not [thread for thread in threading.enumerate() if thread.name == "sandbox-clock"]
