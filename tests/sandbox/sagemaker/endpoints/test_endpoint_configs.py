"""An endpoint configuration is held against its plan and against itself."""

import pytest

P5, G5, G6 = "ml.p5.48xlarge", "ml.g5.48xlarge", "ml.g6.48xlarge"


@pytest.mark.parametrize(
    ("plan", "variant", "words"),
    [
        ({}, {"plan": "other"}, r"training-plan/other does not exist"),
        ({"start": "1h"}, {}, "is not in the Active status; it is Scheduled"),
        ({"start": "-9h", "end": "-1h"}, {}, "is not in the Active status; it is Expired"),
        ({"target": "training-job"}, {}, "has the target resource training-job; endpoint is needed"),
        ({}, {"type_": "ml.p4d.24xlarge"}, r"ml\.p4d\.24xlarge does not match .* which has ml\.p5\.48xlarge"),
        ({"count": 2}, {"count": 3}, r"^Validation.*Requested instance count \(3\) exceeds reserved capacity \(2\)$"),
    ],
)
def test_a_configuration_is_refused_whose_plan_can_not_carry_it(hosting, plan, variant, words):
    one = hosting(plan=plan)
    assert one.refused(words, one.config, "blue", **({"plan": "plan"} | variant)) == "ValidationException"


def test_the_variants_share_the_plans_instances_shadows_included(hosting):
    one = hosting(plan={"count": 4})
    shadow = {"members": {"ShadowProductionVariants": [one.variant("shadow", 2, plan="plan")]}}
    one.refused(r"\(5\) exceeds reserved capacity \(4\)", one.config, "blue", count=3, plan="plan", **shadow)
    one.config("blue", count=2, plan="plan", **shadow)
    one.create("blue")
    one.go(minutes=5)
    assert one.describe()["ShadowProductionVariants"][0]["CurrentInstanceCount"] == 2
    assert one.plan() == (4, 0, 4)
    assert one.invoke() == "all"


def test_one_plan_serves_an_endpoint(world, hosting):
    one = hosting(
        plans=[
            {"name": name, "instance_type": P5, "count": 4, "start": "-1h", "end": "9h", "target": "endpoint"}
            for name in ("one", "two")
        ]
    )
    rows = [one.variant("a", 1, plan="one"), one.variant("b", 1, plan="two")]
    one.refused("can use one training plan; the variants name .*one and .*two", one.config, "blue", *rows)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"InstancePools": [{"InstanceType": G6, "Priority": 1}]},
            "exactly one of .* it has InstanceType and InstancePools",
        ),
        ({"InstanceType": None}, "exactly one of InstanceType, InstancePools, ServerlessConfig; it has none"),
        ({"VariantInstanceProvisionTimeoutInSeconds": 60}, "variantInstanceProvisionTimeoutInSeconds"),
    ],
)
def test_a_variant_says_in_one_way_what_it_runs_on(hosting, change, words):
    one = hosting()
    row = {name: value for name, value in (one.variant() | change).items() if value is not None}
    one.refused(words, one.config, "blue", row)


def test_one_to_five_pools_are_taken(hosting):
    one = hosting()
    kinds = [f"ml.g5.{size}xlarge" for size in (2, 4, 8, 16, 24)]
    one.config("five", pools=kinds)
    one.refused("instancePools", one.config, "six", pools=[*kinds, G6])


def test_pools_take_no_plan(hosting):
    one = hosting(plan={})
    one.refused("CapacityReservationConfig needs InstanceType", one.config, "blue", plan="plan", pools=[P5])


@pytest.mark.parametrize("key", ["InstanceType", "Priority"])
def test_pools_with_the_same_type_or_priority_are_refused_or_taken(hosting, key):
    pools = [{"InstanceType": G5, "Priority": 1}, {"InstanceType": G6, "Priority": 2}]
    pools[1][key] = pools[0][key]
    one = hosting()
    row = {k: v for k, v in one.variant().items() if k != "InstanceType"} | {"InstancePools": pools}
    one.refused(f"{key} of InstancePools must be unique", one.config, "blue", row)
    one.world.faults.switch("sagemaker.endpoint-duplicate-pools", "accepted")
    one.config("blue", row)
    one.create("blue")
    one.go(minutes=5)
    assert one.counts() == {"all": (2, 2)}


def test_variants_have_names_of_their_own_and_a_shadow_has_one_production_variant(hosting):
    one = hosting()
    one.refused("Variant names must be unique: a", one.config, "blue", one.variant("a"), one.variant("a"))
    shadows = {"ShadowProductionVariants": [one.variant("shadow")]}
    words = "exactly one production variant and one shadow variant"
    one.refused(words, one.config, "blue", one.variant("a"), one.variant("b"), members=shadows)


def test_the_plan_must_be_active_for_the_configuration_or_only_for_the_endpoint(hosting):
    words = "is not in the Active status"
    early, late = (
        hosting(plan={"start": "1h"}, switches={"plan-active": r}) for r in ("CreateEndpointConfig", "CreateEndpoint")
    )
    early.refused(words, early.config, "blue", plan="plan")
    late.config("blue", plan="plan")
    late.refused(words, late.create, "blue")
    late.running("other")
    late.refused(words, late.update, "blue")
    late.go(hours=1)
    late.create("blue", "second")
    late.go(minutes=5)
    assert late.state("second") == ("InService", "blue")
