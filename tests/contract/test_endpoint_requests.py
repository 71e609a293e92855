"""Every configuration of an endpoint holds all that was asked for, and AWS's own models accept it."""

import inspect
import json
import os
from datetime import timedelta
from importlib import import_module
from inspect import signature

os.environ.setdefault("CDK_VALIDATION", "false")

import aws_cdk as cdk
import botocore.session
import pytest
from aws_cdk.aws_sagemaker import CfnEndpointConfig
from cfnlint.api import lint
from cfnlint.config import ManualArgs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constructs_lib import (
    EndpointKeeper,
    EndpointScaling,
    OnExpiry,
    PooledEndpointConfig,
    ReservedEndpoint,
    ReservedEndpointConfig,
)
from constructs_lib.model.endpoint_names import ENDPOINT_NOTICES_VARIABLE, ENDPOINT_TABLE_VARIABLE, KEEPER_VARIABLE
from constructs_lib.model.endpoints_declaration import EndpointDeclaration
from constructs_lib.runtime import endpoint_keeper
from constructs_lib.runtime.handlers.endpoint_keeper import route
from constructs_lib.sandbox.modelcheck import violations
from constructs_lib.workloads import endpoint_configs, endpoint_settings

PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/serving"
POOLS = ["ml.g6e.48xlarge", "ml.g5.48xlarge"]
KEY = "arn:aws:kms:us-east-1:111122223333:key/0011aabb"
MODEL = botocore.session.get_session().get_service_model("sagemaker")

words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
prefixes = words.map(lambda word: f"s3://bucket/{word}")
times = st.integers(60, 3600).flatmap(lambda n: st.sampled_from([n, timedelta(seconds=n)]))
# Each setting with its values, and with the place of what it becomes.
ANY = {
    "variant_name": words,
    "initial_weight": st.integers(0, 10),
    "volume_size_gb": st.integers(1, 512),
    "model_download_timeout": times,
    "startup_timeout": times,
    "ssm_access": st.booleans(),
    "inference_ami_version": st.sampled_from(MODEL.shape_for("ProductionVariantInferenceAmiVersion").enum),
    "routing": st.sampled_from(["LEAST_OUTSTANDING_REQUESTS", "RANDOM"]),
    "core_dump": prefixes,
    "managed_instance_scaling": st.fixed_dictionaries({"Status": st.just("ENABLED"), "MaxInstanceCount": st.just(2)}),
    "kms_key": st.just(KEY),
    "data_capture": prefixes,
    "async_inference": prefixes,
    "shadow": st.fixed_dictionaries({"ModelName": words, "InitialInstanceCount": st.integers(1, 2)}),
}
VARIANT = "ProductionVariants.0."
PLACES = {
    "variant_name": f"{VARIANT}VariantName",
    "initial_weight": f"{VARIANT}InitialVariantWeight",
    "volume_size_gb": f"{VARIANT}VolumeSizeInGB",
    "model_download_timeout": f"{VARIANT}ModelDataDownloadTimeoutInSeconds",
    "startup_timeout": f"{VARIANT}ContainerStartupHealthCheckTimeoutInSeconds",
    "ssm_access": f"{VARIANT}EnableSSMAccess",
    "inference_ami_version": f"{VARIANT}InferenceAmiVersion",
    "routing": f"{VARIANT}RoutingConfig.RoutingStrategy",
    "core_dump": f"{VARIANT}CoreDumpConfig.DestinationS3Uri",
    "managed_instance_scaling": f"{VARIANT}ManagedInstanceScaling",
    "kms_key": "KmsKeyId",
    "data_capture": "DataCaptureConfig.DestinationS3Uri",
    "async_inference": "AsyncInferenceConfig.OutputConfig.S3OutputPath",
    "shadow": "ShadowProductionVariants.0",
}


def at(request, place):
    value = request
    for key in place.split("."):
        value = value[int(key)] if isinstance(value, list) else value.get(key)
        if value is None:
            return None
    return value


def stands(name, value, request):
    sent = at(request, PLACES[name])
    if isinstance(value, timedelta):
        return sent == value.total_seconds()
    return value.items() <= (sent or {}).items() if isinstance(value, dict) else sent == value


def lost(props, request):
    return [name for name, value in props.items() if not stands(name, value, request)]


def template_of(stack):
    return cdk.assertions.Template.from_stack(stack).to_json()["Resources"]


def reserved_config(props):
    stack = cdk.Stack(cdk.App(), "Serving")
    kind = {"plan": PLAN, "instance_type": "ml.p5.48xlarge", "model_name": "chat", "instance_count": 2}
    ReservedEndpointConfig(stack, "Config", **kind, **props)
    return [next(r["Properties"] for r in template_of(stack).values())]


def pooled_config(props):
    stack = cdk.Stack(cdk.App(), "Serving")
    PooledEndpointConfig(
        stack, "Pools", types=POOLS, model_name="chat", instance_count=2, provision_timeout=900, **props
    )
    return [next(r["Properties"] for r in template_of(stack).values())]


def reserved_endpoint(props, way=None):
    stack = cdk.Stack(cdk.App(), "Serving")
    ReservedEndpoint(
        stack,
        "Chat",
        plan=PLAN,
        instance_type="ml.p5.48xlarge",
        model_name="chat",
        instance_count=2,
        on_expiry=way or OnExpiry.to_on_demand(*POOLS, last_resort=OnExpiry.delete()),
        **props,
    )
    resources = template_of(stack).values()
    return next(r["Properties"] for r in resources if r["Type"] == "Custom::SageMakerReservedEndpoint")


def both_of_an_endpoint(props):
    declared = reserved_endpoint(props)
    return [declared["EndpointConfig"], declared["OnExpiry"]["EndpointConfig"]]


def test_every_setting_has_its_place_in_the_request():
    assert set(endpoint_settings.EndpointSettings.__annotations__) == set(ANY) == set(PLACES)
    own = {"self", "scope", "construct_id", "plan", "model_name", "instance_count", "instance_type", "tags"}
    keywords = set(signature(ReservedEndpointConfig.__init__).parameters)
    assert keywords == own | {"request_overrides", "settings"}


@pytest.mark.slow
@pytest.mark.parametrize("render", [reserved_config, pooled_config, both_of_an_endpoint])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(props=st.fixed_dictionaries({}, optional=ANY))
def test_every_setting_is_in_the_request_and_the_model_accepts_it(render, props):
    for request in render(props):
        assert not lost(props, request)
        assert violations("sagemaker", "CreateEndpointConfig", request | {"EndpointConfigName": "c"}) == []


@pytest.mark.parametrize("name", sorted(ANY.keys() - {"shadow"}))
def test_a_setting_that_is_forgotten_is_noticed(name, monkeypatch):
    for table in ("_OF_VARIANT", "_OF_CONFIG"):
        rest = {prop: member for prop, member in getattr(endpoint_settings, table).items() if prop != name}
        monkeypatch.setattr(endpoint_settings, table, rest)
    value = {"shadow": None, "variant_name": "Main"}.get(name, {"Status": "ENABLED"} if "scaling" in name else 60)
    assert lost({name: value}, reserved_config({name: value})[0]) == [name]


def test_a_value_that_the_model_refuses_is_noticed():
    (request,) = reserved_config({"routing": "FASTEST"})
    assert violations("sagemaker", "CreateEndpointConfig", request | {"EndpointConfigName": "c"})


def members_below(shape, seen):
    if shape.type_name == "structure" and shape.name not in seen:
        seen.add(shape.name)
        for name, member in shape.members.items():
            yield name
            yield from members_below(member, seen)
    elif shape.type_name == "list":
        yield from members_below(shape.member, seen)


def test_cdk_spells_each_member_as_we_expect():
    api = set(members_below(MODEL.operation_model("CreateEndpointConfig").input_shape, set()))
    ours = {endpoint_configs._word_by_word(name, "") for name in api}
    kinds = [kind for name, kind in vars(CfnEndpointConfig).items() if name.endswith("Property")]
    cdk_names = {name for kind in kinds for name in kind.__jsii_name_mapping__.values()}
    assert len(cdk_names) > 40
    assert cdk_names <= ours


def test_what_is_declared_is_what_the_keeper_reads():
    scaling = EndpointScaling(min_capacity=1, max_capacity=2, invocations_per_instance=60)
    declared = reserved_endpoint({"scaling": scaling, "margin": 1200, "accept_downtime": 60, "tags": {"team": "chat"}})
    as_sent = json.loads(json.dumps(declared), parse_int=str)
    as_sent["EndpointConfig"] = declared["EndpointConfig"]
    found = EndpointDeclaration.of(as_sent)
    assert (found.name, found.owner, found.plan_arn) == ("serving-chat-02783e37", "Serving/Chat", PLAN)
    assert (found.margin, found.period, found.accept_downtime) == tuple(timedelta(minutes=m) for m in (20, 5, 1))
    assert (found.scaling.variant, found.scaling.least, found.scaling.most) == ("AllTraffic", 1, 2)
    assert (found.on_expiry.action, found.on_expiry.last_resort) == ("to_on_demand", "delete")
    assert found.tags == {"team": "chat"}


@pytest.mark.parametrize(
    "way",
    [OnExpiry.delete(), OnExpiry.keep(acknowledge="known"), OnExpiry.to_plan(f"{PLAN}-2")],
    ids=lambda way: way.action,
)
def test_the_keeper_reads_every_way_out(way):
    found = EndpointDeclaration.of(reserved_endpoint({}, way)).on_expiry
    said = way.properties()
    assert (found.action, found.acknowledge, found.plan_arn) == (
        way.action,
        said.get("Acknowledge", ""),
        said.get("TrainingPlanArn", ""),
    )


class Asked:
    """The services of the keeper, of which only what it was asked is looked at."""

    def __init__(self):
        self.names = []
        self.reconciling = self

    def run(self, names=()):
        self.names.append(names)


def test_what_wakes_the_keeper_is_what_its_handler_takes(everything):
    (schedule,) = [r["Properties"] for r in everything.values() if r["Type"] == "AWS::Scheduler::Schedule"]
    (rule,) = [r["Properties"] for r in everything.values() if r["Type"] == "AWS::Events::Rule"]
    pattern, (target,) = rule["EventPattern"], rule["Targets"]
    assert set(target) == {"Arn", "Id"}
    services = Asked()
    route(json.loads(schedule["Target"]["Input"]), services)
    route({"source": pattern["source"][0], "detail": {"EndpointName": "serving-chat-1"}}, services)
    assert services.names == [(), ("serving-chat-1",)]


def test_the_functions_are_told_what_their_code_reads(everything):
    functions = [r["Properties"] for r in everything.values() if r["Type"] == "AWS::Lambda::Function"]
    for function in functions:
        module, _, name = function["Handler"].rpartition(".")
        assert callable(getattr(import_module(module), name))
    told = [set(function["Environment"]["Variables"]) - {"AWS_DATA_PATH"} for function in functions]
    keeper = {ENDPOINT_TABLE_VARIABLE, ENDPOINT_NOTICES_VARIABLE}
    assert told == [keeper, {ENDPOINT_TABLE_VARIABLE, KEEPER_VARIABLE}]
    code = inspect.getsource(endpoint_keeper)
    assert all(name in code for name in ("ENDPOINT_TABLE_VARIABLE", "ENDPOINT_NOTICES_VARIABLE", "KEEPER_VARIABLE"))


def lint_errors(resources):
    found = lint(json.dumps({"Resources": resources}), config=ManualArgs(regions=["us-east-1"]))
    # W3005 calls a dependency redundant that CDK's own constructs write.
    return [f"{match.rule.id} {match.message}" for match in found if match.rule.id != "W3005"]


@pytest.fixture(scope="module")
def everything():
    stack = cdk.Stack(cdk.App(), "Serving", env=cdk.Environment(account="111122223333", region="us-east-1"))
    EndpointKeeper(stack, notices="arn:aws:sns:us-east-1:111122223333:people")
    common = {"plan": PLAN, "instance_type": "ml.p5.48xlarge", "model_name": "chat", "instance_count": 2}
    scaling = EndpointScaling(min_capacity=1, max_capacity=2, invocations_per_instance=60)
    ReservedEndpoint(stack, "Chat", on_expiry=OnExpiry.delete(), scaling=scaling, kms_key=KEY, **common)
    ReservedEndpointConfig(stack, "Config", data_capture="s3://bucket/seen", startup_timeout=600, **common)
    pools = {"types": POOLS, "provision_timeout": 900, "model_name": "chat", "instance_count": 1}
    PooledEndpointConfig(stack, "Pools", async_inference="s3://bucket/answers", **pools)
    return template_of(stack)


@pytest.mark.slow
def test_the_template_is_valid_for_cfn_lint(everything):
    assert lint_errors(everything) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "member"),
    [
        ("AWS::SageMaker::EndpointConfig", "Config"),
        ("AWS::Scheduler::Schedule", "Rate"),
        ("AWS::Lambda::Function", "Size"),
    ],
)
def test_cfn_lint_is_really_asked(everything, kind, member):
    broken = json.loads(json.dumps(everything))
    next(r for r in broken.values() if r["Type"] == kind)["Properties"][member] = 1
    assert lint_errors(broken)
