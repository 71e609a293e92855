"""SageMaker Pipelines definitions: every step's Arguments are a request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from constructs_lib.rules.readers.document import dotted
from constructs_lib.rules.readers.reading import Unreadable
from constructs_lib.rules.subjects import Carrier, Kind, Subject, run_time_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constructs_lib.rules.readers.reading import Reading
    from constructs_lib.rules.readers.template import Resource

__all__ = ["is_pipeline", "pipeline_subjects", "read_pipeline_resource"]

_STEP_KINDS = {
    "Training": Kind.TRAINING_JOB,
    "Processing": Kind.PROCESSING_JOB,
    "Tuning": Kind.TUNING_JOB,
    "AutoML": Kind.AUTO_ML_JOB,
}
_RUN_TIME = ("Get", "Std:Join", "Std:JsonGet")


def is_pipeline(data: Any) -> bool:
    """Tell whether parsed data is a pipeline definition."""
    steps = data.get("Steps") if isinstance(data, dict) else None
    return isinstance(steps, list) and any(isinstance(step, dict) and "Type" in step for step in steps)


def pipeline_subjects(definition: Any, where: tuple[str | int, ...] = (), **place: Any) -> Iterator[Subject]:
    """Yield a subject for each step whose Arguments a rule knows, those of condition steps' branches included."""
    for index, step in enumerate(_steps(definition, "Steps")):
        yield from _step(step, (*where, "Steps", index), place)


def _step(step: Any, where: tuple[str | int, ...], place: dict[str, Any]) -> Iterator[Subject]:
    if not isinstance(step, dict):
        return
    arguments = step.get("Arguments")
    if (kind := _STEP_KINDS.get(str(step.get("Type")))) and isinstance(arguments, dict):
        data = _request(arguments)
        yield Subject(kind, data, path=dotted((*where, "Arguments")), carrier=Carrier.PIPELINE, **place)
    for branch in ("IfSteps", "ElseSteps"):
        for index, inner in enumerate(_steps(arguments, branch)):
            yield from _step(inner, (*where, "Arguments", branch, index), place)


def _steps(holder: Any, key: str) -> list[Any]:
    steps = holder.get(key) if isinstance(holder, dict) else None
    return steps if isinstance(steps, list) else []


def _request(value: Any) -> Any:
    """Mark what only an execution knows: ``{"Get": "Parameters.Type"}`` and joins of such."""
    if isinstance(value, list):
        return [_request(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and (key := next(iter(value))) in _RUN_TIME:
        return run_time_value(json.dumps(value[key]))
    return {key: _request(item) for key, item in value.items()}


def read_pipeline_resource(resource: Resource, reading: Reading) -> None:
    """Append the steps of an ``AWS::SageMaker::Pipeline``, whose definition is text or an object with text."""
    given = resource.properties.get("PipelineDefinition")
    key = "PipelineDefinitionBody"
    body = given.get(key) if isinstance(given, dict) else None
    if not isinstance(body, str):
        return
    where = resource.place("Properties", "PipelineDefinition", key)
    document = resource.template.document
    try:
        definition = json.loads(body)
    except json.JSONDecodeError as error:
        line = document.line(dotted(where))
        reading.unreadable.append(Unreadable(document.name, f"{dotted(where)} is not JSON: {error.msg.lower()}", line))
        return
    reading.subjects += pipeline_subjects(definition, where, **resource.surroundings())
