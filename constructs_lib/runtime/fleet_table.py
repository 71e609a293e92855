"""What a fleet keeps in the run table: who holds a slot of which instance type, and what became of each item.

Slots are one item a fleet, with a set of job names for each limited type: a job takes all the types it may run on in
one conditional write, or none. Marks are one item for each item of the fleet. Both stand in the index ``execution``
under keys that no execution has, and in the index ``open`` not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from constructs_lib.model import RunEnd
from constructs_lib.runtime.items import Update, from_item, to_item, to_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constructs_lib.model import RunRecord
    from constructs_lib.runtime.ports import Clock, DynamoDBClient

__all__ = ["FleetTable", "Mark", "Slots"]

_ALL_SLOTS = "#slots"
_LONGEST_CAUSE = 300
# Not done with this content, and held by nobody, by the same job, or by one that is known to be over.
_CLAIMING = (
    "(attribute_not_exists(#done) OR #done <> :digest)"
    " AND (attribute_not_exists(#holder) OR #holder = :holder OR #holder = :over)"
)


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of one fleet: job names by instance type."""

    fleet: str
    holders: Mapping[str, frozenset[str]]

    def types_of(self, job: str) -> list[str]:
        """Return the types of which a job holds a slot."""
        return [kind for kind, names in self.holders.items() if job in names]

    def full(self, job: str, limits: Mapping[str, int]) -> list[str]:
        """Return the types of which a job holds no slot and none is left."""
        held = {kind: self.holders.get(kind, frozenset()) for kind in limits}
        return [kind for kind, limit in limits.items() if job not in held[kind] and len(held[kind]) >= limit]


@dataclass(frozen=True, slots=True)
class Mark:
    """What is known of one item of a fleet.

    Parameters
    ----------
    item : str
    file : str
        The version of the fleet's file in which the item was seen last.
    holder : str or None
        The job that has the item now.
    done : str or None
        The digest of the content that completed.
    run : str or None
        The fleet's execution that took the item last.
    job, end, cause : str or None
        The last job that ended, and how.
    ended : float
        When; 0 while none ended.
    """

    item: str
    file: str
    holder: str | None = None
    done: str | None = None
    run: str | None = None
    job: str | None = None
    end: str | None = None
    cause: str | None = None
    ended: float = 0.0

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Mark:
        """Read plain data."""
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})


class FleetTable:
    """Slots and marks in the run table.

    Parameters
    ----------
    client : DynamoDBClient
    name : str
        The table's name.
    clock : Clock
    """

    def __init__(self, client: DynamoDBClient, name: str, clock: Clock) -> None:
        self._client, self._name, self._clock = client, name, clock

    def slots(self, fleet: str) -> Slots:
        """Read a fleet's slots, consistently."""
        return _slots(fleet, self._get(_slots_key(fleet)))

    def all_slots(self) -> Iterator[Slots]:
        """Yield the slots of every fleet (the index may lag)."""
        for data in self._query(_ALL_SLOTS):
            yield _slots(str(data["name"]).removeprefix(f"{_ALL_SLOTS} "), data)

    def take_slots(self, fleet: str, job: str, limits: Mapping[str, int]) -> bool:
        """Take a slot of every type in ``limits``, or none; a job that has them keeps them.

        Returns
        -------
        bool
            Whether the job holds them all now.
        """
        conditions, adds, values = [], [], {":job": {"SS": [job]}, ":name": to_value(job), ":all": to_value(_ALL_SLOTS)}
        names = {"#execution": "execution"}
        for i, (kind, limit) in enumerate(limits.items()):
            names[f"#t{i}"], values[f":l{i}"] = kind, to_value(limit)
            adds.append(f"#t{i} :job")
            conditions.append(f"(attribute_not_exists(#t{i}) OR size(#t{i}) < :l{i} OR contains(#t{i}, :name))")
        return self._write(
            _slots_key(fleet),
            UpdateExpression=f"SET #execution = :all ADD {', '.join(adds)}",
            ConditionExpression=" AND ".join(conditions),
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
        )

    def free_slots(self, fleet: str, job: str, types: Sequence[str]) -> None:
        """Give the slots of some types back; those that the job does not hold are no error."""
        names = {f"#t{i}": kind for i, kind in enumerate(types)}
        self._write(
            _slots_key(fleet),
            UpdateExpression="DELETE " + ", ".join(f"{alias} :job" for alias in names),
            ConditionExpression="attribute_exists(#name)",
            ExpressionAttributeNames=names | {"#name": "name"},
            ExpressionAttributeValues={":job": {"SS": [job]}},
        )

    def mark(self, fleet: str, item: str) -> Mark | None:
        """Read the mark of an item, consistently."""
        data = self._get(_mark_key(fleet, item))
        return Mark.of(data) if data else None

    def marks(self, fleet: str) -> list[Mark]:
        """Return the marks of all items that a fleet ever had (the index may lag)."""
        return [Mark.of(data) for data in self._query(_marks_of(fleet))]

    def claim(self, fleet: str, item: str, *, job: str, digest: str, file: str, run: str, over: str = "") -> bool:
        """Make an item the job's, if it is not done and nobody has it.

        Parameters
        ----------
        over : str
            A holder that is known to have ended.

        Returns
        -------
        bool
            Whether the job has the item now.
        """
        update = Update().set(execution=_marks_of(fleet), item=item, holder=job, file=file, run=run)
        update.remove("end", "cause", "ended", "job")
        values = {"digest": digest, "holder": job, "over": over}
        return self._write(_mark_key(fleet, item), **update.arguments(_CLAIMING, **values))

    def seen(self, fleet: str, mark: Mark, file: str) -> None:
        """Note that an item that is done stands in this version of the file too."""
        if mark.file != file:
            values = {"done": mark.done}
            self._write(_mark_key(fleet, mark.item), **Update().set(file=file).arguments("#done = :done", **values))

    def end(self, fleet: str, item: str, *, job: str, digest: str, record: RunRecord) -> None:
        """Note how a job that has the item ended; of a job that has it no more nothing is noted."""
        update = Update().set(job=job, end=str(record.end), ended=self._clock.time())
        update.set(cause=record.cause[:_LONGEST_CAUSE]).remove("holder")
        if record.end is RunEnd.COMPLETED:
            update.set(done=digest)
        self._write(_mark_key(fleet, item), **update.arguments("#holder = :job", job=job))

    def _get(self, key: str) -> dict[str, Any]:
        found = self._client.get_item(TableName=self._name, Key=to_item({"name": key}), ConsistentRead=True)
        return from_item(found.get("Item", {}))

    def _write(self, key: str, **arguments: Any) -> bool:
        """Update one item; return whether its condition held."""
        try:
            self._client.update_item(TableName=self._name, Key=to_item({"name": key}), **arguments)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                return False
            raise
        return True

    def _query(self, value: str) -> Iterator[dict[str, Any]]:
        query: dict[str, Any] = {
            "IndexName": "execution",
            "KeyConditionExpression": "#key = :key",
            "ExpressionAttributeNames": {"#key": "execution"},
            "ExpressionAttributeValues": {":key": to_value(value)},
        }
        while True:
            page = self._client.query(TableName=self._name, **query)
            yield from (from_item(item) for item in page["Items"])
            if not (last := page.get("LastEvaluatedKey")):
                return
            query["ExclusiveStartKey"] = last


def _slots_key(fleet: str) -> str:
    return f"{_ALL_SLOTS} {fleet}"


def _marks_of(fleet: str) -> str:
    return f"#fleet {fleet}"


def _mark_key(fleet: str, item: str) -> str:
    return f"#item {fleet} {item}"


def _slots(fleet: str, data: Mapping[str, Any]) -> Slots:
    sets = {kind: frozenset(names) for kind, names in data.items() if kind not in ("name", "execution")}
    return Slots(fleet, sets)
