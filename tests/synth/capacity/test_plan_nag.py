"""cdk-nag's AWS solutions pack finds nothing in a plan, and what is acknowledged for it is pinned here."""

from aws_cdk import aws_iam as iam

from constructs_lib import Approval, CapacityBuyer, PriceCeiling

TOPIC = "arn:aws:sns:us-east-1:111122223333:purchases"
SAGEMAKER = "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:sagemaker:<AWS::Region>:<AWS::AccountId>:{}]"
ANY = "AwsSolutions-IAM5[Resource::*]"


def everything(make_plan, stack):
    CapacityBuyer(stack, notices=TOPIC)
    return make_plan(
        approval=Approval.required(topic=TOPIC),
        extend_until="2027-02-12T11:30Z",
        max_extension_fee=PriceCeiling("20000", "USD"),
    )


def test_cdk_nag_finds_nothing_in_a_plan(app, stack, make_plan, nag):
    everything(make_plan, stack)
    assert nag(app) == set()


def test_the_pack_is_really_asked(app, stack, make_plan, nag):
    buyer = everything(make_plan, stack).buyer
    managed = "arn:aws:iam::aws:policy/AdministratorAccess"
    iam.CfnRole(buyer, "Admin", assume_role_policy_document={}, managed_policy_arns=[managed])
    assert (f"AwsSolutions-IAM4[Policy::{managed}]", "Research/GpuCapacityBuyer/Admin") in nag(app)


def test_every_acknowledged_id_is_known_and_has_a_reason(app, stack, make_plan, acknowledged):
    buyer = everything(make_plan, stack).buyer
    app.synth()
    expected = {
        buyer: {"AwsSolutions-L1"},
        buyer.buyer_role: {ANY, SAGEMAKER.format("training-plan/nightly-*"), SAGEMAKER.format("reserved-capacity/*")},
        buyer.watcher_role: {SAGEMAKER.format("training-plan/nightly-*")},
        buyer.schedule_role: set(),
    }
    found = {construct: acknowledged(construct) for construct in expected}
    assert {construct: set(ids) for construct, ids in found.items()} == expected
    assert all(len(reason) > 20 for ids in found.values() for reason in ids.values())
