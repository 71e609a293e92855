"""Random histories: plans, people, luck and faults at any call, against everything that must hold.

The oracles are here too; each says in its own words what was broken.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from constructs_lib.model.endpoints import Rules

HOUR, MINUTE = 3600.0, 60.0
PERIOD, MARGIN, EARLY = 5 * MINUTE, 45 * MINUTE, HOUR
FAULTS = ("die-before", "die-after", "throttled", "timeout-before", "timeout-after", "late")
CALM = 4 * PERIOD  # between two faults: the margin covers a run that is disturbed now and then, not every one
CALLS = (
    *(f"sagemaker.{name}EndpointConfig" for name in ("Create", "Delete")),
    *(f"sagemaker.{name}Endpoint" for name in ("Create", "Update", "Delete", "Describe")),
    *(f"sagemaker.{name}" for name in ("UpdateEndpointWeightsAndCapacities", "DescribeTrainingPlan", "ListTags")),
    *(f"scaling.{name}ScalableTarget" for name in ("Register", "Deregister")),
    "dynamodb.UpdateItem",
)


class History:
    """One history, decided by a seed."""

    def __init__(self, world, seed):
        self.random, self.world, self.sagemaker = random.Random(seed), world, world.sagemaker
        self.epoch, self.faulted, self.deleted, self.by_hand, self.odd = 0, -1e9, False, -1e9, False
        self.longer = False
        self.model, self.retired, self.asked = "m1", 0, []
        self.set_up()

    # --- the setting
    def set_up(self):
        pick, clock, sold = self.random.choice, self.world.clock, self.sagemaker
        sold.lead, sold.expired = pick((60, 30, 0)) * MINUTE, pick(("InService", "Failed", "OutOfService"))
        sold.active_at, sold.full_plan = pick(("CreateEndpointConfig", "CreateEndpoint")), pick(("rolls back", "waits"))
        sold.summary, sold.extension = self.random.random() < 0.8, pick(("keeps", "ends"))
        begin = clock.now + pick((-2, 0.5, 3)) * HOUR
        segments = [(begin, begin + 24 * HOUR)]
        if pick((True, False)):
            gap = begin + 24 * HOUR + pick((0, 6)) * HOUR
            segments.append((gap, gap + 24 * HOUR))
        total = pick((1, 2, 3, 4))
        self.plan = sold.plan("main", *segments, total=total, others=pick((0, 0, 0, 1)) if total > 1 else 0)
        after = segments[-1][1] + pick((-4, 3)) * HOUR
        self.next = sold.plan("next", (after, after + 24 * HOUR), total=pick((2, 4)))
        self.count = pick(range(1, total + 1))
        self.expiry, self.last = pick(("delete", "to_on_demand", "to_plan", "keep")), pick(("delete", "delete", "keep"))
        self.downtime = pick(("0", "0", "7200"))
        self.scaled = self.random.random() < 0.2
        self.foreign = self.random.random() < 0.05
        if self.foreign:
            self.make_foreign()

    def make_foreign(self):
        rows = [{"VariantName": "AllTraffic", "ModelName": "m0", "InstanceType": "ml.g5.2xlarge",
                 "InitialInstanceCount": 1}]  # fmt: skip
        self.sagemaker.handle("CreateEndpointConfig", {"EndpointConfigName": "mine", "ProductionVariants": rows})
        self.sagemaker.handle("CreateEndpoint", {"EndpointName": "chat", "EndpointConfigName": "mine"})

    def declaration(self):
        world, more = self.world, {"LastResort": self.last, "Acknowledge": "it may fail"}
        choice = {
            "delete": lambda: {"Action": "delete"},
            "keep": lambda: {"Action": "keep", "Acknowledge": "it may fail"},
            "to_on_demand": lambda: world.to_on_demand(self.model, **more),
            "to_plan": lambda: world.to_plan(self.next, self.model, count=2, **more),
        }[self.expiry]()
        if self.scaled:
            policy = {"TargetValue": "70", "PredefinedMetricSpecification": {"PredefinedMetricType": "X"}}
            scaling = {"VariantName": "AllTraffic", "MinCapacity": "1", "MaxCapacity": "3", "PolicyConfig": policy}
            more = {"Scaling": scaling}
        else:
            more = {}
        count = min(self.count, self.plan.total)
        return world.declaration(
            self.plan, model=self.model, count=count, on_expiry=choice, AcceptDowntimeSeconds=self.downtime, **more
        )

    # --- what happens
    def deploy(self):
        self.epoch += 1
        answer = self.world.deploy(self.declaration())
        if answer is not None and answer["Status"] == "FAILED":
            assert self.faults_planned, answer["Reason"]
        if answer is None or answer["Status"] == "FAILED":
            self.world.faults.clear()
            self.world.deploy(self.declaration())
        self.check_repeats()

    def change_model(self):
        self.model = f"m{self.random.randrange(1, 5)}"
        self.deploy()

    def change_count(self):
        self.count = self.random.randrange(1, self.plan.total + 1)
        self.deploy()

    def set_count(self):
        self.epoch += 1
        self.world.override(instance_count=self.random.choice((None, 1, 2, 4)))

    def leave_now(self):
        self.epoch += 1
        self.world.override(on_expiry_now=None if self.expiry == "keep" else self.expiry)

    def others_change(self):
        free = max(0, self.plan.total - self.sagemaker.used(self.plan.arn))
        self.epoch += 1
        self.plan.others = self.random.randrange(0, free + 1)

    def luck_changes(self):
        self.sagemaker.on_demand = not self.sagemaker.on_demand

    def model_changes(self):
        self.sagemaker.bad ^= {f"m{self.random.randrange(1, 5)}"}

    def deleted_by_hand(self):
        self.by_hand, self.foreign = self.world.clock.now, False
        self.sagemaker.endpoints.pop("chat", None)

    def changed_by_hand(self):
        endpoint = self.world.endpoint
        if endpoint is None or endpoint.status != "InService" or self.leaving():
            return
        self.by_hand, self.sagemaker.careful = self.world.clock.now, False
        row = {"VariantName": "AllTraffic", "ModelName": "m9", "InstanceType": "ml.g5.2xlarge"}
        request = {"EndpointConfigName": "hand", "ProductionVariants": [row | {"InitialInstanceCount": 1}]}
        self.sagemaker.configs["hand"] = request
        policy = {"BlueGreenUpdatePolicy": {}}
        self.sagemaker.handle(
            "UpdateEndpoint", {"EndpointName": "chat", "EndpointConfigName": "hand", "DeploymentConfig": policy}
        )
        self.asked.append(("by hand", self.world.clock.now))
        self.sagemaker.careful = True

    def system_update(self):
        endpoint = self.world.endpoint
        if endpoint is not None and endpoint.status == "InService" and not self.leaving():
            endpoint.status = "SystemUpdating"

            def done():
                endpoint.status = "InService"
                self.sagemaker.show_death(endpoint)

            self.sagemaker.later(endpoint, "scale", done)

    def extended(self):
        last = self.plan.segments[-1]
        if self.world.clock.now < last[1] - EARLY - 2 * MARGIN and self.plan.said == "":
            last[1] += 24 * HOUR
            self.longer = True
            self.epoch += 1

    def shrinks(self):
        if self.plan.total > 1 and self.plan.others < self.plan.total - 1:
            self.epoch += 1
            self.plan.total -= 1
            self.count = min(self.count, self.plan.total)

    def plan_goes(self):
        if self.random.random() < 0.1 and not self.plan.said:
            self.plan.said, self.odd = "Failed", True
            self.epoch += 1

    def stack_deleted(self):
        if self.random.random() < 0.3:
            self.deleted = True

    def fault(self):
        if self.world.clock.now - self.faulted >= CALM:
            self.faulted = self.world.clock.now
            name = self.random.choice(CALLS) if self.random.random() < 0.6 else None
            at = name or self.world.count + self.random.randrange(1, 12)
            self.world.faults[at] = self.random.choice(FAULTS)

    @property
    def faults_planned(self):
        return bool(self.world.trace) or bool(self.world.faults)

    EVENTS = (
        ("change_model", 5), ("change_count", 2), ("set_count", 2), ("leave_now", 1), ("others_change", 2),
        ("luck_changes", 2), ("model_changes", 2), ("deleted_by_hand", 1), ("changed_by_hand", 1), ("system_update", 1),
        ("extended", 1), ("shrinks", 1), ("plan_goes", 1), ("stack_deleted", 1), ("nothing", 6),
    )  # fmt: skip

    def nothing(self):
        pass

    # --- time
    def edges(self):
        return sorted(
            t
            for plan in (self.plan, self.next)
            for start, end in plan.segments
            for t in (start, end - EARLY - 2 * MARGIN, end - EARLY - MARGIN, end - EARLY, end)
        )

    def phase(self):
        """Which edges have passed."""
        return sum(t <= self.world.clock.now for t in self.edges())

    def leaving(self):
        now = self.world.clock.now
        return any(end - EARLY - 2 * MARGIN <= now <= end for plan in (self.plan, self.next)
                   for _, end in plan.segments)  # fmt: skip

    def run(self):
        self.world.pass_time(self.random.choice((PERIOD, PERIOD, PERIOD, 20.0)))
        if self.random.random() < 0.5:
            self.world.arrive()
        calls = self.world.run()
        self.check()
        return calls

    def busy(self):
        endpoint = self.world.endpoint
        return endpoint is not None and bool(endpoint.queue)

    def pass_on(self):
        """Run until nothing is to do; then pass to shortly before the next edge."""
        for _ in range(self.random.randrange(1, 8)):
            calls = self.run()
            if calls == 0 and not self.busy() and not self.world.under_way:
                self.check_alive()
                break
        else:
            return
        now, before = self.world.clock.now, self.random.random() * PERIOD
        edge = next((t for t in self.edges() if t > now), None)
        if edge is not None and self.random.random() < 0.7:
            self.world.pass_time(max(0.0, edge - before - now))
            self.check()

    # --- the history
    def play(self, steps=22):
        self.deploy()
        for _ in range(steps):
            names, weights = zip(*self.EVENTS, strict=True)
            if self.random.random() < 0.6:
                self.fault()
            if self.random.random() < 0.4:
                getattr(self, self.random.choices(names, weights)[0])()
            if self.deleted:
                break
            self.pass_on()
        self.end()

    def end(self):
        world = self.world
        if self.deleted:
            for _ in range(4):
                answer = world.delete() if world.properties else {"Status": "SUCCESS"}
                if answer is not None and answer["Status"] == "SUCCESS":
                    break
            world.faults.clear()
            assert answer is not None, "the function died every time"
            assert answer["Status"] == "SUCCESS", answer["Reason"]
            world.pass_time(20)
            world.arrive()
            world.pass_time(HOUR)
            self.check_gone()
            return
        world.faults.clear()
        self.sagemaker.on_demand = True
        world.pass_time(10)
        world.arrive()
        calm = [t for t in self.edges() if t > world.clock.now]
        if calm and calm[0] - world.clock.now < 40 * PERIOD:
            last = next((t for t, u in zip(calm, [*calm[1:], calm[-1] + 1e9], strict=True) if u - t > 41 * PERIOD), 0)
            while world.clock.now < last:
                self.run()
        quiet = 0
        for _ in range(60):
            quiet = 0 if self.run() or self.busy() else quiet + 1
            if quiet == 4:
                break
        self.check_converged()

    # --- what must hold
    def check(self):
        broken = self.sagemaker.broken
        assert not broken, broken
        self.check_repeats()
        for t, kind, _, arn in self.sagemaker.log[self.retired :]:
            self.retired += 1
            if kind == "expired" and not self.may_expire(t, arn):
                raise AssertionError("D2 the endpoint is still on the plan when its instances go")
            if kind == "delete serving" and not self.may_stop(t, arn):
                raise AssertionError("D9 an endpoint that serves is deleted for no reason")

    def check_repeats(self):
        updates = self.sagemaker.updates
        for number in range(len(self.asked), len(updates)):
            key = (updates[number], self.phase(), self.epoch)
            failed = any(self.asked[each] == key for each in self.sagemaker.rollbacks if each < number)
            assert not failed or self.world.lost, "D5 a rolled-back update is tried again"
            self.world.lost -= bool(failed)
            self.asked.append(key)

    def may_expire(self, t, arn):
        keeps = self.expiry == "keep" or (self.expiry != "delete" and self.last == "keep")
        ended = self.longer and self.sagemaker.extension == "ends"  # started again is all that can be done
        return keeps or ended or self.odd or self.foreign or t - self.by_hand < 2 * HOUR

    def may_stop(self, t, arn):
        plan = self.sagemaker.plans.get(arn)
        leaves = plan is None or plan.status(t) != "Active" or any(
            end - EARLY - MARGIN - 1 <= t <= end for _, end in plan.segments
        )  # fmt: skip
        now = "on_expiry_now" in (self.world.item.overrides if self.world.item else {})
        blind = not self.sagemaker.summary  # whether it outlived the end of a segment cannot be seen
        return leaves or blind or self.downtime != "0" or now or self.odd or t - self.by_hand < HOUR

    def check_alive(self):
        endpoint, item = self.world.endpoint, self.world.item
        dead = endpoint is not None and endpoint.live.plan == self.plan.arn and endpoint.live.dead
        blind = not self.sagemaker.summary and "on_expiry_now" in item.overrides  # kept, and nothing can be seen
        content = item.plan["status"] == "Active" and item.state == "InService" and not blind
        assert not (dead and content and self.open(self.plan, self.world.clock.now)), "it serves nothing, unnoticed"

    def check_gone(self):
        assert self.foreign or self.world.endpoint is None, "D4 an endpoint is there after the tear-down"
        left = {name for name in self.sagemaker.configs if name.startswith("chat-")}
        assert not left, f"D4 configurations are left: {left}"
        assert self.world.item is None

    def check_converged(self):
        item, endpoint, plan = self.world.item, self.world.endpoint, self.plan
        if self.foreign:
            assert item.state == "NotOurs"
            return
        if self.model in self.sagemaker.bad or self.odd or "on_expiry_now" in item.overrides:
            return  # nothing good can come of it; what must not happen is checked all along
        now, back = self.world.clock.now, item.rolled_back
        tried = {self.sagemaker.updates[number] for number in self.sagemaker.rollbacks}
        assert back is None or back.config in tried, "D7 what never failed is given up"
        if self.open(plan, now):
            assert endpoint is not None or plan.others == plan.total, f"not there: {item}"
            if endpoint is None or item.state == "NoHeadRoom" or back:
                return
            self.check_serves(plan.arn, item.overrides.get("instance_count", self.count), plan)
        elif plan.status(now) == "Scheduled" and now < plan.segments[0][0]:
            assert endpoint is None
        elif self.expiry == "to_on_demand" and not back:
            self.check_serves("", item.overrides.get("instance_count", 1), None)
        elif self.expiry == "to_plan" and self.open(self.next, now) and not back:
            self.check_serves(self.next.arn, item.overrides.get("instance_count", 2), self.next)
        elif self.expiry == "delete":
            assert endpoint is None

    def open(self, plan, now):
        starts = enumerate(plan.segments)
        return any(s + (0 if i else plan.late) <= now < e - EARLY - 2 * MARGIN for i, (s, e) in starts)

    def check_serves(self, arn, count, plan):
        endpoint, item = self.world.endpoint, self.world.item
        assert endpoint is not None, f"not there: {item.state} {item.reason}"
        assert endpoint.status == "InService", item
        assert endpoint.live.plan == arn, item
        assert not endpoint.live.dead, f"it serves nothing: {item}"
        models = {row["ModelName"] for row in self.sagemaker.configs[endpoint.live.config]["ProductionVariants"]}
        assert models == {self.model}, item
        if not (self.scaled and plan):
            limit = plan.total - plan.others if plan else count
            assert endpoint.live.size == min(count, limit), item
        ours = {name for name in self.sagemaker.configs if name.startswith("chat-")}
        assert len(ours) <= 2, ours
        assert item.state in ("InService", "OnDemand"), item


@pytest.fixture(scope="session")
def play(make_world):
    def play_one(seed, windows=None, without=""):
        world = make_world()
        world.to = replace(world.to, reconciling=replace(world.to.reconciling, rules=_rules(without)))
        history = History(world, seed)
        try:
            history.play()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        if windows is not None:
            windows.update(world.windows)
        return history

    return play_one


def _rules(without):
    return replace(Rules(), **({without: False} if without else {}))
