"""An account with endpoints, on a clock that moves only when told."""

from __future__ import annotations

import pytest

from constructs_lib.sandbox.errors import ServiceError

P5, G5, G6 = "ml.p5.48xlarge", "ml.g5.48xlarge", "ml.g6.48xlarge"
PLAN = {"name": "plan", "instance_type": P5, "count": 4, "start": "-1h", "end": "23h", "target": "endpoint"}


class Hosting:
    """Endpoints of one world, in few words; plans go by their names."""

    def __init__(self, one):
        self.world, self.call, self.go = one, one.call, one.go
        self.start = one.clock.now()
        self.endpoints = one.sagemaker.endpoints

    def variant(self, name="all", count=2, *, plan=None, type_=None, pools=None, **members):
        row = {"VariantName": name, "ModelName": "model", "InitialInstanceCount": count}
        if pools:
            row["InstancePools"] = [{"InstanceType": kind, "Priority": i} for i, kind in enumerate(pools, 1)]
        else:
            row["InstanceType"] = type_ or (P5 if plan else G5)
        if plan:
            arn = f"arn:aws:sagemaker:us-east-1:123456789012:training-plan/{plan}"
            preference = "capacity-reservations-only"
            row["CapacityReservationConfig"] = {"CapacityReservationPreference": preference, "MlReservationArn": arn}
        return row | members

    def config(self, name, *variants, members=None, **variant):
        rows = list(variants) or [self.variant(**variant)]
        self.call("CreateEndpointConfig", EndpointConfigName=name, ProductionVariants=rows, **(members or {}))

    def create(self, config, name="chat", **members):
        return self.call("CreateEndpoint", EndpointName=name, EndpointConfigName=config, **members)

    def running(self, config, name="chat", **variant):
        """Make an endpoint and wait until it is in service."""
        self.config(config, **variant)
        self.create(config, name)
        self.go(minutes=5)
        assert self.state(name) == ("InService", config)

    def update(self, config, name="chat", **members):
        return self.call("UpdateEndpoint", EndpointName=name, EndpointConfigName=config, **members)

    def scale(self, count, name="chat", variant="all", **members):
        row = {"VariantName": variant, "DesiredInstanceCount": count} | members
        return self.call("UpdateEndpointWeightsAndCapacities", EndpointName=name, DesiredWeightsAndCapacities=[row])

    def delete(self, name="chat"):
        return self.call("DeleteEndpoint", EndpointName=name)

    def describe(self, name="chat"):
        return self.call("DescribeEndpoint", EndpointName=name)

    def state(self, name="chat"):
        about = self.describe(name)
        return about["EndpointStatus"], about["EndpointConfigName"]

    def counts(self, name="chat"):
        """Return how many instances each variant has and is to have."""
        rows = self.describe(name)["ProductionVariants"]
        return {row["VariantName"]: (row["CurrentInstanceCount"], row["DesiredInstanceCount"]) for row in rows}

    def reserved(self, name="chat"):
        """Return total, available and own instances, as the endpoint tells of its plan."""
        row = self.describe(name)["ProductionVariants"][0]["CapacityReservationConfig"]
        return row["TotalInstanceCount"], row["AvailableInstanceCount"], row["UsedByCurrentEndpoint"]

    def plan(self, name="plan"):
        """Return total, available and used instances, as the plan tells."""
        about = self.call("DescribeTrainingPlan", TrainingPlanName=name)
        return tuple(about[f"{word}InstanceCount"] for word in ("Total", "Available", "InUse"))

    def invoke(self, name="chat", **arguments):
        """Return the variant that answers, or the error's code."""
        try:
            return self.endpoints.invoke(name, b"{}", **arguments)[1]
        except ServiceError as error:
            return error.code

    def history(self, name="chat"):
        """Return what happened, with the minute."""
        return [(row["what"], round((row["time"] - self.start) / 60, 2)) for row in self.endpoints.log(name)]

    def refused(self, words, call, *arguments, **members):
        with pytest.raises(ServiceError, match=words) as refused:
            call(*arguments, **members)
        return refused.value.code


@pytest.fixture
def hosting(world):
    """Return a maker of accounts with endpoints; `switches` say how open questions are read."""

    def make(*, plan=None, switches=None, **document):
        plans = [] if plan is None else [PLAN | plan]
        one = world({"plans": plans, **document} if plans else document)
        for name, reading in (switches or {}).items():
            one.faults.switch(f"sagemaker.endpoint-{name}", reading)
        return Hosting(one)

    return make
