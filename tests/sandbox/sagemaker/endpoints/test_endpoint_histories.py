"""Random lives of endpoints, held against what may be seen from outside: nothing is held twice, lost or silent."""

from __future__ import annotations

import contextlib
import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.sagemaker import endpoint_life, endpoint_rollout
from constructs_lib.sandbox.sagemaker.endpoint_life import EndpointLife
from constructs_lib.sandbox.sagemaker.endpoint_rollout import Rollout
from constructs_lib.sandbox.sagemaker.endpoint_state import IN_PROGRESS, Endpoint
from constructs_lib.sandbox.sagemaker.placement import Placement
from constructs_lib.sandbox.sagemaker.plans import Plans
from constructs_lib.sandbox.sagemaker.supply import Supply

P5, G5, G6 = "ml.p5.48xlarge", "ml.g5.48xlarge", "ml.g6.48xlarge"
FREE = {G5: 2, G6: 1}
COUNT = 4
SEGMENTS = ((-60, 60), (90, 150))  # minutes
CUT = 30
ONE_BY_ONE = {
    "RollingUpdatePolicy": {"MaximumBatchSize": {"Type": "INSTANCE_COUNT", "Value": 1}, "WaitIntervalInSeconds": 0}
}
CONFIGS = {
    "plan-2": {"plan": "plan", "count": 2},
    "plan-3": {"plan": "plan", "count": 3},
    "pools": {"pools": [G5, G6], "count": 2},
    "single": {"type_": G5, "count": 2},
}
NEXT = {
    "Creating": {"InService", "Failed"},
    "InService": {"Updating", "Deleting", "reservation expired", "Failed", "OutOfService"},
    "Updating": {"InService", "RollingBack"},
    "RollingBack": {"InService", "UpdateRollbackFailed", "Failed", "OutOfService"},
    "UpdateRollbackFailed": {"Updating", "Deleting", "InService", "Failed", "OutOfService"},
    "OutOfService": {"Updating", "Deleting", "reservation expired"},
    "Failed": {"Deleting", "reservation expired"},
    "Deleting": {"deleted"},
    "deleted": {"Creating"},
}

_names = st.sampled_from(["a", "b"])
_configs = st.sampled_from(sorted(CONFIGS))
steps = st.one_of(
    st.tuples(st.just("go"), st.sampled_from([1, 2, 5, 6, 9, 40])),
    st.tuples(st.just("create"), _names, _configs),
    st.tuples(st.just("update"), _names, _configs, st.booleans()),
    st.tuples(st.just("scale"), _names, st.integers(1, 4)),
    st.tuples(st.just("delete"), _names),
)
histories = st.builds(
    lambda first, later: [("create", "a", first), ("go", 5), *later], _configs, st.lists(steps, max_size=14)
)


class Watch:
    """Plays a history minute by minute and looks at everything after each."""

    def __init__(self, hosting, **readings):
        plan = {"name": "plan", "instance_type": P5, "count": COUNT, "target": "endpoint"}
        plan["segments"] = [{"start": f"{start}m", "end": f"{end}m"} for start, end in SEGMENTS]
        quotas = {f"{kind} for endpoint usage": 99 for kind in (P5, *FREE)}
        self.one = hosting(plans=[plan], types=FREE, quotas=quotas, switches=readings, endpoint={"capacity_wait": "4m"})
        for kind in quotas:
            self.one.config(f"probe-{kind[3:5]}", type_=kind[: kind.index(" ")], count=100)
        for name, variant in CONFIGS.items():
            with contextlib.suppress(ServiceError):
                self.one.config(name, **variant)
        self.minute = 0
        self.before, self.asked = {}, {}  # the configurations in service and asked for, as calls were accepted

    def play(self, history):
        for step, *rest in history:
            if step == "go":
                self.go(rest[0])
            else:
                with contextlib.suppress(ServiceError):  # a call in the wrong state is refused
                    getattr(self, step)(*rest)
                self.look()
        self.end()

    def go(self, minutes):
        """Let time pass, in steps short enough to see each transition unless it is much."""
        pace = 1 if minutes < 10 else 10
        for _ in range(0, minutes, pace):
            self.one.go(minutes=pace)
            self.minute += pace
            self.look()

    def create(self, name, config):
        self.one.create(config, name)
        self.before[name] = self.asked[name] = config

    def update(self, name, config, rolls):
        before = self.one.state(name)[1]
        self.one.update(config, name, **({"DeploymentConfig": ONE_BY_ONE} if rolls else {}))
        self.before[name], self.asked[name] = before, config

    def scale(self, name, count):
        self.one.scale(count, name)
        self.before[name] = self.asked[name] = self.one.state(name)[1]

    def delete(self, name):
        self.one.delete(name)

    def look(self):
        total, available, used = self.one.plan()
        assert available + used == total == COUNT, "the plan's numbers do not add up"
        assert 0 <= used <= total, "more is held than the plan has"
        assert self.reserved() or not used, "instances outlive their segment"
        current, rows = Counter(), self.one.call("ListEndpoints")["Endpoints"]
        for row in rows:
            current += self.look_at(self.one.describe(row["EndpointName"]), used)
        held = {kind: self.held(kind) for kind in (P5, *FREE)}
        assert held[P5] == used, "the plan and the quota disagree"
        assert all(held[kind] <= free for kind, free in FREE.items()), "more is held than there is"
        assert all(current[kind] <= count for kind, count in held.items()), "more is shown than is held"
        if not any(row["EndpointStatus"] in IN_PROGRESS for row in rows):
            assert all(current[kind] == count for kind, count in held.items()), "what is held is not shown"

    def held(self, kind):
        """Return how many instances of a type endpoints hold, as the refusal of a hundred more tells."""
        with pytest.raises(ServiceError) as refused:
            self.one.create(f"probe-{kind[3:5]}", "probe")
        return int(re.search(r"current utilization of (\d+)", refused.value.message).group(1))

    def look_at(self, about, used):
        name, status, config = (about[f"Endpoint{word}"] for word in ("Name", "Status", "ConfigName"))
        (row,) = about["ProductionVariants"]
        current = self.current(row, config)
        reserved = row.get("CapacityReservationConfig")
        if reserved:
            assert used == COUNT - reserved["AvailableInstanceCount"], "plan and endpoint disagree"
            assert sum(current.values()) <= reserved["UsedByCurrentEndpoint"] <= used, "the endpoint's own do not fit"
        lost = "reservation expired" in self.since_in_service(name) or (
            config.startswith("plan") and not self.reserved()
        )
        answer = self.one.invoke(name)
        answers = answer == "all"
        if status == "InService" and lost and not answers:
            assert answer == "ModelError", "who asks is not told that the reservation has ended"
        if status in ("InService", "Updating", "RollingBack", "UpdateRollbackFailed"):
            assert answers or lost, "nothing answers though nothing was lost"
            if status == "InService" and answers:
                assert row["CurrentInstanceCount"] == row["DesiredInstanceCount"], "in service without its instances"
            if status in ("InService", "UpdateRollbackFailed"):
                assert not answers or current, "something answers without instances"
        else:
            assert not answers, "an endpoint answers that is not in service"
        words = self.words(name)
        last = max((i for i, what in enumerate(words) if what in ("Creating", "Updating")), default=0)
        went_back = status == "Updating" or "RollingBack" in words[last:]
        assert config == (self.before if went_back else self.asked)[name], "the configuration is not the one in service"
        return current

    def current(self, row, config):
        if "InstancePools" in row:
            return Counter({pool["InstanceType"]: pool["CurrentInstanceCount"] for pool in row["InstancePools"]})
        return +Counter({P5 if config.startswith("plan") else G5: row["CurrentInstanceCount"]})

    def reserved(self):
        return any(start <= self.minute < end - CUT for start, end in SEGMENTS)

    def since_in_service(self, name):
        words = self.words(name)
        last = max((i for i, what in enumerate(words) if what == "InService"), default=0)
        before = [i for i, what in enumerate(words[:last]) if what == "InService"]
        return words[before[-1] if before and words[last - 1] == "RollingBack" else last :]

    def words(self, name):
        return [what for what, _ in self.one.history(name)]

    def end(self):
        """Take everything down: all that there was is free again, and every life went as lives go."""
        for _ in range(12):
            for row in self.one.call("ListEndpoints")["Endpoints"]:
                with contextlib.suppress(ServiceError):
                    self.one.delete(row["EndpointName"])
            self.one.go(minutes=5)
        assert self.one.plan()[2] == 0, "the plan's instances were not given back"
        for kind, free in FREE.items():
            self.one.config(f"all-{kind[3:5]}", type_=kind, count=free)
            self.one.create(f"all-{kind[3:5]}", kind[3:5])
            self.one.config(f"more-{kind[3:5]}", type_=kind, count=1)
            self.one.create(f"more-{kind[3:5]}", f"more-{kind[3:5]}")
        self.one.go(minutes=5)
        for kind in FREE:
            assert self.one.state(kind[3:5])[0] == "InService", "instances were not given back"
            assert self.one.state(f"more-{kind[3:5]}")[0] == "Failed", "instances were made out of nothing"
        for name in ("a", "b"):
            words = self.words(name)
            status = words[0] if words else None
            for what in words[1:]:
                assert what in NEXT[status], f"{status} was followed by {what}"
                status = status if what == "reservation expired" else what


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories, st.sampled_from(["InService", "Failed", "OutOfService"]), st.sampled_from(["rolls back", "waits"]))
def test_every_life_of_endpoints_holds_what_it_shows_and_no_more(hosting, history, expired, full):
    Watch(hosting, **{"expired": expired, "full-plan": full}).play(history)


def forget(placement, endpoint, units, now):
    for unit in list(units):
        if unit in endpoint.units:
            endpoint.units.remove(unit)


def drop_first(self, step, now, do=Rollout._hired):
    endpoint_rollout.release(self.placement, self.endpoint, self.endpoint.of(self.old), now)
    do(self, step, now)


def keep_the_new(self, endpoint, reason, now, do=EndpointLife._roll_back):
    endpoint.live, endpoint.coming = endpoint.coming or endpoint.live, None
    do(self, endpoint, reason, now)


def give_twice(self, taken, do=Supply.give_back):
    do(self, taken)
    do(self, taken)


def free_though_in_use(self, arn, now, zones=None):
    return COUNT if self._plans[arn].usable(now) else 0


def always_serving(self):
    return list(self.live.config.variants)


def silent_failure(self, reason, now):
    if not self._over:
        self._over = True
        self.failed(reason, now)


DEFECTS = {
    "instances are not given back": [(endpoint_rollout, "release", forget), (endpoint_life, "release", forget)],
    "the old fleet goes before the new one serves": [(Rollout, "_hired", drop_first)],
    "a rollback keeps the new configuration": [(EndpointLife, "_roll_back", keep_the_new)],
    "instances come back twice": [(Supply, "give_back", give_twice)],
    "what is in use is given again": [(Plans, "free", free_though_in_use)],
    "an endpoint answers without instances": [(Endpoint, "serving", always_serving)],
    "instances outlive their segment": [(Placement, "_cut", lambda *_: None)],
    "a batch that failed is kept": [(Rollout, "fail", silent_failure)],
    "an expired endpoint is not told of": [(EndpointLife, "_lose", lambda *_: None)],
}


@pytest.mark.slow
@pytest.mark.parametrize("defect", sorted(DEFECTS))
def test_a_planted_defect_is_found(hosting, defect):
    def goes_wrong(history):
        with pytest.MonkeyPatch.context() as patch:
            for owner, name, value in DEFECTS[defect]:
                patch.setattr(owner, name, value)
            try:
                Watch(hosting).play(history)
            except (AssertionError, ServiceError):  # time itself can not be refused
                return True
        return False

    only_find = settings(max_examples=1500, deadline=None, database=None, phases=[Phase.generate])
    find(histories, goes_wrong, settings=only_find)
