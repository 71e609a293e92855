"""Each counterexample of the protocol as a schedule, and each rule taken away as a defect that its schedule catches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from constructs_lib.runtime.adapters.training_plans import TrainingPlans
from constructs_lib.runtime.errors import PurchaseRefusedError
from constructs_lib.runtime.plan_request import PlanIdentity, PlanRequest
from constructs_lib.runtime.purchase_record import Record
from constructs_lib.runtime.services.buying import Buying
from constructs_lib.runtime.services.looking import Looking, Sight, Sighting
from constructs_lib.runtime.services.patience import Patience
from constructs_lib.runtime.services.quoting import Quoting
from constructs_lib.runtime.services.till import Bought, Held, Till

CREATE = "sagemaker.create_training_plan"
SEARCH = "sagemaker.search_training_plan_offerings"
DESCRIBE = "sagemaker.describe_training_plan"
TOPIC = "arn:aws:sns:us-east-1:123456789012:approvers"
APPROVAL = {"Required": "true", "TopicArn": TOPIC}
END = "2026-12-14T11:30:00Z"
MONTH = 30 * 86400.0


def settled(world):
    world.settle()
    world.check_settled()


def forgetful(world):
    """Names are freed, and plans that are over are forgotten."""
    world.faults.switch("sagemaker.plan-name-taken", "never")
    world.faults.switch("sagemaker.dead-plans", "forgotten")


# --- the schedules


def a1_a_cancelled_deploy_does_not_buy_when_its_event_comes_late(world):
    world.stack().deploy()
    world.stack().cancel()
    world.play_out()
    assert not world.bought


def a1_a_deploy_that_is_cancelled_before_the_call_does_not_buy(world):
    world.stack().deploy()
    run = world.deliver().until(SEARCH)
    world.stack().cancel()
    run.finish()
    settled(world)
    assert not world.bought


def a2_a_lost_answer_and_a_lagging_lookup_do_not_fail(world):
    world.faults.switch("lag.describe-training-plan", "60")
    world.stack().deploy()
    run = world.deliver().until(CREATE).step("lost-after")
    world.price("300.00")
    run.finish()
    assert run.result["Data"]["UpfrontFee"] == "28800.00"
    settled(world)


def a2_a_late_call_is_waited_for(world):
    world.stack().deploy()
    run = world.deliver().until(CREATE).step("late")
    for _ in range(6):
        run.step()
    world.arrive()
    run.finish()
    settled(world)
    assert len(world.bought) == 1


def a3_a_bought_plan_is_not_a_quote_when_the_key_is_gone(world):
    world.deploy()
    answer = world.deploy(Purchase=None)
    assert answer["Data"]["UpfrontFee"] == "28800.00"
    settled(world)


def a4_tags_that_lag_do_not_make_a_plan_another_s(world):
    world.faults.switch("lag.training-plan-tags", "100")
    world.stack().deploy()
    world.deliver().until(CREATE).step("die-after")
    world.play_out()
    settled(world)
    assert world.stack().phase == "idle"


def a4_a_rollback_is_never_refused(world):
    stack = world.stack()
    world.deploy(Approval=APPROVAL)
    world.approve("1", "50000")
    world.price("300.00")
    stack.deploy(Tags=[{"Key": "team", "Value": "x"}], Approval=APPROVAL)
    world.queue.clear()
    stack.cancel()
    world.play_out()
    settled(world)
    assert stack.phase == "idle"


def a5_a_lowered_generation_does_not_buy(world):
    world.deploy(Generation="2")
    answer = world.deploy(Generation="1")
    assert answer["Status"] == "FAILED"
    assert "generation 2" in answer["Reason"]
    settled(world)
    assert len(world.bought) == 1


def a6_a_moved_construct_does_not_buy(world):
    world.deploy()
    world.stack().move()
    world.play_out()
    settled(world)
    assert len(world.bought) == 1


def a7_an_expired_and_forgotten_plan_is_not_bought_again(world):
    forgetful(world)
    world.stack().deploy()
    world.deliver().until(CREATE).step("die-after")
    world.queue.clear()
    world.stack().pending = None
    world.stack().cancel()
    world.clock.sleep(MONTH)
    answer = world.deploy(StartTimeAfter="2027-01-02T00:00Z", EndTimeBefore="2027-01-12T00:00Z")
    assert answer["Data"]["Status"] == "Unconfirmed"
    assert "gpucap resolve nightly" in answer["Data"]["Quote"]


def a8_an_approval_is_for_one_generation(world):
    world.deploy(Approval=APPROVAL)
    world.approve("1")
    world.stack().deploy(Approval=APPROVAL, Tags=[{"Key": "team", "Value": "x"}])
    run = world.deliver().until(CREATE).step("late")
    world.stack().cancel()
    world.arrive()
    run.finish()
    world.play_out()
    answer = world.deploy(Approval=APPROVAL, Generation="2")
    assert answer["Data"]["Status"] == "AwaitingApproval"
    settled(world)
    assert len(world.bought) == 1


def a9_two_deliveries_give_one_answer(world):
    world.price("300.00")
    world.stack().deploy()
    first = world.deliver(again=True).until(SEARCH).step()
    world.price("100.00")
    second = world.deliver()
    for _ in range(8):
        if not second.done and second.at != CREATE:
            second.step()
    while not second.done and world.clock.now() - second.started_at < 60:
        second.step()
    first.finish()
    settled(world)


def a10_a_stack_that_is_deleted_and_made_again_does_not_buy(world):
    forgetful(world)
    world.deploy()
    world.stack().delete()
    world.clock.sleep(MONTH)
    answer = world.deploy(StartTimeAfter="2027-01-02T00:00Z", EndTimeBefore="2027-01-12T00:00Z")
    assert answer["Data"]["UpfrontFee"] == "28800.00"
    settled(world)
    assert len(world.bought) == 1


def a10_a_stack_that_is_deleted_while_its_call_is_under_way_does_not_buy(world):
    world.faults.switch("sagemaker.plan-name-taken", "never")
    world.stack().deploy()
    world.deliver().until(CREATE).step("lost-after")
    world.faults.switch("lag.describe-training-plan", "0")
    world.stack().cancel()
    world.stack().delete()
    world.play_out()
    world.deploy()
    settled(world)
    assert len(world.bought) == 1


def a_price_above_the_ceiling_is_not_bought(world):
    world.price("300.00")
    answer = world.deploy()
    assert answer["Status"] == "FAILED"
    assert "86400.00 USD is above the ceiling of 60000 USD" in answer["Reason"]
    assert not world.bought


def a_refused_request_never_buys(world):
    world.price("300.00")
    stack = world.stack()
    stack.deploy()
    stack.stale = "CREATE_IN_PROGRESS"  # the second delivery comes before the stack's status has changed
    world.deliver(again=True).finish()
    world.price("100.00")
    world.play_out()
    stack.stale = None
    assert not world.bought


SCHEDULES = [
    value for name, value in list(globals().items()) if callable(value) and name[:2] in ("a1", "a2", "a3", "a4", "a5")
]
SCHEDULES += [
    a6_a_moved_construct_does_not_buy,
    a7_an_expired_and_forgotten_plan_is_not_bought_again,
    a8_an_approval_is_for_one_generation,
    a9_two_deliveries_give_one_answer,
    a10_a_stack_that_is_deleted_and_made_again_does_not_buy,
    a10_a_stack_that_is_deleted_while_its_call_is_under_way_does_not_buy,
    a_price_above_the_ceiling_is_not_bought,
    a_refused_request_never_buys,
]


@pytest.fixture
def keyed(make_world, purchase_key):
    what = ("nightly#1", "nightly#2", f"nightly#1+{END[:10]}")
    return make_world(Purchase=",".join(purchase_key(each, "2027-12-31") for each in what))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.__name__)
def test_no_counterexample_holds_any_more(keyed, schedule):
    schedule(keyed)


# --- the rules, each taken away


def _unstable(patch):
    """The name follows from the construct's place."""
    of = PlanRequest.of.__func__

    def moved(cls, event):
        ask = of(cls, event)
        place = event["LogicalResourceId"].removeprefix("Nightly")
        object.__setattr__(ask, "plan", PlanIdentity(ask.plan.identity + place, ask.plan.generation))
        return ask

    patch.setattr(PlanRequest, "of", classmethod(moved))


def _key_first(patch):
    forward = Buying._forward

    def gated(self, ask, until):
        missing = ask.reason_without_key(ask.plan.label, self.means.now().date())
        return self.quoting.quote(ask, Held(missing)) if missing else forward(self, ask, until)

    patch.setattr(Buying, "_forward", gated)


def _always_forward(patch):
    patch.setattr(Till, "reason_against", lambda self, ask: None)


def _loud_rollback(patch):
    patch.setattr(Buying, "answer", lambda self, ask, until: self._forward(ask, until))


def _any_generation(patch):
    patch.setattr(Record, "higher", lambda self, generation: None)


def _no_memory(patch):
    """What AWS does not show was never bought."""
    glance, claimed = Looking.glance, Record.claimed

    def shown_only(self, who, quiet, *, adopt):
        seen = glance(self, who, quiet, adopt=adopt)
        return seen if seen.plan else Sighting(Sight.NOTHING, record=seen.record)

    def claimed_over(self, label, purchase):
        others = {key: row for key, row in self.purchases.items() if key != label}
        return claimed(replace(self, purchases=others), label, purchase)

    patch.setattr(Looking, "glance", shown_only)
    patch.setattr(Record, "claimed", claimed_over)


def _claim_late(patch):
    """The claim comes just before the call."""

    def buy(self, ask, sale):
        record = self.means.table.read(ask.plan.identity)
        held, approval = self.gate(ask, sale.label, record)
        if held is not None:
            return held
        try:
            terms = sale.choose(approval)
            if self.claim(ask, sale.label, "late") is None:
                return None
            if (against := self.reason_against(ask)) is not None:
                self.release(ask, sale.label, "late")
                return Held(against, stopped=True)
            arn = sale.call(terms["offering"])
        except PurchaseRefusedError as refusal:
            self.close(ask, sale.label, "late", str(refusal))
            raise
        self.bought(ask, sale.label, arn, terms)
        return Bought(arn, terms)

    patch.setattr(Till, "buy", buy)


def _no_settling(patch):
    patch.setattr(Patience, "conclusive", lambda self, row: True)


def _any_approval(patch):
    gate = Till.gate

    def loose(self, ask, label, record):
        approvals = dict.fromkeys([label], next(iter(record.approvals.values()), None))
        approvals = {label: approval for label, approval in approvals.items() if approval}
        object.__setattr__(record, "approvals", approvals)
        return gate(self, ask, label, record)

    patch.setattr(Till, "gate", loose)


def _no_tag_is_another_s(patch):
    owner = TrainingPlans.owner
    patch.setattr(TrainingPlans, "owner", lambda self, plan: owner(self, plan) or {"gpucap:identity": "?"})


def _no_comparison(patch):
    patch.setattr(Quoting, "choose", lambda self, ask, approval: self.fitting(ask)[0])


def _open_requests(patch):
    """A refusal does not close its request."""
    patch.setattr(Till, "close", lambda self, ask, label, attempt, reason: self.release(ask, label, attempt))


def _record_of_the_stack(world):
    stack = world.stack()
    delete = stack.delete

    def delete_all():
        delete()
        world.dynamodb.items.clear()

    stack.delete = delete_all


DEFECTS = {
    "stable_identity": (_unstable, a6_a_moved_construct_does_not_buy, "plan/nightly2|P1"),
    "lookup_first": (_key_first, a3_a_bought_plan_is_not_a_quote_when_the_key_is_gone, "P5"),
    "live_check": (_always_forward, a1_a_deploy_that_is_cancelled_before_the_call_does_not_buy, "P6"),
    "highest_generation": (_any_generation, a5_a_lowered_generation_does_not_buy, "P8"),
    "memory": (_no_memory, a7_an_expired_and_forgotten_plan_is_not_bought_again, "P1"),
    "claim_first": (_claim_late, a9_two_deliveries_give_one_answer, "P4"),
    "quiet_rollback": (_loud_rollback, a4_a_rollback_is_never_refused, "P7"),
    "settle": (_no_settling, a2_a_lost_answer_and_a_lagging_lookup_do_not_fail, "P4"),
    "bound_approval": (_any_approval, a8_an_approval_is_for_one_generation, "P3"),
    "patient_tags": (_no_tag_is_another_s, a4_tags_that_lag_do_not_make_a_plan_another_s, "P4"),
    "compare_before": (_no_comparison, a_price_above_the_ceiling_is_not_bought, "P2"),
    "close_refused": (_open_requests, a_refused_request_never_buys, "P4"),
}


@pytest.mark.parametrize("rule", DEFECTS)
def test_each_rule_taken_away_is_noticed(keyed, monkeypatch, rule):
    plant, schedule, broken = DEFECTS[rule]
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=broken):
        schedule(keyed)


def test_a_record_that_goes_with_its_stack_is_noticed(keyed):
    _record_of_the_stack(keyed)
    with pytest.raises(AssertionError, match="P1"):
        a10_a_stack_that_is_deleted_and_made_again_does_not_buy(keyed)
