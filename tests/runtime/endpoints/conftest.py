"""A small SageMaker for endpoints: plans, fleets, transitions and expiry on a clock that the test moves.

It shares no code with what it judges. It notes what must never happen in `broken`.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from datetime import UTC, datetime

import pytest
from botocore.exceptions import ClientError

START = datetime(2026, 12, 1, tzinfo=UTC).timestamp()
HOUR, MINUTE = 3600.0, 60.0
TIMES = {"create": 6 * MINUTE, "update": 8 * MINUTE, "scale": 2 * MINUTE, "rollback": 3 * MINUTE, "delete": MINUTE}
ARN = "arn:aws:sagemaker:us-east-1:123456789012"
TYPE = "ml.p5.48xlarge"
MOVING = ("Creating", "Updating", "RollingBack", "SystemUpdating", "Deleting")


def refusal(code, message="", status=400):
    answer = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "Call")


def when(t):
    return datetime.fromtimestamp(t, UTC)


class Clock:
    def __init__(self):
        self.now = START

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Plan:
    """A training plan for endpoints; `others` are instances that other endpoints use."""

    def __init__(self, name, segments, total=4, others=0, instance_type=TYPE, target="endpoint"):
        self.arn, self.name = f"{ARN}:training-plan/{name}", name
        self.segments, self.total, self.others = [list(segment) for segment in segments], total, others
        self.instance_type, self.target, self.said, self.late, self.payment = instance_type, target, "", 0.0, 0.0

    def status(self, now):
        if self.said:
            return self.said
        if now >= self.segments[-1][1]:
            return "Expired"
        return "Active" if self.running(now, 0) else "Scheduled"

    def running(self, now, lead):
        """The segment whose instances can be used."""
        starts = enumerate(self.segments)
        return next((s for i, s in starts if s[0] + (0 if i else self.late) <= now < s[1] - lead), None)


class Fleet:
    def __init__(self, config, plan, counts):
        self.config, self.plan, self.counts, self.dead = config, plan, dict(counts), False
        self.end = float("inf")  # of its segment, as it was when the fleet was made

    @property
    def size(self):
        return 0 if self.dead else sum(self.counts.values())


class Endpoint:
    def __init__(self, name, fleet, tags):
        self.name, self.arn, self.live, self.tags = name, f"{ARN}:endpoint/{name}", fleet, tags
        self.coming, self.extra, self.status, self.failure = None, 0, "Creating", ""
        self.queue = []  # (time, what happens)


class SageMaker:
    """Endpoints whose luck the test decides."""

    def __init__(self, clock):
        self.clock, self.plans, self.endpoints, self.configs, self.targets = clock, {}, {}, {}, {}
        self.lead, self.expired, self.active_at = 60 * MINUTE, "InService", "CreateEndpointConfig"
        self.full_plan, self.summary, self.extension = "rolls back", True, "keeps"
        self.on_demand, self.bad = True, set()  # whether there is capacity; models that never come into service
        self.broken, self.log, self.calls = [], [], Counter()
        self.updates, self.rollbacks = [], []  # what was asked for, and the numbers of what was rolled back
        self.careful = True  # calls that arrive late are judged by what they break only

    def plan(self, name, *segments, **more):
        plan = Plan(name, segments, **more)
        self.plans[plan.arn] = plan
        return plan

    def note(self, words):
        self.broken.append(words)

    # --- time
    def pass_to(self, target):
        """Let everything happen until a moment."""
        while True:
            due = [(t, e.name) for e in self.endpoints.values() for t, _ in e.queue[:1]]
            ends = {end for plan in self.plans.values() for _, end in plan.segments}
            ends |= {endpoint.live.end for endpoint in self.endpoints.values()}
            cuts = [(end - self.lead, "") for end in ends if self.clock.now < end - self.lead <= target]
            moment, name = min([*due, *cuts], default=(target + 1, ""))
            if moment > target:
                break
            self.clock.now = max(self.clock.now, moment)
            if name:
                _, happens = self.endpoints[name].queue.pop(0)
                happens()
            else:
                self.expire()
        self.clock.now = target

    def expire(self):
        for endpoint in self.endpoints.values():
            for fleet in (endpoint.live, endpoint.coming):
                plan = self.plans.get(fleet.plan) if fleet else None
                if plan is None or fleet.dead:
                    continue
                ended = self.extension == "ends" and self.clock.now >= fleet.end - self.lead
                if ended or not plan.running(self.clock.now, self.lead):
                    fleet.dead = True
                    if fleet is endpoint.live and endpoint.status != "Deleting":
                        self.log.append((self.clock.now, "expired", endpoint.name, fleet.plan))
            self.show_death(endpoint)

    def show_death(self, endpoint):
        if endpoint.live.dead and endpoint.status == "InService":
            endpoint.status = self.expired

    def fleet(self, name, config):
        counts = {variant["VariantName"]: variant["InitialInstanceCount"] for variant in _variants(config)}
        fleet = Fleet(name, next(map(_plan_of, _variants(config))), counts)
        segment = self.plans[fleet.plan].running(self.clock.now, self.lead) if fleet.plan in self.plans else None
        fleet.end = segment[1] if segment else fleet.end
        return fleet

    def later(self, endpoint, kind, happens):
        endpoint.queue.append((self.clock.now + TIMES[kind], happens))

    # --- capacity
    def used(self, arn):
        """How many instances of a plan its endpoints have."""
        total = 0
        for endpoint in self.endpoints.values():
            total += endpoint.live.size if endpoint.live.plan == arn else 0
            total += endpoint.extra if endpoint.coming and endpoint.coming.plan == arn else 0
        return total

    def free(self, arn):
        plan = self.plans[arn]
        return max(0, plan.total - plan.others - self.used(arn))

    def fits(self, arn, more):
        if not arn:
            return self.on_demand
        plan = self.plans.get(arn)
        return plan is not None and bool(plan.running(self.clock.now, self.lead)) and more <= self.free(arn)

    def judge(self, arn, more):
        """Whoever asks for more than the plan has and others leave breaks a rule."""
        if arn and self.careful and more > 0 and more > self.free(arn):
            self.note(f"C1 asks for {more} more instances, {self.free(arn)} are free on {arn}")

    # --- the API
    def handle(self, operation, request):
        self.calls[operation] += 1
        return getattr(self, f"_{operation}")(copy.deepcopy(request)) or {}

    def _DescribeTrainingPlan(self, request):  # noqa: N802  AWS's names
        plan = next((p for p in self.plans.values() if p.name == request["TrainingPlanName"]), None)
        if plan is None:
            raise refusal("ResourceNotFound", "no such plan")
        now = self.clock.now
        parts = [
            {"StartTime": when(s), "EndTime": when(e), "InstanceType": plan.instance_type,
             "TotalInstanceCount": plan.total, "Status": "Active", "ReservedCapacityArn": "x"}
            for s, e in plan.segments
        ]  # fmt: skip
        return {
            "TrainingPlanArn": plan.arn, "TrainingPlanName": plan.name, "Status": plan.status(now),
            "TotalInstanceCount": plan.total, "AvailableInstanceCount": self.free(plan.arn),
            "TargetResources": [plan.target], "ReservedCapacitySummaries": parts,
        }  # fmt: skip

    def _CreateEndpointConfig(self, request):  # noqa: N802
        name = request["EndpointConfigName"]
        if name in self.configs:
            raise refusal("ValidationException", "Cannot create already existing endpoint configuration")
        for arn in {_plan_of(v) for v in _variants(request)} - {""}:
            plan = self.plans.get(arn)
            if plan is None or (self.active_at == "CreateEndpointConfig" and plan.status(self.clock.now) != "Active"):
                raise refusal("ValidationException", "the training plan is not Active")
            if any(v["InstanceType"] != plan.instance_type for v in _variants(request)):
                raise refusal("ValidationException", "the instance type is not the plan's")
            if sum(v["InitialInstanceCount"] for v in _variants(request)) > plan.total:
                raise refusal("ValidationException", "Requested instance count exceeds reserved capacity")
        self.configs[name] = request

    def _DescribeEndpointConfig(self, request):  # noqa: N802
        return self.config(request["EndpointConfigName"]) | {"EndpointConfigArn": f"{ARN}:endpoint-config/"
                                                             + request["EndpointConfigName"]}  # fmt: skip

    def config(self, name):
        if name not in self.configs:
            raise refusal("ValidationException", f'Could not find endpoint configuration "{name}".')
        return self.configs[name]

    def _DeleteEndpointConfig(self, request):  # noqa: N802
        name = request["EndpointConfigName"]
        self.config(name)
        for endpoint in self.endpoints.values():
            if name in {f.config for f in (endpoint.live, endpoint.coming) if f} and endpoint.status != "Deleting":
                self.note(f"D3 the configuration {name} is deleted while it is used")
        if self.tags(self.configs[name]).get("gpucap:owner") != "lab/Chat":
            self.note("D8 a foreign configuration is deleted")
        del self.configs[name]

    def find(self, name):
        if name not in self.endpoints:
            raise refusal("ValidationException", f'Could not find endpoint "{name}".')
        return self.endpoints[name]

    def tags(self, request):
        return {tag["Key"]: tag["Value"] for tag in request.get("Tags", ())}

    def _ListTags(self, request):  # noqa: N802
        kind, _, name = request["ResourceArn"].rpartition(":")[2].partition("/")
        tags = self.find(name).tags if kind == "endpoint" else self.tags(self.config(name))
        return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}

    def _AddTags(self, request):  # noqa: N802
        self.find(request["ResourceArn"].rpartition("/")[2]).tags |= self.tags(request)

    def _DescribeEndpoint(self, request):  # noqa: N802
        endpoint = self.find(request["EndpointName"])
        rows = []
        for name, count in endpoint.live.counts.items():
            row = {"VariantName": name, "DesiredInstanceCount": count, "CurrentInstanceCount": count}
            if endpoint.live.plan and self.summary:
                used = 0 if endpoint.live.dead else count
                row["CapacityReservationConfig"] = {
                    "MlReservationArn": endpoint.live.plan,
                    "UsedByCurrentEndpoint": used,
                }
            rows.append(row)
        answer = {"EndpointName": endpoint.name, "EndpointArn": endpoint.arn, "EndpointStatus": endpoint.status,
                  "EndpointConfigName": endpoint.live.config, "ProductionVariants": rows}  # fmt: skip
        return answer | ({"FailureReason": endpoint.failure} if endpoint.failure else {})

    def _CreateEndpoint(self, request):  # noqa: N802
        name, config = request["EndpointName"], self.config(request["EndpointConfigName"])
        if name in self.endpoints:
            raise refusal("ValidationException", "Cannot create already existing endpoint")
        fleet = self.fleet(request["EndpointConfigName"], config)
        self.judge(fleet.plan, fleet.size)
        self.log.append((self.clock.now, "create", name, fleet.plan))
        ok = self.fits(fleet.plan, fleet.size) and not self.bad & _models(config)
        self.endpoints[name] = endpoint = Endpoint(name, fleet, self.tags(request))
        if not ok:
            fleet.counts = dict.fromkeys(fleet.counts, 0)

        def done():
            endpoint.status, endpoint.failure = ("InService", "") if ok else ("Failed", "no capacity")
            self.show_death(endpoint)

        self.later(endpoint, "create", done)
        return {"EndpointArn": endpoint.arn}

    def idle(self, name):
        endpoint = self.find(name)
        if endpoint.status in MOVING:
            if self.careful:
                self.note(f"D6 a call for an endpoint that is {endpoint.status}")
            raise refusal("ValidationException", f'Cannot update in-progress endpoint "{endpoint.arn}".')
        if self.careful and endpoint.tags.get("gpucap:owner") not in ("lab/Chat", "lab/Old"):
            self.note("D8 a foreign endpoint is touched")
        return endpoint

    def _UpdateEndpoint(self, request):  # noqa: N802
        endpoint, config = self.idle(request["EndpointName"]), self.config(request["EndpointConfigName"])
        if endpoint.status != "InService":
            raise refusal("ValidationException", "only an endpoint in service can be updated")
        fleet, old = self.fleet(request["EndpointConfigName"], config), endpoint.live
        excluded = request.get("ExcludeRetainedVariantProperties", ())
        if request.get("RetainAllVariantProperties") and not excluded:
            fleet.counts |= {name: count for name, count in old.counts.items() if name in fleet.counts}
        policy = request["DeploymentConfig"].get("RollingUpdatePolicy")
        extra = policy["MaximumBatchSize"]["Value"] if policy else fleet.size
        if policy and not 1 <= extra <= max(1, old.size // 2):
            raise refusal("ValidationException", "a batch has 5 to 50 % of the instances")
        self.judge(fleet.plan, extra)
        if fleet.plan and fleet.plan == old.plan and self.careful and fleet.size > old.size + self.free(fleet.plan):
            self.note("C1 the new fleet is larger than the plan")
        number = len(self.updates)
        self.log.append((self.clock.now, "update", endpoint.name, fleet.plan))
        ok = self.fits(fleet.plan, extra) and not self.bad & _models(config)
        endpoint.status, endpoint.coming, endpoint.failure = "Updating", fleet, ""
        endpoint.extra = extra if self.fits(fleet.plan, extra) else 0
        self.updates.append(fleet.config)

        def done():
            endpoint.extra = 0
            if ok and not fleet.dead:
                endpoint.live, endpoint.coming, endpoint.status = fleet, None, "InService"
                self.show_death(endpoint)
                return
            endpoint.status, endpoint.coming = "RollingBack", None
            self.rollbacks.append(number)
            self.later(endpoint, "rollback", back)

        def back():
            endpoint.status, endpoint.failure = "InService", "no capacity"
            self.show_death(endpoint)

        waits = not ok and self.full_plan == "waits"
        self.later(endpoint, "update" if ok or waits else "scale", done)

    def _UpdateEndpointWeightsAndCapacities(self, request):  # noqa: N802
        endpoint = self.idle(request["EndpointName"])
        counts = {row["VariantName"]: row["DesiredInstanceCount"] for row in request["DesiredWeightsAndCapacities"]}
        if min(counts.values()) < 1:
            raise refusal("ValidationException", "DesiredInstanceCount must be 1 or more")
        more = sum(counts.values()) - sum(endpoint.live.counts[name] for name in counts)
        self.judge(endpoint.live.plan, more)
        self.log.append((self.clock.now, "scale", endpoint.name, sum(counts.values())))
        endpoint.status = "Updating"
        if more > 0 and not self.fits(endpoint.live.plan, more):
            counts = {}
        new = endpoint.live.counts | counts
        endpoint.live.counts |= {n: c for n, c in new.items() if c > endpoint.live.counts[n]}

        def done():
            endpoint.live.counts, endpoint.status = new, "InService"
            self.show_death(endpoint)

        self.later(endpoint, "scale", done)

    def _DeleteEndpoint(self, request):  # noqa: N802
        endpoint = self.idle(request["EndpointName"])
        serving = endpoint.status == "InService" and not endpoint.live.dead
        self.log.append((self.clock.now, "delete serving" if serving else "delete", endpoint.name, endpoint.live.plan))
        endpoint.status = "Deleting"
        self.later(endpoint, "delete", lambda: self.endpoints.pop(endpoint.name))

    # --- Application Auto Scaling
    def _DescribeScalableTargets(self, request):  # noqa: N802
        found = self.targets.get(request["ResourceIds"][0])
        return {"ScalableTargets": [found] if found else []}

    def _RegisterScalableTarget(self, request):  # noqa: N802
        self.targets[request["ResourceId"]] = request

    def _PutScalingPolicy(self, request):  # noqa: N802
        if request["ResourceId"] not in self.targets:
            raise refusal("ObjectNotFoundException", "no scalable target")

    def _DeregisterScalableTarget(self, request):  # noqa: N802
        if self.targets.pop(request["ResourceId"], None) is None:
            raise refusal("ObjectNotFoundException", "no scalable target")


def _variants(request):
    return itertools.chain(request["ProductionVariants"], request.get("ShadowProductionVariants", ()))


def _plan_of(variant):
    return variant.get("CapacityReservationConfig", {}).get("MlReservationArn", "")


def _models(request):
    return {variant["ModelName"] for variant in _variants(request)}


@pytest.fixture(scope="session")
def small_sagemaker():
    """Make a small SageMaker with a clock of its own."""
    return lambda: SageMaker(Clock())


@pytest.fixture(scope="session")
def refused():
    """Make the error of an AWS call: code, message, status."""
    return refusal
