"""Configurations that CloudFormation makes: on a plan that is active, or on the first pool that has capacity."""

import json
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms

from constructs_lib import PooledEndpointConfig, ReservedEndpointConfig, synth_checked
from constructs_lib.model import InvalidInputError
from constructs_lib.sandbox.modelcheck import violations

NEXT = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/serving-2"
EXAMPLES = Path(__file__).parents[3] / "examples" / "endpoints"
POOLS = ["ml.g6e.48xlarge", "ml.g5.48xlarge"]


@pytest.fixture
def rendered(synth, app, of_type):
    """Return a function that gives the properties of the stack's one configuration, and its logical id."""

    def properties():
        ((name, found),) = of_type(synth(app, "Serving"), "AWS::SageMaker::EndpointConfig").items()
        return name, found

    return properties


def pooled(stack, **props):
    return PooledEndpointConfig(stack, "Pools", **{"model_name": "chat", "instance_count": 2, "types": POOLS, **props})


def test_a_configuration_names_its_plan_twice_and_itself_never(make_config, rendered):
    config = make_config()
    _, found = rendered()
    (variant,) = found["ProductionVariants"]
    assert variant["CapacityReservationConfig"] == {
        "CapacityReservationPreference": "capacity-reservations-only",
        "MlReservationArn": "arn:aws:sagemaker:us-east-1:111122223333:training-plan/serving",
    }
    assert (variant["InstanceType"], variant["InitialInstanceCount"]) == ("ml.p5.48xlarge", 2)
    assert found == config.request
    assert "EndpointConfigName" not in found


def test_pools_stand_in_order_with_their_own_models(stack, rendered):
    config = pooled(stack, models={"ml.g5.48xlarge": "chat-a10g"}, provision_timeout=cdk.Duration.minutes(20))
    _, found = rendered()
    (variant,) = found["ProductionVariants"]
    assert variant["InstancePools"] == [
        {"InstanceType": "ml.g6e.48xlarge", "Priority": 1},
        {"InstanceType": "ml.g5.48xlarge", "ModelNameOverride": "chat-a10g", "Priority": 2},
    ]
    assert variant["VariantInstanceProvisionTimeoutInSeconds"] == 1200
    assert "InstanceType" not in variant
    assert found == config.request


def test_the_examples_are_what_the_constructs_render(make_config, stack):
    startup = {"startup_timeout": cdk.Duration.minutes(15)}
    config = make_config(**startup)
    pools = pooled(stack, models={"ml.g5.48xlarge": "chat-a10g"}, provision_timeout=1200, **startup)
    for name, made in (("reserved", config), ("pooled", pools)):
        example = json.loads((EXAMPLES / f"{name}.json").read_text())
        assert example.pop("EndpointConfigName")
        assert example == made.request
        assert violations("sagemaker", "CreateEndpointConfig", example | {"EndpointConfigName": "c"}) == []


def test_an_override_reaches_the_template_even_where_the_type_does_not_know_it(make_config, rendered):
    config = make_config(request_overrides={"CrossRegionTrafficConfig": {"Enabled": True}})
    name, found = rendered()
    assert name.startswith("Config")
    assert found["CrossRegionTrafficConfig"] == {"Enabled": True}
    assert found == config.request


def test_an_override_can_take_a_member_away(make_config, rendered):
    make_config(kms_key="key", request_overrides={"KmsKeyId": None})
    assert "KmsKeyId" not in rendered()[1]


def test_a_key_may_be_a_construct(make_config, rendered, stack):
    key = kms.Key(stack, "Key", enable_key_rotation=True)
    make_config(kms_key=key)
    assert rendered()[1]["KmsKeyId"] == stack.resolve(key.key_arn)


@pytest.mark.parametrize(
    ("changed", "same"), [({"tags": {"team": "chat"}}, True), ({"instance_count": 1}, False)], ids=["tags", "count"]
)
def test_only_a_change_of_more_than_tags_makes_a_new_configuration(tmp_path, changed, same, make_plan):
    """CloudFormation replaces a configuration for every property but Tags, under a name of its own making."""
    made = []
    for number, props in enumerate(({}, changed)):
        app = cdk.App(outdir=str(tmp_path / str(number)))
        stack = cdk.Stack(app, "Serving")
        ReservedEndpointConfig(
            stack, "Config", **{"plan": make_plan(scope=stack), "model_name": "m", "instance_count": 2, **props}
        )
        resources = app.synth().get_stack_by_name("Serving").template["Resources"]
        ((name, resource),) = [
            (name, r) for name, r in resources.items() if r["Type"] == "AWS::SageMaker::EndpointConfig"
        ]
        made.append((name, {key: value for key, value in resource["Properties"].items() if key != "Tags"}))
    assert (made[0] == made[1]) is same


def test_a_name_by_the_escape_hatch_is_found_at_synth(make_config, app):
    make_config().add_property_override("EndpointConfigName", "chat")
    with pytest.raises(Exception, match=r"EndpointConfigName is 'chat'") as found:
        synth_checked(app)
    assert "GPU-EP05" in str(found.value)


REFUSED = {
    "a name": ({"request_overrides": {"EndpointConfigName": "chat"}}, "GPU-EP05"),
    "another type": ({"instance_type": "ml.p4d.24xlarge"}, "GPU-EP03"),
    "more than the plan": ({"instance_count": 5}, "GPU-EP04"),
    "production and shadow together": (
        {"instance_count": 4, "shadow": {"ModelName": "m", "InitialInstanceCount": 1}},
        "GPU-EP04.*5 instances are asked for",
    ),
    "a second plan": (
        {
            "shadow": {
                "ModelName": "m",
                "InitialInstanceCount": 1,
                "CapacityReservationConfig": {
                    "CapacityReservationPreference": "capacity-reservations-only",
                    "MlReservationArn": NEXT,
                },
            }
        },
        "GPU-EP03.*more than one plan",
    ),
    "a shadow that is none": ({"shadow": "chat-next"}, "shadow: a mapping"),
    "no time": ({"startup_timeout": "soon"}, "startup_timeout: a Duration"),
    "half a gigabyte": ({"volume_size_gb": cdk.Size.mebibytes(512)}, "volume_size_gb"),
}


@pytest.mark.parametrize(("props", "words"), REFUSED.values(), ids=REFUSED)
def test_a_configuration_that_the_api_would_refuse_is_refused_at_once(make_config, props, words):
    with pytest.raises(InvalidInputError, match=f"(?s){words}"):
        make_config(**props)


BAD_POOLS = {
    "none": ({"types": []}, "types: 1 to 5 instance types"),
    "a text": ({"types": "ml.g5.xlarge"}, "types: 1 to 5 instance types"),
    "twice": ({"types": ["ml.g5.xlarge"] * 2}, "given twice"),
    "too soon": ({"provision_timeout": 299}, "GPU-EP07"),
    "too late": ({"provision_timeout": 3601}, "GPU-EP07"),
    "a type beside them": (
        {
            "request_overrides": {
                "ProductionVariants": [
                    {
                        "VariantName": "a",
                        "InstanceType": "ml.g5.xlarge",
                        "InstancePools": [{"InstanceType": "ml.g5.xlarge", "Priority": 1}],
                    }
                ]
            }
        },
        "GPU-EP02",
    ),
}


@pytest.mark.parametrize(("props", "words"), BAD_POOLS.values(), ids=BAD_POOLS)
def test_pools_that_the_api_would_refuse_are_refused_at_once(stack, props, words):
    with pytest.raises(InvalidInputError, match=words):
        pooled(stack, **props)
