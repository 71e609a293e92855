"""The jobs of a fleet as items of one JSON file: what an item holds, what it takes, and what makes it the same job."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model.approvals import types_in
from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.fleet_values import filled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "JOBS_FAILED",
    "REPORT_INCOMPLETE",
    "REPORT_TRIES",
    "WAITING",
    "FleetItem",
    "content_digest",
    "fleet_text",
    "limited_types",
    "require_item_name",
]

WAITING = "WaitingForSlot"
"""The error of a launch that has to wait for its turn; the item's machine repeats it for as long as it takes."""
JOBS_FAILED = "JobsFailed"
"""The error of a fleet of which more jobs did not complete than it tolerates."""
REPORT_INCOMPLETE = "ReportIncompleteError"
"""The error of a report that does not see the ends of all jobs yet: the table's index may lag."""
REPORT_TRIES = 6
"""How often such a report is made again before it is taken as it is."""

_NAME = re.compile(r"[A-Za-z0-9_.:/=+@-]{1,128}")
_DIGEST = 16
# How a job runs, not what it computes: a job that completed is not run again because one of these changed.
_HOW = frozenset(
    {
        "EnableInterContainerTrafficEncryption",
        "EnableManagedSpotTraining",
        "EnableNetworkIsolation",
        "ResourceConfig",
        "RetryStrategy",
        "RoleArn",
        "StoppingCondition",
        "Tags",
        "TrainingJobName",
        "VpcConfig",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetItem:
    """One job of a fleet, as the fleet's file holds it and as the launcher reads it.

    Parameters
    ----------
    name : str
        The item's name in its fleet.
    seconds : float
        The backstop: a launch that has not ended by then is stopped.
    request : Mapping
        The Create request without the job's name; empty for a refused item.
    reasons : sequence of str or None
        Why each preference stands where it does.
    refused : str
        Why this item is never launched; empty for one that is.

    Examples
    --------
    >>> item = FleetItem(name="lr-1", seconds=60, request={"RoleArn": "${gpucap:0}"})
    >>> FleetItem.of(item.to_dict(), {"0": "arn:aws:iam::1:role/x"}).request
    {'RoleArn': 'arn:aws:iam::1:role/x'}
    """

    name: str
    seconds: float
    request: Mapping[str, Any] = field(default_factory=dict)
    reasons: Sequence[str | None] = ()
    refused: str = ""

    @classmethod
    def of(cls, data: Mapping[str, Any], values: Mapping[str, Any]) -> FleetItem:
        """Read an item of a fleet's file, with the values in place of its placeholders."""
        known = {key: data[key] for key in ("reasons", "refused") if key in data}
        return cls(name=data["name"], seconds=data["seconds"], request=filled(data.get("request", {}), values), **known)

    def to_dict(self) -> dict[str, Any]:
        """Return the item as plain data, without what it does not have."""
        data: dict[str, Any] = {"name": self.name, "seconds": self.seconds}
        optional = {"request": self.request, "refused": self.refused}
        data |= {key: value for key, value in optional.items() if value}
        return data | ({"reasons": list(self.reasons)} if any(self.reasons) else {})


def fleet_text(items: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the lines of a fleet's file, which together are one JSON array: line n + 1 is item n.

    Examples
    --------
    >>> fleet_text([{"name": "a"}, {"name": "b"}])
    ['[', '{"name":"a"},', '{"name":"b"}', ']']
    """
    lines = [json.dumps(item, separators=(",", ":")) for item in items]
    return ["[", *(f"{line}," for line in lines[:-1]), *lines[-1:], "]"]


def require_item_name(name: Any) -> str:
    """Return ``name`` if it can name an item.

    Raises
    ------
    InvalidInputError
    """
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise InvalidInputError(
        f"name: {name!r} was given; 1 to 128 of the characters A-Z a-z 0-9 _ . : / = + @ - are allowed"
    )


def content_digest(request: Mapping[str, Any]) -> str:
    """Return a digest of what a job computes: the same while only where and how long it runs changes.

    Parameters
    ----------
    request : Mapping
        The complete request; its execution role, tags, instance types, limits, network and retries do not count.

    Examples
    --------
    >>> one = {"HyperParameters": {"lr": "1"}, "ResourceConfig": {"InstanceCount": 1}}
    >>> content_digest(one) == content_digest(one | {"ResourceConfig": {"InstanceCount": 8}})
    True
    >>> content_digest(one) == content_digest(one | {"HyperParameters": {"lr": "2"}})
    False
    """
    what = {key: value for key, value in request.items() if key not in _HOW}
    text = json.dumps(what, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]


def limited_types(request: Mapping[str, Any], limits: Mapping[str, int]) -> list[str]:
    """Return the types of a request that have a limit, sorted: the job may take any of them.

    Examples
    --------
    >>> entries = [{"InstanceType": "ml.p5.48xlarge"}, {"InstanceType": "ml.g5.xlarge"}]
    >>> limited_types({"ResourceConfig": {"InstancePreferences": entries}}, {"ml.p5.48xlarge": 4})
    ['ml.p5.48xlarge']
    """
    return sorted(limits.keys() & types_in(request.get("ResourceConfig", {})))
