"""The counterexamples of a purchase that has neither name nor token, as schedules of an extension."""

from __future__ import annotations

import pytest

from constructs_lib.runtime.services.extending import Extending
from constructs_lib.runtime.services.till import Till

EXTEND = "sagemaker.extend_training_plan"
SEARCH = "sagemaker.search_training_plan_offerings"
END = "2026-12-14T11:30:00Z"


def settled(world):
    world.settle()
    world.check_settled()


def b_extension_asked(world, **more):
    world.deploy()
    world.clock.sleep(600)
    event = world.stack().deploy(ExtendUntil=END, MaxExtensionFee="40000", **more)
    assert event is not None


def b5_an_extension_is_not_bought_after_a_cancel(world):
    b_extension_asked(world)
    run = world.deliver().until(SEARCH).step()
    world.stack().cancel()
    run.finish()
    settled(world)
    assert not world.extended


def b9_an_unclear_extension_is_never_bought_again(world):
    b_extension_asked(world)
    run = world.deliver().until(EXTEND).step("late")
    run.finish()
    assert run.result["Data"]["Status"] == "Unconfirmed"
    world.clock.sleep(60)
    world.stack().deploy(Tags=[{"Key": "team", "Value": "x"}])
    world.play_out()
    world.arrive()
    settled(world)
    assert len(world.extended) == 1


def b11_an_extension_that_was_bought_is_not_refused_by_its_repeat(world):
    b_extension_asked(world)
    world.deliver().until(EXTEND).step("die-after")
    world.refuse["ExtendTrainingPlan"] = world.refusal("ResourceNotFound", "no such offering")
    world.play_out()
    assert world.answers[-1][1]["Status"] == "SUCCESS"
    settled(world)


def b12_a_refused_extension_request_never_buys(world):
    b_extension_asked(world)
    stack = world.stack()
    world.refuse["ExtendTrainingPlan"] = world.refusal("ResourceLimitExceeded", "quota")
    stack.stale = "UPDATE_IN_PROGRESS"
    world.deliver(again=True).finish()
    assert world.answers[-1][1]["Status"] == "FAILED"
    refused_request = world.answers[-1][0]["RequestId"]
    del world.refuse["ExtendTrainingPlan"]
    world.queue = [row for row in world.queue if row[0]["RequestId"] == refused_request]
    world.play_out()
    stack.stale = None
    assert not world.extended, "a refused request extends"


SCHEDULES = [
    b5_an_extension_is_not_bought_after_a_cancel,
    b9_an_unclear_extension_is_never_bought_again,
    b11_an_extension_that_was_bought_is_not_refused_by_its_repeat,
    b12_a_refused_extension_request_never_buys,
]


@pytest.fixture
def keyed(make_world, purchase_key):
    what = ("nightly#1", "nightly#2", f"nightly#1+{END[:10]}")
    return make_world(Purchase=",".join(purchase_key(each, "2027-12-31") for each in what))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.__name__)
def test_no_counterexample_holds_any_more(keyed, schedule):
    schedule(keyed)


def _extend_again(patch):
    def begun_again(self, ask, wanted, plan, label):
        self.means.table.change(
            ask.plan.identity, lambda r: r.released(label, getattr(r.purchases.get(label), "attempt", ""))
        )

    patch.setattr(Extending, "_bought_before", begun_again)


def _always_forward(patch):
    patch.setattr(Till, "reason_against", lambda self, ask: None)


def _open_requests(patch):
    """A refusal does not close its request."""
    patch.setattr(Till, "close", lambda self, ask, label, attempt, reason: self.release(ask, label, attempt))


DEFECTS = {
    "never_rebuy_unclear": (_extend_again, b9_an_unclear_extension_is_never_bought_again, "P1"),
    "live_check": (_always_forward, b5_an_extension_is_not_bought_after_a_cancel, "P6"),
    "close_refused": (_open_requests, b12_a_refused_extension_request_never_buys, "a refused request extends"),
}


@pytest.mark.parametrize("rule", DEFECTS)
def test_each_rule_taken_away_is_noticed(keyed, monkeypatch, rule):
    plant, schedule, broken = DEFECTS[rule]
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=broken):
        schedule(keyed)
