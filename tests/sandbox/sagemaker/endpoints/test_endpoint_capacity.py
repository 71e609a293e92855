"""Endpoints take instances from plans and On-Demand, in one type or several."""

import pytest

P5, G5, G6 = "ml.p5.48xlarge", "ml.g5.48xlarge", "ml.g6.48xlarge"


def pools(one, name="chat"):
    (row,) = one.describe(name)["ProductionVariants"]
    return {pool["InstanceType"]: pool["CurrentInstanceCount"] for pool in row["InstancePools"]}


@pytest.mark.parametrize(
    ("wait", "members", "minute"), [("20m", {}, 20), ("20m", {"VariantInstanceProvisionTimeoutInSeconds": 600}, 10)]
)
def test_on_demand_instances_are_waited_for_as_long_as_the_variant_says(hosting, wait, members, minute):
    one = hosting(types={P5: [{"at": "9m", "free": 1}, {"at": "30m", "free": 2}]}, endpoint={"capacity_wait": wait})
    one.config("blue", type_=P5, **members)
    one.create("blue")
    one.go(hours=1)
    assert one.history() == [("Creating", 0), ("Failed", minute)]
    one.delete()
    one.go(minutes=1)
    one.create("blue")
    one.go(minutes=5)
    assert one.state() == ("InService", "blue")


def test_instances_that_come_in_time_are_taken(hosting):
    one = hosting(types={P5: [{"at": "9m", "free": 2}]})
    one.config("blue", type_=P5)
    one.create("blue")
    one.go(minutes=14)
    assert one.history()[-1] == ("InService", 14)


def test_pools_are_filled_in_the_order_of_their_priority_and_may_mix(hosting):
    one = hosting(types={P5: 2, G5: 1, G6: 4})
    one.running("blue", pools=[P5, G5, G6], count=4)
    assert pools(one) == {P5: 2, G5: 1, G6: 1}
    one.scale(6)
    one.go(minutes=2)
    assert pools(one) == {P5: 2, G5: 1, G6: 3}
    one.scale(2)
    one.go(minutes=2)
    assert pools(one) == {P5: 2, G5: 0, G6: 0}
    one.config("other", type_=G6, count=4)
    one.create("other", "second")
    one.go(minutes=5)
    assert one.state("second") == ("InService", "other")  # what was scaled in came back


def test_the_provision_timeout_counts_over_all_pools_and_nothing_is_kept_after_it(hosting):
    one = hosting(types={P5: [{"at": "-1h", "free": 1}, {"at": "6m", "free": 1}], G5: 1})
    one.config("blue", pools=[P5, G5], count=4, VariantInstanceProvisionTimeoutInSeconds=600)
    one.create("blue")
    one.go(minutes=30)
    assert one.history() == [("Creating", 0), ("Failed", 10)]
    one.running("green", "second", pools=[P5, G5], count=2)  # one of the old P5 level, one G5
    assert sum(pools(one, "second").values()) == 2


def test_a_pool_runs_the_model_it_names(hosting):
    one = hosting(types={P5: 0})
    ways = [{"InstanceType": P5, "Priority": 1}, {"InstanceType": G5, "Priority": 2, "ModelNameOverride": "small"}]
    row = {name: value for name, value in one.variant(count=1).items() if name != "InstanceType"}
    one.config("blue", row | {"InstancePools": ways})
    one.create("blue")
    one.go(minutes=5)
    assert pools(one) == {P5: 0, G5: 1}
    assert (
        one.call("DescribeEndpointConfig", EndpointConfigName="blue")["ProductionVariants"][0]["InstancePools"] == ways
    )


def test_quotas_count_every_fleet(hosting):
    one = hosting(quotas={f"{G5} for endpoint usage": 3, f"{G6} for endpoint usage": 1})
    words = f"'{G5} for endpoint usage' is 3 .* utilization of {{}} Instances and a request delta of {{}}"
    one.config("four", count=4)
    assert one.refused(words.format(0, 4), one.create, "four") == "ResourceLimitExceeded"
    one.running("blue", count=2)
    one.config("green", count=2)
    one.refused(words.format(2, 2), one.update, "green")
    batches = {
        "RollingUpdatePolicy": {"MaximumBatchSize": {"Type": "INSTANCE_COUNT", "Value": 1}, "WaitIntervalInSeconds": 0}
    }
    one.update("green", DeploymentConfig=batches)
    one.go(minutes=12)
    assert one.state() == ("InService", "green")
    one.refused(words.format(2, 2), one.scale, 4)
    one.config("list", pools=[G5, G6], count=1)
    one.create("list", "second")
    one.config("longer", pools=[G6, G5], count=2)
    one.refused(f"{G5} for endpoint usage|{G6} for endpoint usage", one.create, "longer", "third")


def test_a_number_above_the_plan_is_refused_and_one_that_fits_is_taken(hosting):
    one = hosting(plan={"count": 4})
    one.running("blue", plan="plan", count=2)
    one.refused(r"Requested instance count \(5\) exceeds reserved capacity \(4\)", one.scale, 5)
    one.scale(4)
    assert (one.state(), one.plan()) == (("Updating", "blue"), (4, 0, 4))
    one.go(minutes=2)
    assert one.counts() == {"all": (4, 4)}
    one.scale(1)
    assert one.invoke() == "all"
    one.go(minutes=2)
    assert (one.counts(), one.plan(), one.reserved()) == ({"all": (1, 1)}, (4, 3, 1), (4, 3, 1))
    one.refused("must be 1 or more", one.scale, 0)
    one.refused("has no variant nobody", one.scale, 1, variant="nobody")


def test_more_instances_than_are_free_roll_back_to_what_was(hosting):
    one = hosting(plan={"count": 4})
    one.running("blue", plan="plan", count=2)
    one.running("other", "second", plan="plan", count=1)
    one.scale(4)
    one.go(minutes=3)
    assert (one.state(), one.counts(), one.plan()) == (("InService", "blue"), {"all": (2, 2)}, (4, 1, 3))
    assert "InsufficientInstanceCapacity" in one.describe()["FailureReason"]


def test_endpoints_and_plan_tell_the_same_numbers(hosting):
    one = hosting(plan={"count": 8})
    one.running("blue", plan="plan", count=2)
    one.running("red", "second", plan="plan", count=3)
    assert (one.reserved(), one.reserved("second"), one.plan()) == ((8, 3, 2), (8, 3, 3), (8, 3, 5))


def test_weights_share_the_traffic(hosting):
    one = hosting()
    one.config("blue", one.variant("a", 1, InitialVariantWeight=1.0), one.variant("b", 1, InitialVariantWeight=3.0))
    one.create("blue")
    one.go(minutes=5)
    answers = [one.invoke() for _ in range(8)]
    assert (answers.count("a"), answers.count("b")) == (2, 6)
    rows = [{"VariantName": "a", "DesiredWeight": 0.0}]
    one.call("UpdateEndpointWeightsAndCapacities", EndpointName="chat", DesiredWeightsAndCapacities=rows)
    one.go(minutes=2)
    assert {one.invoke() for _ in range(8)} == {"b"}
    assert one.invoke(target_variant="a") == "a"
    assert one.invoke(target_variant="c") == "ValidationError"
