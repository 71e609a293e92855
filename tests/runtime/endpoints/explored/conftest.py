"""The life of one endpoint as a model of states: the real decision, a small SageMaker, and faults at every call.

A plan with two segments; time moves on only when a run found nothing to do: a phase is longer than a transition and one
undisturbed run, which is what the margin has to cover.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from constructs_lib.model.endpoints import Rules, decide
from constructs_lib.model.endpoints_declaration import EndpointDeclaration
from constructs_lib.model.endpoints_item import Calling, EndpointItem
from constructs_lib.model.endpoints_rules import Action
from constructs_lib.model.endpoints_settling import settled
from constructs_lib.model.endpoints_view import EndpointSight, VariantSight, View
from constructs_lib.model.endpoints_window import PlanSegment, PlanSight

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/main"
T0, HOUR = datetime(2026, 12, 1, tzinfo=UTC), timedelta(hours=1)
SEGMENTS = (PlanSegment(T0, T0 + 24 * HOUR), PlanSegment(T0 + 30 * HOUR, T0 + 54 * HOUR))
# before, in segment 1, in its margin, between, in segment 2, in its margin, after
TIMES = tuple(T0 + h * HOUR for h in (-1, 2, 22.3, 25, 32, 52.3, 55))
ACTIVE, OPEN, ENDS = (1, 2, 4, 5), (1, 4), (3, 6)
WAIT = timedelta(minutes=10)  # longer than a call may be under way
MOVING = ("Creating", "Updating", "RollingBack", "Deleting")
KEPT = ("asked", "rolled_back", "calling", "made", "served", "desired")


@dataclass(frozen=True)
class Scene:
    """What can happen."""

    on_expiry: str = "to_on_demand"
    faults: int = 2
    changes: int = 1
    teardown: bool = True
    count: int = 1
    total: int = 2
    others: int = 0
    last: int = 6
    foreign: bool = False
    late: bool = False
    downtime: int = 0
    overlapping: bool = False  # a second run acts on what it read before the first one's call


class S(NamedTuple):
    time: int = 0
    tick: int = 0
    model: int = 1
    status: str = "-"
    cfg: str = ""
    target: str = ""
    count: int = 0
    dead: bool = False
    configs: frozenset = frozenset()
    item: str = "{}"
    runs: tuple = ()  # (action, call, version)
    net: tuple = ()  # actions that nobody waits for
    rolled: tuple = ()  # what SageMaker rolled back, and whether anybody could know
    settled: bool = False
    gone: int = 0
    faults: int = 0
    changes: int = 0
    flag: str = ""


class Model:
    def __init__(self, rules, scene):
        self.rules, self.scene = rules, scene
        self.requests, self.start, self.decided = {}, S(), {}
        self.declared = {m: self.declaration(m) for m in (1, 2)}
        if scene.foreign:
            self.requests["mine"] = {}
            self.start = S(status="InService", cfg="mine", count=1, configs=frozenset({"mine"}), time=1)

    # --- the declaration and the item
    def declaration(self, model):
        def request(plan, count):
            on = {"CapacityReservationConfig": {"MlReservationArn": plan}} if plan else {}
            row = {"VariantName": "a", "ModelName": f"m{model}", "InitialInstanceCount": count} | on
            return {"ProductionVariants": [row]}

        choice = {"Action": self.scene.on_expiry, "EndpointConfig": request("", 1), "Acknowledge": "it may stop"}
        given = {
            "EndpointName": "chat",
            "Owner": "lab/Chat",
            "TrainingPlanArn": ARN,
            "EndpointConfig": request(ARN, self.scene.count),
            "OnExpiry": choice,
            "MarginSeconds": 2700,
            "PeriodSeconds": 300,
            "AcceptDowntimeSeconds": self.scene.downtime,
        }
        return given, EndpointDeclaration.of(given).digest

    def item(self, s):
        given, digest = self.declared[s.model]
        base = {"name": "chat", "owner": "lab/Chat", "declaration": given, "digest": digest}
        return EndpointItem.from_dict(base | json.loads(s.item))

    def kept(self, item):
        row = item.to_dict()
        known = {name: row[name] for name in KEPT if row[name]}
        if item.desired == "absent":
            known["state"] = item.state
        return json.dumps(known, sort_keys=True)

    # --- what a run sees
    def on_plan(self, name):
        rows = self.requests.get(name, {}).get("ProductionVariants", [{}])
        return "CapacityReservationConfig" in rows[0]

    def now(self, s):
        return TIMES[s.time] + s.tick * WAIT + timedelta(seconds=s.faults)  # no call is made when an older one died

    def used(self, s):
        return s.count if s.status != "-" and self.on_plan(s.cfg) and not s.dead else 0

    def view(self, s):
        status = {0: "Scheduled", 3: "Scheduled", 6: "Expired"}.get(s.time, "Active")
        free = max(0, self.scene.total - self.scene.others - self.used(s))
        plan = PlanSight(ARN, status, SEGMENTS, "", "endpoint", self.scene.total, free)
        item = self.item(s)
        sight = EndpointSight()
        if s.status != "-":
            plan_arn = ARN if self.on_plan(s.cfg) else ""
            variants = {"a": VariantSight(s.count, s.count, (0 if s.dead else s.count) if plan_arn else None)}
            owner = "other" if s.cfg == "mine" else "lab/Chat"
            sight = EndpointSight(s.status, s.cfg, plan_arn, variants, owner, "", "arn")
        ours = frozenset(name for name in s.configs if name in item.made)
        return View(self.now(s), item, sight, {ARN: plan}, ours)

    # --- what SageMaker does
    def act(self, s, action):
        """Return the state and the outcome: done, refused or throttled."""
        match action.call:
            case "create config":
                return self.create_config(s, action.name, action.request)
            case "delete config":
                return self.delete_config(s, action.name)
            case "create endpoint":
                return self.create(s, action.request["EndpointConfigName"])
        return self.act_on_endpoint(s, action)

    def create_config(self, s, name, request):
        self.requests[name] = request
        if self.on_plan(name) and s.time not in ACTIVE:
            return s, "refused"
        return s._replace(configs=s.configs | {name}), "done"

    def delete_config(self, s, name):
        used = name in (s.cfg, s.target) and s.status not in ("-", "Deleting", "Failed")
        s = s._replace(flag="D3 a configuration is deleted while it is used") if used else s
        return s._replace(configs=s.configs - {name}), "done"

    def act_on_endpoint(self, s, action):
        if s.status == "-":
            return s, "refused"
        if s.cfg == "mine":
            return s._replace(flag="D8 a foreign endpoint is touched"), "done"
        if s.status in MOVING:
            # A call that nobody waited for may have come in between: then no reading could have known better.
            return (s if self.scene.late else s._replace(flag="D6 a call before a legal state")), "throttled"
        if action.call == "delete endpoint":
            return s._replace(status="Deleting", target=""), "done"
        if s.status != "InService":
            return s, "refused"
        if action.call == "scale endpoint":
            return self.scale(s, action.request["DesiredWeightsAndCapacities"][0]["DesiredInstanceCount"])
        return self.update(s, action.request)

    def create(self, s, config):
        if s.status != "-":
            return s, "done"
        if config not in s.configs:
            return s, "refused"
        count = self.count_of(config)
        t = self.asks(s, config, count)
        t = t._replace(status="Creating", target=config, cfg=config, count=count, dead=False)
        return (t._replace(flag="D4 an endpoint is made after the tear-down") if s.gone == 2 else t), "done"

    def update(self, s, request):
        config = request["EndpointConfigName"]
        if config not in s.configs:
            return s, "refused"
        count = self.count_of(config) if "ExcludeRetainedVariantProperties" in request else s.count
        rolling = request["DeploymentConfig"].get("RollingUpdatePolicy")
        t = self.asks(s, config, rolling["MaximumBatchSize"]["Value"] if rolling else count)
        if s.rolled == (config, s.time, s.model, True):
            t = t._replace(flag="D5 a rolled-back update is tried again")
        return t._replace(status="Updating", target=config), "done"

    def scale(self, s, count):
        t = self.asks(s, s.cfg, count - s.count) if count > s.count else s
        return t._replace(status="Updating", target=s.cfg, count=count), "done"

    def asks(self, s, config, more):
        over = self.on_plan(config) and more > self.scene.total - self.scene.others - self.used(s)
        return s._replace(flag="C1 more is asked for than the plan has") if over else s

    def count_of(self, config):
        return self.requests[config]["ProductionVariants"][0]["InitialInstanceCount"]

    # --- everything that can happen
    def steps(self, s):
        more, f = s.faults < self.scene.faults, s._replace(faults=s.faults + 1, settled=False)
        if len(s.runs) < (2 if self.scene.overlapping else 1) and s.gone < 2:
            yield from self.run(s)
        yield from self.calls(s, f, more)
        yield from self.sagemaker(s, f, more)
        yield from self.time_passes(s)
        stay = s._replace(settled=False)
        if s.changes < self.scene.changes and not s.gone and not s.runs:
            yield "!user changes the model", stay._replace(model=3 - s.model, changes=s.changes + 1, rolled=())
        if self.scene.teardown and not s.gone and more:
            item = replace(self.item(s), desired="absent", state="Deleting")
            yield "!stack is deleted: desired state 'absent'", f._replace(gone=1, item=self.kept(item))
        if s.gone == 1 and json.loads(s.item).get("state") == "Deleted" and not s.runs:
            yield "tear-down finished", s._replace(gone=2)

    def decide(self, s):
        """Decide once for what looks the same."""
        key = (s.time, s.tick, s.model, s.status, s.cfg, s.count, s.dead, s.configs, s.item)
        if key not in self.decided:
            decision = decide(self.view(s), self.rules)
            self.decided[key] = decision.item, decision.action
        return self.decided[key]

    def run(self, s):
        item, action = self.decide(s)
        known = item.asked is not None and s.rolled and (item.asked.config, item.asked.source) == (s.rolled[0], s.cfg)
        seen = s._replace(rolled=(*s.rolled[:3], True)) if known and s.status in MOVING else s
        if action is None:
            kept = self.kept(item)
            if kept != s.item or seen != s:
                yield "run notes something", seen._replace(item=kept, settled=False)
            elif not s.settled and not s.runs and s.status not in MOVING and not self.waits(item):
                yield f"run finds nothing to do ({item.state})", self.judged(s, item.state)._replace(settled=True)
            return
        call = Calling(action.call, action.name, self.now(s).timestamp())
        made = {*item.made, action.name} if action.call == "create config" else set(item.made)
        item = replace(item, calling=(*item.calling, call), made=tuple(sorted(made)))
        frozen = (action.call, action.name, json.dumps(action.request, sort_keys=True), call.at)
        label = f"run reads [{s.status} {s.cfg[-4:]}], decides: {action.call} {action.name[-4:]}"
        yield label, seen._replace(item=self.kept(item), runs=(*s.runs, frozen), settled=False)

    def waits(self, item):
        """Whether the run only waits until an older call cannot arrive any more."""
        return item.calling and item.state in ("Creating", "Updating", "Moving", "Deleting")

    def judged(self, s, state):
        """What must hold whenever nothing is left to do."""
        if s.time in OPEN and not s.gone and not self.scene.foreign and s.status == "InService":
            model = self.requests[s.cfg]["ProductionVariants"][0]["ModelName"]
            if model != f"m{s.model}" and not s.rolled and state != "NoHeadRoom":
                return s._replace(flag="D7 gives up what never failed")
            if s.dead:
                return s._replace(flag="D10 nothing is under the endpoint, and nobody notices")
        return s

    def calls(self, s, f, more):
        for k, (what, name, request, at) in enumerate(s.runs):
            action, call = Action(what, name, json.loads(request)), Calling(what, name, at)
            rest = s._replace(runs=s.runs[:k] + s.runs[k + 1 :], settled=False)
            done, outcome = self.act(rest, action)
            yield f"{what}: {outcome}", self.answered(done, action, call, outcome)
            if not more:
                continue
            spent = rest._replace(faults=s.faults + 1)
            yield f"!{what}: throttled", self.answered(spent, action, call, "throttled")
            yield f"!{what}: the run dies before it", spent
            yield f"!{what}: the run dies after it", done._replace(faults=s.faults + 1)
            if self.scene.late:
                yield (
                    f"!{what}: the run dies, the call is under way",
                    spent._replace(net=(*s.net, (what, name, request))),
                )
        for k, (what, name, request) in enumerate(s.net):
            rest = s._replace(net=s.net[:k] + s.net[k + 1 :], settled=False)
            flag = rest.flag
            done, outcome = self.act(rest, Action(what, name, json.loads(request)))
            late = done.flag if done.flag[:2] in ("D3", "D4") else flag
            yield f"a late {what} arrives: {outcome}", done._replace(flag=late)

    def answered(self, s, action, call, outcome):
        item = settled(self.item(s), action, call, outcome, "")
        if outcome == "done" and action.call == "update endpoint" and s.rolled:
            s = s._replace(rolled=())
        return s._replace(item=self.kept(item))

    def sagemaker(self, s, f, more):
        stay = s._replace(settled=False)
        over = stay._replace(net=())  # coming into service takes longer than a call can be under way
        match s.status:
            case "Creating":
                yield "endpoint is InService", over._replace(status="InService", target="")
                if more:
                    yield "!endpoint creation fails", f._replace(status="Failed", target="")
            case "Updating" if s.target != s.cfg:
                yield "update is done", self.updated(over)
                if more:
                    asked = self.item(s).asked
                    told = asked is not None and asked.seen and asked.source == s.cfg
                    key = (s.target, s.time, s.model, told)
                    yield "!no capacity: rolling back", f._replace(status="RollingBack", rolled=key)
            case "Updating":
                yield "scaled", stay._replace(status="InService", target="")
            case "RollingBack":
                yield "InService again, on the old configuration", stay._replace(status="InService", target="")
            case "Deleting":
                yield "endpoint is gone", stay._replace(status="-", cfg="", count=0, dead=False)

    def updated(self, s):
        moved = self.on_plan(s.target) != self.on_plan(s.cfg)
        count = self.count_of(s.target) if moved else s.count
        return s._replace(status="InService", cfg=s.target, target="", rolled=(), count=count, dead=False)

    def time_passes(self, s):
        if s.settled and s.time < self.scene.last and not s.gone:
            t = s._replace(time=s.time + 1, tick=0, settled=False, net=())
            stays = s.status != "-" and self.on_plan(s.cfg) and t.time in ENDS
            if stays and self.scene.on_expiry != "keep":
                t = t._replace(flag="D2 the endpoint is still on the plan at the cut")
            yield f"time: {t.time}", t._replace(dead=s.dead or stays)
        calls, fresh = json.loads(s.item).get("calling", ()), (self.now(s) - WAIT).timestamp()
        if (s.net or any(call["at"] > fresh for call in calls)) and not s.runs:
            yield "ten minutes pass", s._replace(tick=s.tick + 1, net=(), settled=False)

    # --- what must hold
    def broken(self, s):
        return s.flag

    def goal(self, s):
        if s.gone:
            left = s.configs - {"mine"}
            return s.gone == 2 and not s.runs and (s.status == "-" or self.scene.foreign) and not left and not s.net
        return s.settled and s.time == self.scene.last


@pytest.fixture(scope="session")
def explored(explore):
    """Explore a scene without some rules: (states, trace to what is broken, or None)."""

    def run(scene, without=""):
        rules = replace(Rules(), **dict.fromkeys(without.split(), False))
        return explore(Model(rules, Scene(**scene)))

    return run


@pytest.fixture
def rule_names():
    """The names of the decision's rules."""
    return {field.name for field in fields(Rules)}
