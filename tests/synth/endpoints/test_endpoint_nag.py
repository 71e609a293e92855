"""cdk-nag's AWS solutions pack finds nothing in an endpoint, and what is acknowledged for it is pinned here."""

from aws_cdk import aws_iam as iam

from constructs_lib import EndpointScaling

WIDE = "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:{}:<AWS::Region>:<AWS::AccountId>:{}]"
CONFIGS = WIDE.format("sagemaker", "endpoint-config/serving-chat-02783e37-*")
LOOKED_AT = {WIDE.format("sagemaker", f"{kind}/*") for kind in ("endpoint", "endpoint-config", "training-plan")}
TRACKING = {
    WIDE.format("application-autoscaling", "scalable-target/*"),
    WIDE.format("cloudwatch", "alarm:TargetTracking-endpoint/*"),
}
ANY = "AwsSolutions-IAM5[Resource::*]"


def everything(make_endpoint):
    scaling = EndpointScaling(min_capacity=1, max_capacity=4, invocations_per_instance=60)
    return make_endpoint(scaling=scaling, kms_key="0011aabb")


def test_cdk_nag_finds_nothing_in_an_endpoint(app, make_endpoint, nag):
    everything(make_endpoint)
    assert nag(app) == set()


def test_the_pack_is_really_asked(app, make_endpoint, nag):
    keeper = everything(make_endpoint).keeper
    managed = "arn:aws:iam::aws:policy/AdministratorAccess"
    iam.CfnRole(keeper, "Admin", assume_role_policy_document={}, managed_policy_arns=[managed])
    assert (f"AwsSolutions-IAM4[Policy::{managed}]", "Serving/GpuEndpoints/Admin") in nag(app)


def test_every_acknowledged_id_is_known_and_has_a_reason(app, make_endpoint, acknowledged):
    keeper = everything(make_endpoint).keeper
    app.synth()
    expected = {
        keeper: {"AwsSolutions-L1"},
        keeper.keeper_role: {ANY, CONFIGS, *LOOKED_AT, *TRACKING},
        keeper.resource_role: {ANY, *LOOKED_AT},
        keeper.schedule_role: set(),
    }
    found = {construct: acknowledged(construct) for construct in expected}
    assert {construct: set(ids) for construct, ids in found.items()} == expected
    assert all(len(reason) > 20 for ids in found.values() for reason in ids.values())
