"""What is declared of an endpoint, when its plan has to be left, and how it gets from one configuration to another."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from constructs_lib.model import InvalidInputError
from constructs_lib.model.endpoints_checks import refusal
from constructs_lib.model.endpoints_declaration import EndpointDeclaration
from constructs_lib.model.endpoints_item import Asked, Calling, EndpointItem, RolledBack
from constructs_lib.model.endpoints_strategy import Room, Strategy, config_name, deployment, fit, strategy
from constructs_lib.model.endpoints_view import EndpointSight, VariantSight
from constructs_lib.model.endpoints_window import PlanSegment, PlanSight

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"
START = datetime(2026, 12, 10, 11, 30, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
MARGIN = 15 * MINUTE


def variant(count=2, **more):
    on = {"CapacityReservationConfig": {"MlReservationArn": ARN}}
    return (
        {"VariantName": "a", "ModelName": "m", "InstanceType": "ml.p5.48xlarge", "InitialInstanceCount": count}
        | on
        | more
    )


def properties(**more):
    return {
        "EndpointName": "chat",
        "Owner": "lab/Chat",
        "TrainingPlanArn": ARN,
        "EndpointConfig": {"ProductionVariants": [variant()]},
        "OnExpiry": {"Action": "delete"},
    } | more


def plan(*segments, total=4, available=4, status="Active", **more):
    spans = segments or ((START, START + 48 * HOUR),)
    parts = tuple(PlanSegment(*span) for span in spans)
    return PlanSight(ARN, status, parts, more.get("instance_type", "ml.p5.48xlarge"), "endpoint", total, available)


@pytest.mark.parametrize(
    ("moment", "zone"),
    [
        (START - MINUTE, "before"),
        (START, "open"),
        (START + 48 * HOUR - 91 * MINUTE, "open"),
        (START + 48 * HOUR - 90 * MINUTE, "hold"),
        (START + 48 * HOUR - 75 * MINUTE, "leave"),
        (START + 48 * HOUR - MINUTE, "leave"),
        (START + 48 * HOUR, "gap"),
        (START + 54 * HOUR, "open"),
        (START + 78 * HOUR - 76 * MINUTE, "hold"),
        (START + 78 * HOUR, "after"),
    ],
)
def test_the_edges_come_from_every_segment(moment, zone):
    two = plan((START, START + 48 * HOUR), (START + 54 * HOUR, START + 78 * HOUR))
    assert two.position(moment, MARGIN).zone == zone


def test_instances_of_endpoints_may_go_an_hour_early_so_the_cut_lies_before_that():
    at = plan().position(START + HOUR, MARGIN)
    assert at.usable_end == START + 47 * HOUR
    assert at.cut == START + 47 * HOUR - MARGIN


def test_a_plan_is_remembered_as_it_was_seen():
    assert PlanSight.remembered(ARN, plan().to_dict(MARGIN)) == plan()
    assert plan().to_dict(MARGIN)["segments"][0]["cut"] == "2026-12-12T10:15:00Z"


def test_a_change_of_a_count_is_another_configuration_and_a_change_of_tags_is_none():
    one, two = {"ProductionVariants": [variant(1)]}, {"ProductionVariants": [variant(2)]}
    assert config_name("chat", one) != config_name("chat", two)
    assert config_name("chat", one) == config_name("chat", one | {"Tags": [{"Key": "a", "Value": "b"}]})
    assert len(config_name("c" * 63, one)) == 63


def sight(count, used=None, names=("a",)):
    return EndpointSight(
        "InService", "old", ARN, {name: VariantSight(count, count, used) for name in names}, "lab/Chat"
    )


@pytest.mark.parametrize(
    ("total", "count", "chosen"),
    [
        (8, 4, Strategy("blue/green")),
        (4, 3, Strategy("rolling", batch=1)),
        (4, 2, Strategy("blue/green")),
        (6, 4, Strategy("rolling", batch=2)),
        (4, 4, Strategy("lower", {"a": 3})),
        (2, 2, Strategy("lower", {"a": 1})),
        (1, 1, Strategy("no head-room")),
    ],
)
def test_an_update_takes_a_way_that_fits_what_is_free(total, count, chosen):
    room = Room(total, count, total - count)
    assert strategy(sight(count), {"a": count}, room, same_capacity=True, downtime=False) == chosen


def test_a_batch_is_at_least_five_percent_of_a_large_fleet():
    chosen = strategy(sight(40), {"a": 40}, Room(41, 40, 1), same_capacity=True, downtime=False)
    assert chosen == Strategy("lower", {"a": 38})


def test_stopping_first_is_for_those_who_accepted_it_and_several_variants_never_roll():
    full = Room(4, 4, 0)
    two = sight(2, names=("a", "b"))
    goal = {"a": 2, "b": 2}
    assert strategy(two, goal, full, same_capacity=True, downtime=False).kind == "no head-room"
    assert strategy(two, goal, full, same_capacity=True, downtime=True).kind == "stop and replace"


def test_what_others_use_is_counted_over_every_endpoint_on_the_plan():
    room = Room.of(plan(total=4, available=1), sight(2, used=2))
    assert (room.free, room.others, room.limit) == (1, 1, 3)
    assert fit({"a": 4}, room.limit) == {"a": 3}
    assert Room.of(plan(total=2, available=0), sight(3, used=3)).limit == 2  # the plan shrank


def test_an_update_gives_up_before_its_time_is_over():
    assert deployment(Strategy("blue/green"), 1200)["BlueGreenUpdatePolicy"]["MaximumExecutionTimeoutInSeconds"] == 1200
    rolling = deployment(Strategy("rolling", batch=2), 10)["RollingUpdatePolicy"]
    assert rolling["MaximumExecutionTimeoutInSeconds"] == 600
    assert rolling["RollbackMaximumBatchSize"] == {"Type": "INSTANCE_COUNT", "Value": 2}


def test_equal_declarations_have_equal_digests_whatever_carries_them():
    one = EndpointDeclaration.of(properties(ServiceToken="a", MarginSeconds="900"))
    two = EndpointDeclaration.of(properties(ServiceToken="b", MarginSeconds="900", Tags=[{"Key": "a", "Value": "b"}]))
    assert one.digest == two.digest
    assert one.digest != EndpointDeclaration.of(properties(MarginSeconds="1800")).digest


def test_a_plan_that_cannot_carry_an_endpoint_is_refused_in_words():
    declared = EndpointDeclaration.of(properties())
    config = declared.config
    assert refusal(declared, plan(), config, starting=True) is None
    assert "3 instances" not in str(refusal(declared, plan(), config, starting=True))
    assert refusal(declared, plan(total=1), config, starting=True) == "2 instances are declared, and the plan has 1"
    assert "the plan has ml.p4d" in refusal(declared, plan(instance_type="ml.p4d.24xlarge"), config, starting=True)
    short = plan((START, START + HOUR))
    assert "choose a shorter margin" in refusal(declared, short, config, starting=True)
    assert refusal(declared, plan(status="Expired"), config, starting=False) is None


def test_an_item_is_read_as_it_was_written():
    item = EndpointItem(
        "chat",
        "lab/Chat",
        properties(),
        asked=Asked("b", "a", "open", "i", "c", "rolling", 1.5),
        rolled_back=RolledBack("b", "open", "i", "no capacity", "2026-12-10T00:00:00Z"),
        calling=(Calling("create config", "b", 1.0),),
        former=("lab/Old",),
    )
    assert EndpointItem.from_dict(item.to_dict()) == item
    assert item.owners == {"lab/Chat", "lab/Old"}


def test_a_marker_holds_until_there_is_more_room():
    back = RolledBack("b", "open", "i", "", "", total=4, others=2)
    assert back.holds("b", "open", "i", 4, 2)
    assert back.holds("b", "open", "i", 4, 3)
    assert not back.holds("b", "open", "i", 4, 1)
    assert not back.holds("b", "open", "i", 5, 2)
    assert not back.holds("b", "leave", "i", 4, 2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"instance_count": 0}, "at least 1"),
        ({"instance_count": True}, "whole number"),
        ({"on_expiry_now": "to_on_demand"}, "the declaration says how to delete"),
        ({"colour": 1}, "use instance_count, on_expiry_now, adopted"),
    ],
)
def test_what_people_set_is_judged(given, words):
    item = EndpointItem("chat", "lab/Chat", properties())
    with pytest.raises(InvalidInputError, match=words):
        item.with_override(**given)
    assert item.with_override(instance_count=3).with_override(instance_count=None).overrides == {}


def test_a_new_declaration_drops_what_people_set_and_an_equal_one_keeps_it():
    first = EndpointDeclaration.of(properties())
    item = EndpointItem("chat").with_declaration(properties(), first.digest).with_override(instance_count=3)
    assert item.with_declaration(properties(), first.digest).overrides == {"instance_count": 3}
    assert item.with_declaration(properties(), "another").overrides == {}
