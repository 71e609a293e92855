"""Who a job belongs to: one step of one entry of one state of one execution."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from constructs_lib.model import job_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Identity", "plain_entry"]

_TAG_VALUE = re.compile(r"[A-Za-z0-9 _.:/=+\-@]{0,256}")
_TAG_PREFIX = "gpucap:"
_LONGEST_MARK = 256


@dataclass(frozen=True, slots=True)
class Identity:
    """One step of one entry of a state; equal over retries, different for every loop turn, Map item and redrive.

    Parameters
    ----------
    machine : str
        The job name's prefix, from `constructs_lib.model.name_prefix`.
    execution, state : str
        The execution's ARN and the state's name.
    entry : Mapping
        The marks that tell entries apart, from `plain_entry`. They have to be equal over the retries of an entry.
    step : int
        The step of the launch strategy, from 1.
    kind : str
        The kind of job.
    """

    machine: str
    execution: str
    state: str
    entry: Mapping[str, Any]
    step: int = 1
    kind: str = "training"

    @property
    def name(self) -> str:
        """The job's name."""
        return job_name(self.machine, self.execution, self.state, self.entry, self.step, kind=self.kind)

    @property
    def first(self) -> Identity:
        """The first step of the same entry."""
        return replace(self, step=1)

    @property
    def redrive(self) -> int:
        """How often the execution had been redriven when it entered the state."""
        return int(self.entry.get("redrive", 0))

    def follows(self, other: Identity) -> bool:
        """Tell whether this is what a later redrive made of the same entry."""
        if (self.machine, self.execution, self.state) != (other.machine, other.execution, other.state):
            return False
        marks, others = ({**entry, "redrive": 0} for entry in (self.entry, other.entry))
        return marks == others and self.redrive > other.redrive

    @property
    def place(self) -> dict[str, str]:
        """The region and the account of the execution."""
        _, _, _, region, account, *_ = self.execution.split(":")
        return {"region": region, "account": account}

    def tags(self) -> dict[str, str]:
        """Return the tags that name the owner on the job itself; what does not fit a tag stands there as a hash."""
        entry = " ".join(f"{key}={value}" for key, value in sorted(self.entry.items()))
        owner = {"execution": self.execution, "state": self.state, "entry": entry, "step": str(self.step)}
        return {_TAG_PREFIX + key: _tag_value(text) for key, text in owner.items()}

    def owns(self, tags: Mapping[str, str]) -> bool | None:
        """Tell whether a job with these tags is ours; ``None`` when it bears no mark at all, which may be a lag."""
        marks = {key: value for key, value in tags.items() if key.startswith(_TAG_PREFIX)}
        return marks == self.tags() if marks else None


def plain_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry's marks as strings, whole numbers and booleans, so that they survive any store unchanged.

    Examples
    --------
    >>> plain_entry({"redrive": 0, "item": {"b": 1.5, "a": None}})
    {'redrive': 0, 'item': '{"a":null,"b":1.5}'}
    """
    return {key: _plain_mark(value) for key, value in entry.items()}


def _plain_mark(value: Any) -> Any:
    if isinstance(value, bool | int):
        return value
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), sort_keys=True)
    return text if len(text) <= _LONGEST_MARK else _hashed(text)


def _tag_value(text: str) -> str:
    return text if _TAG_VALUE.fullmatch(text) else _hashed(text)


def _hashed(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
