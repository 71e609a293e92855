"""The jobs of a fleet, judged and written as the file that its state machine reads."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from constructs_lib.model import InvalidInputError, TrainingJobSpec
from constructs_lib.model.fleet_file import read_lines, spec_of
from constructs_lib.model.fleet_values import Placeholders
from constructs_lib.model.fleets import FleetItem, fleet_text, limited_types, require_item_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = ["FleetFile", "Given", "given_jobs", "refuse_invalid", "rendered"]

PAYLOAD_BYTES = 262_144
"""What one state may be given, and what a Map may leave. Source: botocore, Step Functions' ``SensitiveData``."""
_FILE_BYTES = 64 * 1024 * 1024
_ITEMS = 80_000
# Besides the item and the values, a payload holds names, ARNs and a task token of about a thousand characters.
_REST_OF_PAYLOAD = 8_192
_VALUE_BYTES = 256
_SHOWN = 20


class Judge(Protocol):
    """Raises in words if a job's request, complete with its role, is not to be sent."""

    def __call__(self, spec: TrainingJobSpec, request: Mapping[str, Any]) -> None:
        """Judge one request."""
        ...


@dataclass(frozen=True, slots=True)
class Given:
    """One job as it was given: where it stands, its name if it has one, and the job or what is wrong with it."""

    place: str
    name: str
    spec: TrainingJobSpec | None = None
    wrong: str = ""


@dataclass(slots=True)
class FleetFile:
    """The file of a fleet, and what was learned while it was written.

    Attributes
    ----------
    items
        As plain data, with placeholders.
    values
        What only a deploy knows, by placeholder.
    invalid
        What is wrong with the jobs that will never be launched.
    unlimited
        Whether a job takes none of the types that have a limit.
    """

    items: list[dict[str, Any]] = field(default_factory=list)
    values: Mapping[str, Any] = field(default_factory=dict)
    invalid: list[str] = field(default_factory=list)
    unlimited: bool = False

    def text(self) -> str:
        """Return the file.

        Raises
        ------
        InvalidInputError
            If it is larger than this library writes.
        """
        text = "\n".join(fleet_text(self.items)) + "\n"
        if len(text) <= _FILE_BYTES:
            return text
        raise InvalidInputError(
            f"jobs: the fleet's file has {len(text):,} bytes, {_FILE_BYTES:,} are allowed (this library's own limit); "
            "split the fleet, or move what all jobs share into the image or a file of their input"
        )

    @staticmethod
    def version(text: str) -> str:
        """Return a digest of the file's text."""
        return hashlib.sha256(text.encode()).hexdigest()


def given_jobs(jobs: Sequence[TrainingJobSpec] | None, jobs_file: str | Path | None) -> Iterator[Given]:
    """Yield the jobs of a fleet as they were given, the wrong ones too.

    Raises
    ------
    InvalidInputError
        If not exactly one of the two is given, or the file cannot be read.
    """
    if (jobs is None) == (jobs_file is None):
        given = "both were" if jobs is not None else "neither was"
        raise InvalidInputError(f"jobs: give jobs or jobs_file, {given} given")
    if jobs_file is not None:
        path = Path(jobs_file)
        for number, line in read_lines(path):
            yield _from_line(f"{path.name} line {number}", line)
    for index, spec in enumerate(jobs or ()):
        place = f"jobs[{index}]"
        if not isinstance(spec, TrainingJobSpec):
            raise InvalidInputError(f"{place}: a TrainingJobSpec is needed, a {type(spec).__name__} was given")
        yield Given(place, spec.name, spec)


def rendered(
    given: Iterable[Given],
    *,
    role: str,
    judge: Judge,
    limits: Mapping[str, int],
    backstop: Callable[[dict[str, Any]], float],
) -> FleetFile:
    """Return the file of a fleet's jobs.

    Parameters
    ----------
    given : iterable of Given
    role : str
        The ARN of the execution role of jobs that name none.
    judge : Judge
    limits : Mapping
        Jobs at once by instance type.
    backstop : callable
        Returns after how many seconds a launch of a request is stopped.
    """
    file, places = FleetFile(), Placeholders()
    seen: dict[str, str] = {}
    for job in given:
        try:
            spec = _unique(job, seen)
            request = spec.to_request()
            request.setdefault("RoleArn", role)
            judge(spec, request)
            item = FleetItem(
                name=spec.name,
                seconds=places.take(backstop(request)),
                request=places.take(request),
                reasons=places.take(spec.reasons()),
            ).to_dict()
            _require_room(item, places)
            file.unlimited = file.unlimited or not limited_types(request, limits)
        except InvalidInputError as error:
            words = f"{job.place} ({job.name}): {error}" if job.name else f"{job.place}: {error}"
            file.invalid.append(words)
            item = FleetItem(name=f"invalid:{job.place.replace(' ', ':')}", seconds=60, refused=words[:1000]).to_dict()
        file.items.append(item)
    file.values = places.values
    _require_number(len(file.items))
    return file


def refuse_invalid(file: FleetFile) -> None:
    """Refuse a fleet in which a job is wrong, naming each.

    Raises
    ------
    InvalidInputError
    """
    if not file.invalid:
        return
    shown = "\n".join(f"- {words}" for words in file.invalid[:_SHOWN])
    more = f"\n... and {len(file.invalid) - _SHOWN} more" if len(file.invalid) > _SHOWN else ""
    raise InvalidInputError(
        f"jobs: {len(file.invalid)} of {len(file.items)} are not to be launched; mend them, or let the others run with "
        f"on_invalid='run_others'\n{shown}{more}"
    )


def _from_line(place: str, line: str) -> Given:
    try:
        spec = spec_of(line)
    except InvalidInputError as error:
        return Given(place, _name_in(line), wrong=str(error))
    return Given(place, spec.name, spec)


def _name_in(line: str) -> str:
    try:
        return str(json.loads(line)["name"])
    except (ValueError, KeyError, TypeError):
        return ""


def _unique(job: Given, seen: dict[str, str]) -> TrainingJobSpec:
    """Return the job, if it is one and its name is its own."""
    if job.spec is None:
        raise InvalidInputError(job.wrong)
    name = require_item_name(job.spec.name)
    if name in seen:
        raise InvalidInputError(f"name: {name!r} is the name of {seen[name]} too; every job of a fleet has its own")
    seen[name] = job.place
    return job.spec


def _require_room(item: Mapping[str, Any], places: Placeholders) -> None:
    values = sum(max(len(str(value)), _VALUE_BYTES) for value in places.values.values())
    size = len(json.dumps(item, separators=(",", ":"))) + values + _REST_OF_PAYLOAD
    if size > PAYLOAD_BYTES:
        raise InvalidInputError(
            f"the job needs about {size:,} bytes of a state's input, Step Functions takes {PAYLOAD_BYTES:,}; put what "
            "is long into a file of the job's input"
        )


def _require_number(count: int) -> None:
    if not count:
        raise InvalidInputError("jobs: a fleet has at least one job, none was given")
    if count > _ITEMS:
        raise InvalidInputError(
            f"jobs: {count:,} were given, {_ITEMS:,} are allowed: what a Map leaves has at most {PAYLOAD_BYTES:,} "
            "bytes, and each job leaves three; split the fleet"
        )
