"""AWS::Events and AWS::Scheduler types."""

from __future__ import annotations

from typing import Any

from .api import ApiType, call
from .base import Request, ResourceError

__all__ = ["EventBus", "Rule", "Schedule", "ScheduleGroup"]


class Rule(ApiType):
    """A rule with its targets."""

    type = "AWS::Events::Rule"
    attributes = frozenset({"Arn"})
    service = "events"
    create_call = update_call = "PutRule"
    delete_call = "DeleteRule"
    name = "Name"
    apart = frozenset({"Targets"})

    def identify(self, parameters: dict[str, Any], _answer: dict[str, Any]) -> str:
        """Return the name, after the bus's if that is not the default one."""
        bus = parameters.get("EventBusName", "default")
        return str(parameters["Name"]) if bus == "default" else f"{bus}|{parameters['Name']}"

    def key(self, request: Request) -> dict[str, Any]:
        """Return rule and bus."""
        bus = {k: v for k, v in request.properties.items() if k == "EventBusName"}
        return {"Name": request.physical_id.rpartition("|")[2], **bus}

    def apply(self, request: Request) -> None:
        """Put the targets, and remove those that are gone."""
        if not request.changed("Targets"):
            return
        client, (name, bus) = request.client("events"), _rule_and_bus(request, request.physical_id)
        old, new = ({t["Id"]: t for t in p.get("Targets", [])} for p in (request.old, request.properties))
        gone = [target for target in old if target not in new]
        if gone:
            client.remove_targets(Rule=name, Ids=gone, **bus)
        if new:
            answer = call(client, "PutTargets", {"Rule": name, "Targets": list(new.values()), **bus})
            if answer["FailedEntryCount"]:
                raise ResourceError(f"targets were refused: {answer['FailedEntries']}")

    def delete(self, request: Request) -> None:
        """Remove the targets, then the rule."""
        client, (name, bus) = request.client("events"), _rule_and_bus(request, request.physical_id)
        targets = [target["Id"] for target in request.properties.get("Targets", [])]
        if targets and name in {rule["Name"] for rule in client.list_rules(NamePrefix=name, **bus)["Rules"]}:
            client.remove_targets(Rule=name, Ids=targets, **bus)
        super().delete(request)

    def read(self, request: Request) -> dict[str, Any]:
        """Return the ARN."""
        name, bus = _rule_and_bus(request, request.physical_id)
        return {"Arn": request.client("events").describe_rule(Name=name, **bus)["Arn"]}


def _rule_and_bus(request: Request, physical_id: str) -> tuple[str, dict[str, str]]:
    bus = request.properties.get("EventBusName")
    return physical_id.rpartition("|")[2], {} if bus is None else {"EventBusName": bus}


class EventBus(ApiType):
    """An event bus."""

    type = "AWS::Events::EventBus"
    attributes = frozenset({"Arn", "Name"})
    service = "events"
    create_call, update_call, delete_call = "CreateEventBus", "UpdateEventBus", "DeleteEventBus"
    name = identifier = "Name"
    name_limit = 256

    def read(self, request: Request) -> dict[str, Any]:
        """Return ARN and name."""
        return {"Arn": request.arn("events", f"event-bus/{request.physical_id}"), "Name": request.physical_id}


class Schedule(ApiType):
    """A schedule of EventBridge Scheduler."""

    type = "AWS::Scheduler::Schedule"
    attributes = frozenset({"Arn"})
    service = "scheduler"
    create_call, update_call, delete_call = "CreateSchedule", "UpdateSchedule", "DeleteSchedule"
    name = "Name"

    def key(self, request: Request) -> dict[str, Any]:
        """Return schedule and group."""
        group = {k: v for k, v in request.properties.items() if k == "GroupName"}
        return {"Name": request.physical_id, **group}

    def read(self, request: Request) -> dict[str, Any]:
        """Return the ARN."""
        group = request.properties.get("GroupName", "default")
        return {"Arn": request.arn("scheduler", f"schedule/{group}/{request.physical_id}")}


class ScheduleGroup(ApiType):
    """A group of schedules."""

    type = "AWS::Scheduler::ScheduleGroup"
    attributes = frozenset({"Arn"})
    service = "scheduler"
    create_call, delete_call = "CreateScheduleGroup", "DeleteScheduleGroup"
    name = identifier = "Name"

    def read(self, request: Request) -> dict[str, Any]:
        """Return the ARN."""
        return {"Arn": request.arn("scheduler", f"schedule-group/{request.physical_id}")}
