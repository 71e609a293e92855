"""State machine definitions: the machine, each of its states at any depth, and the requests that its tasks send."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.rules.asl import arguments, integration, later_requests, launched_kind
from constructs_lib.rules.readers.document import dotted
from constructs_lib.rules.readers.reading import Unreadable
from constructs_lib.rules.readers.roles import role_of, statements_of_role
from constructs_lib.rules.subjects import Carrier, Kind, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constructs_lib.rules.readers.reading import Reading
    from constructs_lib.rules.readers.template import Resource

__all__ = [
    "fragment_subjects",
    "is_machine",
    "is_state_fragment",
    "machine_subjects",
    "read_machine_resource",
]

_REQUEST_KINDS = {
    "createtrainingjob": Kind.TRAINING_JOB,
    "createprocessingjob": Kind.PROCESSING_JOB,
    "createhyperparametertuningjob": Kind.TUNING_JOB,
    "createautomljob": Kind.AUTO_ML_JOB,
    "createautomljobv2": Kind.AUTO_ML_JOB,
    "createendpointconfig": Kind.ENDPOINT_CONFIG,
    "createendpoint": Kind.ENDPOINT,
    "createcluster": Kind.CLUSTER,
}
_LAUNCHED = {"training": Kind.TRAINING_JOB, "processing": Kind.PROCESSING_JOB, "tuning": Kind.TUNING_JOB}
_SUBSTITUTION = re.compile(r"\$\{([A-Za-z0-9_]+)\}")


def is_machine(data: Any) -> bool:
    """Tell whether parsed data is an ASL definition."""
    return isinstance(data, dict) and isinstance(data.get("States"), dict) and "StartAt" in data


def is_state_fragment(data: Any) -> bool:
    """Tell whether parsed data is a bare map of states, as documentation and snippets show them."""
    types = {"Task", "Pass", "Choice", "Wait", "Succeed", "Fail", "Parallel", "Map"}
    values = list(data.values()) if isinstance(data, dict) else []
    return bool(values) and all(isinstance(value, dict) and value.get("Type") in types for value in values)


@dataclass(slots=True)
class _Machine:
    definition: Mapping[str, Any]
    place: dict[str, Any]
    about: dict[str, Any]
    subjects: list[Subject] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)

    def add(self, kind: Kind, data: Any, where: tuple[str | int, ...], **given: Any) -> None:
        place = {"carrier": Carrier.STATE, **self.place, **given}
        self.subjects.append(Subject(kind, data if isinstance(data, dict) else {}, path=dotted(where), **place))


def machine_subjects(
    definition: Mapping[str, Any],
    where: tuple[str | int, ...] = (),
    about: Mapping[str, Any] | None = None,
    **place: Any,
) -> list[Subject]:
    """Return the subjects of one definition: the machine first, then its states, requests and calls.

    Parameters
    ----------
    definition : Mapping
        An ASL definition.
    where : tuple
        The path of the definition in its file.
    about : Mapping, optional
        What is known of the machine's role: ``Statements``, ``Complete``, ``RoleArn``.
    place : Any
        File, resource, stack and so on of every subject.
    """
    machine = _Machine(definition, place, dict(about or {}))
    machine.add(Kind.STATE_MACHINE, definition, where, about=machine.about)
    language = str(definition.get("QueryLanguage", "JSONPath"))
    _walk(machine, definition, where, language)
    machine.about["Calls"] = machine.calls
    return machine.subjects


def _walk(machine: _Machine, scope: Any, where: tuple[str | int, ...], language: str) -> None:
    states = scope.get("States") if isinstance(scope, dict) else None
    for name, state in (states if isinstance(states, dict) else {}).items():
        if not isinstance(state, dict):
            continue
        here = (*where, "States", name)
        spoken = str(state.get("QueryLanguage", language))
        about = {"Name": name, "QueryLanguage": spoken, "Definition": machine.definition}
        machine.add(Kind.STATE, state, here, about=about)
        if state.get("Type") == "Task":
            _task(machine, state, here)
        for key in ("ItemProcessor", "Iterator"):
            _walk(machine, state.get(key), (*here, key), spoken)
        branches = state.get("Branches")
        for index, branch in enumerate(branches if isinstance(branches, list) else []):
            _walk(machine, branch, (*here, "Branches", index), spoken)


def _task(machine: _Machine, state: Mapping[str, Any], where: tuple[str | int, ...]) -> None:
    called = integration(state.get("Resource"))
    if called is None:
        return
    key = "Arguments" if "Arguments" in state else "Parameters"
    request, here = arguments(state.get(key)), (*where, key)
    service, action = called.service.lower(), called.action
    if service == "lambda":
        _launch(machine, request, here)
    elif service == "sagemaker" and (kind := _REQUEST_KINDS.get(action.lower())):
        machine.add(kind, request, here)
        machine.calls.append({"Action": action[0].upper() + action[1:], "Request": request, "Path": dotted(here)})
    else:
        _batch(machine, service, action, request, here)
        data = {"Service": service, "Action": action, "Parameters": request}
        machine.add(Kind.SDK_CALL, data, where, about={"Via": "state"})


def _launch(machine: _Machine, invoke: Any, where: tuple[str | int, ...]) -> None:
    """Read the requests that our launcher is given, of every step."""
    payload: Any = invoke.get("Payload") if isinstance(invoke, dict) else None
    if kind := _LAUNCHED.get(launched_kind(payload) or ""):
        later = later_requests(payload)
        about = {"Steps": 1 + len(later)} if later else {}
        machine.add(kind, payload["request"], (*where, "Payload", "request"), about=about)
        for index, request in enumerate(later):
            machine.add(kind, request, (*where, "Payload", "then", index, "request"), about=about)


def _batch(machine: _Machine, service: str, action: str, request: Any, where: tuple[str | int, ...]) -> None:
    """Read the CreateTrainingJob request in the payload of an AWS Batch service job."""
    payload = request.get("ServiceRequestPayload") if isinstance(request, dict) else None
    if service == "batch" and action.lower() == "submitservicejob":
        if isinstance(payload, str):
            try:
                payload = json.loads(payload)
            except json.JSONDecodeError:
                return
        if isinstance(payload, dict):
            machine.add(Kind.TRAINING_JOB, payload, (*where, "ServiceRequestPayload"), carrier=Carrier.BATCH)


def read_machine_resource(resource: Resource, resources: list[Resource], reading: Reading) -> None:
    """Append the subjects of a state machine resource: inline text, a built string, an object, plain or SAM."""
    properties = resource.properties
    key = "Definition" if isinstance(properties.get("Definition"), dict) else "DefinitionString"
    where = resource.place("Properties", key)
    definition = properties.get(key)
    if isinstance(definition, str):
        definition = _parse(resource, definition, where, reading)
    if not isinstance(definition, dict):
        return
    role_arn = properties.get("RoleArn", properties.get("Role"))
    about: dict[str, Any] = {"RoleArn": role_arn}
    role = next((r for r in resources if r.type == "AWS::IAM::Role" and r.name == role_of(role_arn)), None)
    if role:
        about["Statements"], about["Complete"] = statements_of_role(role, resources)
    reading.subjects += machine_subjects(definition, where, about, **resource.surroundings())


def _parse(resource: Resource, text: str, where: tuple[str | int, ...], reading: Reading) -> Any:
    substitutions = resource.properties.get("DefinitionSubstitutions")

    def replace(match: re.Match[str]) -> str:
        value = substitutions.get(match[1]) if isinstance(substitutions, dict) else None
        if isinstance(value, str | int | float):
            return json.dumps(str(value))[1:-1]
        return f"${{Token[{match[1]}]}}" if isinstance(substitutions, dict) and match[1] in substitutions else match[0]

    try:
        return json.loads(_SUBSTITUTION.sub(replace, text))
    except json.JSONDecodeError as error:
        document = resource.template.document
        if text.strip().startswith("{"):
            reason = f"{dotted(where)} is not JSON: {error.msg.lower()}"
            reading.unreadable.append(Unreadable(document.name, reason, document.line(dotted(where))))
        return None


def fragment_subjects(states: Mapping[str, Any], **place: Any) -> Iterator[Subject]:
    """Yield the subjects of a bare map of states; nothing is said of the machine, which is not there."""
    first = next(iter(states))
    subjects = machine_subjects({"StartAt": first, "States": states}, (), None, **place)
    for subject in subjects[1:]:
        subject.path = subject.path.removeprefix("States.")
        yield subject
