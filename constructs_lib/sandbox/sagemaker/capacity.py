"""What an AWS account could get, and when: the sandbox's stage directions."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from constructs_lib.facts import instance_types
from constructs_lib.sandbox.errors import SandboxError

from .capacity_file import read_capacity
from .seeds import UNLIMITED, EndpointTimes, JobTimes, Level, OfferingSeed, PlanSeed, spot_pool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Capacity"]


@dataclass(frozen=True)
class Capacity:
    """Free instances over time, quotas, plans that are already bought, and how long jobs take.

    Parameters
    ----------
    types
        Levels of free instances by instance type and zone (None: any zone). Before its first level a type has none.
        A level says what is free for whoever asks from then on; jobs that take these instances give them back, those
        that older jobs still hold do not come back to it.
    default_free
        What is free of every other type: unlimited unless told.
    spot
        Levels of free spot instances, as `types`; other types are unlimited.
    quotas
        Instances allowed, by quota name such as ``ml.g5.48xlarge for training job usage``. A quota that is not named
        is unlimited.
    prices
        USD for an instance hour by type, as the Price List tells them; other types have no price there.
    plans
        Training plans that exist from the start.
    offerings
        Training plans that can be bought.
    job, overrides
        How long the phases of a job take, in general and by job name pattern (the first that matches counts).
    endpoint, endpoint_overrides
        How long an endpoint's transitions take, in general and by pattern of its configuration's name or its own.

    Examples
    --------
    >>> capacity = Capacity.of({"types": {"ml.p5.48xlarge": [{"at": "25m", "free": 8}]}, "job": {"runtime": "2h"}})
    >>> capacity.job_times("any").runtime
    7200.0
    >>> for line in capacity.lines():
    ...     print(line)
    ml.p5.48xlarge: 0 free, 8 after 25m
    other types: unlimited
    quotas: unlimited
    """

    types: Mapping[str, Mapping[str | None, tuple[Level, ...]]] = field(default_factory=dict)
    default_free: float = UNLIMITED
    spot: Mapping[str, Mapping[str | None, tuple[Level, ...]]] = field(default_factory=dict)
    quotas: Mapping[str, int] = field(default_factory=dict)
    prices: Mapping[str, str] = field(default_factory=dict)
    plans: tuple[PlanSeed, ...] = ()
    offerings: tuple[OfferingSeed, ...] = ()
    job: JobTimes = JobTimes()  # noqa: RUF009  frozen
    overrides: tuple[tuple[str, JobTimes], ...] = ()
    endpoint: EndpointTimes = EndpointTimes()  # noqa: RUF009  frozen
    endpoint_overrides: tuple[tuple[str, EndpointTimes], ...] = ()

    @classmethod
    def load(cls, path: Path | str) -> Capacity:
        """Read a capacity file.

        Raises
        ------
        SandboxError
            If the file can not be read, or naming each mistake in it with file, line and key.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SandboxError(f"{path}: can not read the capacity file: {error}") from None
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, source: str = "capacity") -> Capacity:
        """Read the text of a capacity file; `source` names it in errors, which are those of `load`."""
        return cls(**read_capacity(text, source))

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Capacity:
        """Read a capacity file's content given as plain data; errors are those of `load`."""
        return cls.parse(yaml.safe_dump(dict(document), sort_keys=False))

    def pools(self) -> dict[str, Mapping[str | None, tuple[Level, ...]]]:
        """Return the levels of all pools: On-Demand by the type's name, spot by `spot_pool`."""
        return {**self.types, **{spot_pool(name): zones for name, zones in self.spot.items()}}

    def default_of(self, pool: str) -> float:
        """Return what is free in a pool without levels."""
        return self.default_free if pool in instance_types() else UNLIMITED

    def job_times(self, job_name: str) -> JobTimes:
        """Return how long the phases of one job take."""
        return next((times for name, times in self.overrides if fnmatch.fnmatchcase(job_name, name)), self.job)

    def endpoint_times(self, *names: str) -> EndpointTimes:
        """Return how long the transitions of an endpoint take, given the names by which a pattern may know it."""
        rows = self.endpoint_overrides
        found = (times for pattern, times in rows if any(fnmatch.fnmatchcase(name, pattern) for name in names))
        return next(found, self.endpoint)

    def lines(self) -> Iterator[str]:
        """Yield what is free, for a person to read; defaults are stated."""
        for name, zones in self.pools().items():
            for zone, levels in zones.items():
                yield f"{name}{f' in {zone}' if zone else ''}: {_timeline(levels)}"
        yield f"other types: {_number(self.default_free)}"
        for name, count in self.quotas.items():
            yield f"quota {name}: {count}"
        yield "other quotas: unlimited" if self.quotas else "quotas: unlimited"
        for plan in self.plans:
            counts = "+".join(str(segment.count) for segment in plan.segments)
            yield f"plan {plan.name}: {counts} x {plan.instance_type} for {plan.target}"
        for offering in self.offerings:
            counts = " or ".join(map(str, offering.counts))
            yield f"offering: {counts} x {offering.instance_type}, {_terms(offering)}"


def _timeline(levels: tuple[Level, ...]) -> str:
    if len(levels) == 1 and levels[0].at.seconds == -UNLIMITED:
        return f"{_number(levels[0].free)} free"
    changes = [f"{_number(level.free)} {_when(level)}{_interrupting(level)}" for level in levels]
    return ", ".join(["0 free", *changes])


def _interrupting(level: Level) -> str:
    return " with an interruption" if level.interrupts else ""


def _when(level: Level) -> str:
    if level.at.absolute:
        return datetime.fromtimestamp(level.at.seconds, UTC).strftime("at %Y-%m-%dT%H:%M:%SZ")
    minutes, seconds = divmod(level.at.seconds, 60)
    return f"after {minutes:.0f}m" + (f"{seconds:.0f}s" if seconds else "")


def _terms(offering: OfferingSeed) -> str:
    """Say how long an offering is and what it costs."""
    days = " or ".join(map(str, offering.days))
    parts = len(offering.segments)
    length = f"{days} days" if days else "one segment" if parts == 1 else f"{parts} segments"
    first, *later = offering.prices
    costs = f"{first.amount} {offering.currency}" + (" an instance-hour" if first.per_hour else "")
    return f"{length}, {costs}" + "".join(f", {price.amount} {_when(Level(price.at, 0))}" for price in later)


def _number(count: float) -> str:
    return "unlimited" if count == UNLIMITED else f"{count:.0f}"
