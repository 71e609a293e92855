"""A new configuration: all of a new fleet, or batch by batch, or back to the old one."""

import itertools

import pytest

P5 = "ml.p5.48xlarge"


def rolling(value, type_="INSTANCE_COUNT", wait=60, **members):
    size = {"Type": type_, "Value": value}
    return {"RollingUpdatePolicy": {"MaximumBatchSize": size, "WaitIntervalInSeconds": wait} | members}


def test_blue_green_holds_both_fleets_and_serves_all_the_while(hosting):
    one = hosting(plan={"count": 4})
    one.running("blue", plan="plan")
    one.config("green", plan="plan")
    one.update("green")
    about = one.describe()
    assert (about["EndpointStatus"], about["EndpointConfigName"]) == ("Updating", "blue")
    assert about["PendingDeploymentSummary"]["EndpointConfigName"] == "green"
    assert (one.plan(), one.reserved()) == ((4, 0, 4), (4, 0, 4))
    answers = []
    for _ in range(6):
        one.go(minutes=1)
        answers.append(one.invoke())
    assert answers == ["all"] * 6
    assert (one.state(), one.counts(), one.plan()) == (("InService", "green"), {"all": (2, 2)}, (4, 2, 2))
    assert "PendingDeploymentSummary" not in one.describe()


@pytest.mark.parametrize("count", [3, 4])
def test_blue_green_on_a_plan_without_room_for_a_second_fleet_rolls_back_silently(hosting, count):
    one = hosting(plan={"count": 4})
    one.running("blue", plan="plan", count=count)
    one.config("green", plan="plan", count=count)
    one.update("green")
    assert one.state() == ("RollingBack", "blue")
    assert one.invoke() == "all"
    one.go(minutes=2)
    assert one.state() == ("InService", "blue")
    assert "InsufficientInstanceCapacity" in one.describe()["FailureReason"]
    assert one.plan() == (4, 4 - count, count)
    one.call("DeleteEndpointConfig", EndpointConfigName="green")
    assert [what for what, _ in one.history()][-3:] == ["Updating", "RollingBack", "InService"]


def test_on_a_full_plan_an_update_may_also_wait_for_room(hosting):
    one = hosting(plan={"count": 4}, switches={"full-plan": "waits"}, endpoint={"capacity_wait": "20m"})
    one.running("blue", plan="plan", count=2)
    one.running("other", "other", plan="plan", count=2)
    one.config("green", plan="plan", count=2)
    one.update("green")
    one.go(minutes=10)
    assert one.state()[0] == "Updating"
    one.delete("other")
    one.go(minutes=7)
    assert (one.state(), one.plan()) == (("InService", "green"), (4, 2, 2))
    one.config("red", plan="plan", count=3)
    one.update("red")
    one.go(minutes=20)
    assert one.state() == ("RollingBack", "green")


def test_rolling_needs_room_for_one_batch_and_never_stops_serving(hosting):
    one = hosting(plan={"count": 5})
    one.running("blue", plan="plan", count=4)
    one.config("green", plan="plan", count=4)
    one.update("green", DeploymentConfig=rolling(1))
    used, answers = [], []
    for _ in range(28):
        used.append(one.plan()[2])
        answers.append(one.invoke())
        assert one.state()[0] == "Updating"
        one.go(minutes=1)
    assert (set(used), set(answers)) == ({5}, {"all"})
    assert (one.state(), one.counts(), one.plan()) == (("InService", "green"), {"all": (4, 4)}, (5, 1, 4))
    assert one.history()[-2:] == [("Updating", 5), ("InService", 5 + 4 * 7)]
    first, *_, last = configs = [row["config"] for row in one.endpoints.invocations()]
    assert (first, last, set(configs[7:21])) == ("blue", "green", {"blue", "green"})


@pytest.mark.parametrize(("before", "after", "batches"), [(4, 2, 2), (2, 6, 2), (4, 5, 3)])
def test_rolling_may_change_the_number(hosting, before, after, batches):
    one = hosting(plan={"count": 16})
    one.running("blue", plan="plan", count=before)
    one.config("green", plan="plan", count=after)
    one.update(
        "green",
        DeploymentConfig=rolling(50 if after != 2 else 1, "CAPACITY_PERCENT" if after != 2 else "INSTANCE_COUNT", 0),
    )
    one.go(minutes=6 * batches)
    assert (one.state(), one.counts(), one.plan()[2]) == (("InService", "green"), {"all": (after, after)}, after)


def test_rolling_that_finds_no_room_goes_back(hosting):
    one = hosting(plan={"count": 4})
    one.running("blue", plan="plan", count=4)
    one.config("green", plan="plan", count=4)
    one.update("green", DeploymentConfig=rolling(2))
    one.go(minutes=2)
    assert (one.state(), one.counts(), one.plan()) == (("InService", "blue"), {"all": (4, 4)}, (4, 0, 4))


def test_rolling_that_fails_midway_brings_the_old_instances_back(hosting):
    one = hosting(types={P5: 5})
    one.running("blue", type_=P5, count=4)
    one.config("green", type_=P5, count=4)
    one.update("green", DeploymentConfig=rolling(1, MaximumExecutionTimeoutInSeconds=900))
    one.go(minutes=15)  # two of four are replaced
    assert one.state() == ("RollingBack", "blue")
    assert one.invoke() == "all"
    one.go(minutes=2)
    assert (one.state(), one.counts()) == (("InService", "blue"), {"all": (4, 4)})
    assert one.describe()["FailureReason"] == "The deployment exceeded MaximumExecutionTimeoutInSeconds (900)."


def test_a_rollback_that_finds_no_capacity_fails(hosting):
    one = hosting(types={P5: 5}, endpoint={"capacity_wait": "10m"})
    one.running("blue", type_=P5, count=4)
    one.config("green", type_=P5, count=4)
    one.update("green", DeploymentConfig=rolling(1, MaximumExecutionTimeoutInSeconds=900))
    one.go(minutes=14)
    one.world.sagemaker.set_free(P5, 0)  # what the endpoint gives back does not come to this level
    one.go(minutes=12)
    assert one.state() == ("UpdateRollbackFailed", "blue")
    assert (one.counts(), one.invoke()) == ({"all": (2, 4)}, "all")


@pytest.mark.parametrize(
    ("deployment", "words"),
    [
        (rolling(3), r"between 5% and 50% of the variant's total instance count \(4\); it is 3\."),
        (rolling(60, "CAPACITY_PERCENT"), "it is 60%"),
        (rolling(4, "CAPACITY_PERCENT"), "it is 4%"),
        (
            rolling(1)
            | {
                "BlueGreenUpdatePolicy": {
                    "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0}
                }
            },
            "not both",
        ),
    ],
)
def test_a_deployment_that_does_not_fit_is_refused(hosting, deployment, words):
    one = hosting()
    one.running("blue", count=4)
    one.config("green", count=4)
    one.refused(words, one.update, "green", DeploymentConfig=deployment)
    assert one.state() == ("InService", "blue")


def test_rolling_is_not_for_several_variants_or_serverless_ones(hosting):
    one = hosting()
    one.running("blue")
    one.config("green", one.variant("a"), one.variant("b"))
    words = "not supported for an endpoint with several variants"
    one.refused(words, one.update, "green", DeploymentConfig=rolling(1))
    sizes = {"MemorySizeInMB": 2048, "MaxConcurrency": 5}
    one.config("small", {"VariantName": "all", "ModelName": "model", "ServerlessConfig": sizes})
    one.refused("not supported for a serverless variant", one.update, "small", DeploymentConfig=rolling(1))
    one.update("green")
    one.go(minutes=6)
    one.refused(words, one.update, "blue", DeploymentConfig=rolling(1))


@pytest.mark.parametrize(
    ("routing", "minutes"),
    [
        ({"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 120}, 6 + 2 + 5),
        (
            {"Type": "CANARY", "WaitIntervalInSeconds": 120, "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 10}},
            6 + 4 + 5,
        ),
        (
            {
                "Type": "LINEAR",
                "WaitIntervalInSeconds": 120,
                "LinearStepSize": {"Type": "CAPACITY_PERCENT", "Value": 25},
            },
            6 + 8 + 5,
        ),
    ],
)
def test_traffic_shifts_in_steps_and_the_old_fleet_stays_as_long_as_told(hosting, routing, minutes):
    one = hosting()
    one.running("blue")
    one.config("green")
    policy = {"TrafficRoutingConfiguration": routing, "TerminationWaitInSeconds": 300}
    one.update("green", DeploymentConfig={"BlueGreenUpdatePolicy": policy})
    one.go(hours=1)
    assert one.history()[-1] == ("InService", 5 + minutes)


def test_a_deployment_is_used_again_only_when_told(hosting):
    one = hosting(plan={"count": 5})
    one.running("blue", plan="plan", count=4)
    for name in ("green", "red", "white"):
        one.config(name, plan="plan", count=4)
    one.update("green", DeploymentConfig=rolling(1, wait=0))
    one.go(minutes=24)
    assert one.describe()["LastDeploymentConfig"] == rolling(1, wait=0)
    one.update("red", RetainDeploymentConfig=True)
    one.go(minutes=24)
    assert one.state() == ("InService", "red")
    one.update("white")
    one.go(minutes=24)
    assert one.state() == ("InService", "red")  # blue/green had no room


def test_retained_properties_are_those_the_endpoint_has(hosting):
    one = hosting()
    rows = [one.variant("a", 1, InitialVariantWeight=1.0), one.variant("b", 1, InitialVariantWeight=1.0)]
    for name in ("blue", "green", "red", "white"):
        one.config(name, *rows)
    one.create("blue")
    one.go(minutes=5)
    one.scale(3, variant="a", DesiredWeight=7.0)
    one.go(minutes=2)
    shown = []
    excluded = {"ExcludeRetainedVariantProperties": [{"VariantPropertyType": "DesiredInstanceCount"}]}
    for name, members in (
        ("green", {"RetainAllVariantProperties": True}),
        ("red", {"RetainAllVariantProperties": True} | excluded),
        ("white", {}),
    ):
        one.update(name, **members)
        one.go(minutes=6)
        row = one.describe()["ProductionVariants"][0]
        shown.append((row["DesiredInstanceCount"], row["CurrentInstanceCount"], row["DesiredWeight"]))
    assert shown == [(3, 3, 7.0), (1, 1, 7.0), (1, 1, 1.0)]


def test_a_retained_count_must_fit_the_new_plan(hosting):
    plan = {"instance_type": P5, "start": "-1h", "end": "23h", "target": "endpoint"}
    one = hosting(plans=[plan | {"name": "big", "count": 4}, plan | {"name": "small", "count": 2}])
    one.running("blue", plan="big", count=4)
    one.config("green", plan="small", count=2)
    words = r"\(4\) exceeds reserved capacity \(2\)"
    one.refused(words, one.update, "green", RetainAllVariantProperties=True)
    one.scale(2)
    one.go(minutes=2)
    one.update("green", RetainAllVariantProperties=True)
    one.go(minutes=6)
    assert (one.state(), one.plan("big"), one.plan("small")) == (("InService", "green"), (4, 4, 0), (2, 0, 2))


@pytest.mark.parametrize(("reading", "status"), [("refused", "UpdateRollbackFailed"), ("accepted", "InService")])
def test_a_configuration_in_use_can_be_deleted_and_that_breaks_what_follows_or_not(hosting, reading, status):
    one = hosting(types={P5: 0}, switches={"config-deleted": reading})
    one.running("blue")
    one.config("green", type_=P5)
    one.update("green")
    one.call("DeleteEndpointConfig", EndpointConfigName="blue")
    assert ("configuration deleted while in use", 5) in one.history()
    assert one.invoke() == "all"
    one.go(hours=1)
    assert one.state() == (status, "blue")
    one.config("red")
    if reading == "refused":
        one.refused('Could not find endpoint configuration ".*/blue"', one.update, "red")
        one.refused('Could not find endpoint configuration ".*/blue"', one.scale, 1)
    else:
        one.update("red")
        one.go(minutes=6)
        assert one.state() == ("InService", "red")


def test_the_configuration_of_an_update_is_not_to_be_deleted_on_the_way(hosting):
    one = hosting()
    one.running("blue")
    one.config("green")
    one.update("green")
    one.call("DeleteEndpointConfig", EndpointConfigName="green")
    one.go(minutes=8)
    assert (one.state(), one.describe()["FailureReason"]) == (
        ("InService", "blue"),
        "Could not find endpoint configuration green.",
    )


def test_an_update_whose_instances_do_not_come_into_service_rolls_back_and_the_reason_stays_until_the_next(hosting):
    one = hosting(endpoint={"overrides": {"broken": {"fail": "The container did not pass the health check."}}})
    one.running("blue")
    one.config("broken")
    one.update("broken")
    one.go(minutes=8)
    assert (one.state(), one.describe()["FailureReason"][:13]) == (("InService", "blue"), "The container")
    one.config("green")
    one.update("green")
    assert "FailureReason" not in one.describe()


def test_the_log_lets_down_time_be_computed(hosting):
    one = hosting()
    one.running("blue")
    for minute in itertools.count():
        if minute == 3:
            one.delete()
        if minute == 5:
            one.create("blue")
        if minute == 15:
            break
        one.invoke()
        one.go(minutes=1)
    down = [row["time"] for row in one.endpoints.invocations("chat") if row["error"]]
    assert (len(down), (max(down) - min(down)) / 60 + 1) == (7, 7)
