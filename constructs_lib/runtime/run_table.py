"""The run table: one row a job, written before the job is created and closed with the record of its end."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from constructs_lib.model import RunEnd, RunRecord
from constructs_lib.runtime.identity import Identity
from constructs_lib.runtime.items import Update, from_item, to_item, to_value
from constructs_lib.runtime.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from constructs_lib.runtime.launch import Launch
    from constructs_lib.runtime.ports import Clock, DynamoDBClient
    from constructs_lib.runtime.prepared import Prepared

__all__ = ["Row", "RunTable", "Taken"]

_MARK = "#draining"
_OPEN = "y"
# The name and the step stand in the row anyway, and the terms hold the earlier steps.
_RECORD_FIELDS = frozenset(member.name for member in fields(RunRecord)) - {"job_name", "step", "earlier"}
_IDENTITY = ("machine", "execution", "state", "entry", "step", "kind")
_STILL_OURS = "#open = :open AND #token = :token"
# No row yet, or a row of this very entry that waits and that an earlier try, or this very one, wrote.
_TAKING = (
    "attribute_not_exists(#name) OR (#open = :open AND {same} AND (#try < :try OR #try = :try AND #token = :token))"
).format(same=" AND ".join(f"#{name} = :{name}" for name in _IDENTITY))


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it was read.

    Parameters
    ----------
    name, identity
        The job's name and whose it is.
    try_number, token
        The try that wrote last and the task token it waits on; ``token`` is ``None`` once the row is closed.
    tried : float
        When a launcher last wrote the row: a create call may follow for as long as a launcher can live.
    created : float
        When a launcher first wrote the row.
    limit : RunEnd or None
        What we stopped the job for.
    reasons : tuple
        Why each preference stands where it does.
    declared : tuple
        The types of the preferences.
    terms : Terms
        The limits and prices of the launch, and what follows on this step.
    cut_for : RunEnd or None
        The limit that the job's runtime was shortened for.
    free : frozenset
        The types that are paid for by a training plan.
    unverified : tuple
        What AWS did not let us check before the create.
    creating : bool
        Whether a create call of this name was ever begun whose outcome may be open.
    refused : Mapping or None
        The record of a refusal that may only be given once no other create call can arrive.
    record : Mapping
        What is known of the job's end, or of the job so far.
    """

    name: str
    identity: Identity
    try_number: int
    token: str | None
    tried: float
    created: float
    limit: RunEnd | None
    reasons: tuple[str | None, ...]
    creating: bool
    refused: Mapping[str, Any] | None
    record: Mapping[str, Any]
    declared: tuple[str, ...] = ()
    terms: Terms = field(default_factory=Terms)
    cut_for: RunEnd | None = None
    free: frozenset[str] = frozenset()
    unverified: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Row:
        """Read plain data."""
        identity = Identity(**{key: data[key] for key in _IDENTITY})
        record = {key: value for key, value in data.items() if key in _RECORD_FIELDS}
        return cls(
            name=data["name"],
            identity=identity,
            try_number=data["try"],
            token=data.get("token"),
            tried=data["tried"],
            created=data["created"],
            limit=RunEnd(data["limit"]) if "limit" in data else None,
            reasons=tuple(data.get("reasons", ())),
            declared=tuple(entry["InstanceType"] for entry in data.get("preferences", ())),
            terms=Terms.of(data["terms"]) if "terms" in data else Terms(step=data["step"], steps=data["step"]),
            cut_for=RunEnd(data["cut_for"]) if "cut_for" in data else None,
            free=frozenset(data.get("free", ())),
            unverified=tuple(data.get("unverified", ())),
            creating="creating" in data,
            refused=data.get("refused"),
            record={"job_name": data["name"], **record},
        )

    @property
    def open(self) -> bool:
        """Whether the job's end has still to be answered."""
        return self.token is not None


@dataclass(frozen=True, slots=True)
class Taken:
    """A row that a try made its own; ``alone`` when no create call of this name can be under way but its own."""

    row: Row
    alone: bool

    def of(self, row: Row) -> Taken:
        """Return the same with what the row has gained."""
        return replace(self, row=row)


class RunTable:
    """The table behind the launcher, the completion, the sweep and the drain.

    Parameters
    ----------
    client : DynamoDBClient
    name : str
        The table's name.
    clock : Clock
    """

    def __init__(self, client: DynamoDBClient, name: str, clock: Clock) -> None:
        self._client = client
        self._name = name
        self._clock = clock

    def get(self, name: str) -> Row | None:
        """Read one row, consistently."""
        item = self._get(name)
        return Row.of(item) if item else None

    def take(self, launch: Launch, began: float | None = None) -> Taken | None:
        """Write the row of a try, before anything is created for it.

        Parameters
        ----------
        launch : Launch
        began : float, optional
            Epoch seconds at which the run began; now, if nobody knows.

        Returns
        -------
        Taken or None
            ``None`` if a later try owns the row, if it is closed, or if it is another entry's.
        """
        now = self._clock.time()
        written = _identity_values(launch) | {"token": launch.token, "open": _OPEN}
        written |= {"try": launch.try_number, "tried": now, "updated": now}
        kept: dict[str, Any] = {"created": now}
        update = Update()
        if launch.limit is None:
            written |= {"reasons": list(launch.wish.reasons), "preferences": _preferences(launch), "creating": True}
            written |= {"terms": launch.terms(now if began is None else began).to_dict()}
            update.remove("refused")
        else:
            kept["limit"] = launch.limit
        values = _identity_values(launch) | {"open": _OPEN, "try": launch.try_number, "token": launch.token}
        update.set(**written).keep(**kept)
        old = self._update(launch.name, update, _TAKING, ReturnValues="ALL_OLD", values=values)
        if old is None:
            return None
        alone = "creating" not in old
        if launch.limit is None:
            old.pop("refused", None)
        return Taken(Row.of({"name": launch.name, **kept, **old, **written}), alone)

    def prepare(self, row: Row, prepared: Prepared) -> Row:
        """Note what was found before the create, if there is anything to note; return the row with it."""
        found: dict[str, Any] = {
            "cut_for": prepared.cut_for and str(prepared.cut_for),
            "free": sorted(prepared.free),
            "unverified": list(prepared.unverified),
        }
        if known := {key: value for key, value in found.items() if value}:
            self._update(row.name, Update().set(**known), _STILL_OURS, values=_ours(row))
        return replace(row, cut_for=prepared.cut_for, free=prepared.free, unverified=prepared.unverified)

    def settle(self, row: Row) -> None:
        """Note that the create call of this try surely created nothing."""
        self._update(row.name, Update().remove("creating"), _STILL_OURS, values=_ours(row))

    def refuse_later(self, row: Row, record: RunRecord) -> None:
        """Note a refusal that is final only when no earlier create call can arrive any more."""
        self._update(row.name, Update().set(refused=record.to_dict()), _STILL_OURS, values=_ours(row))

    def limit(self, row: Row, limit: RunEnd) -> None:
        """Note why an open row's job has to stop; the first reason stands."""
        self._update(row.name, Update().keep(limit=limit), "#open = :open", values={"open": _OPEN})

    def note(self, row: Row, record: RunRecord) -> None:
        """Note what is known of a job that has not ended, and put the row at the end of the sweep's queue."""
        known = _record_values(record) | {"updated": self._clock.time()}
        self._update(row.name, Update().set(**known), "#open = :open", values={"open": _OPEN})

    def close(self, row: Row, record: RunRecord) -> bool:
        """Close a row with the record of its end, if it still waits on the token that was answered.

        Returns
        -------
        bool
            Whether this call closed it: of all who saw the end exactly one counts it.
        """
        closer = uuid.uuid4().hex
        values = _record_values(record) | {"updated": self._clock.time(), "closer": closer}
        update = Update().set(**values).remove("open", "token", "creating", "refused")
        if self._update(row.name, update, _STILL_OURS, values=_ours(row)) is not None:
            return True
        # The SDK may have repeated a write whose answer was lost.
        return (self._get(row.name) or {}).get("closer") == closer

    def open_rows(self) -> list[Row]:
        """Return every row that waits, the one that was looked at longest ago first (the index may lag)."""
        return self._query("open", _OPEN)

    def rows_of(self, execution: str) -> list[Row]:
        """Return the rows of an execution that wait (the index may lag)."""
        return [row for row in self._query("execution", execution) if row.open]

    def all_open_rows(self) -> list[Row]:
        """Return every row that waits, read consistently from the whole table."""
        scan = {
            "FilterExpression": "#open = :open",
            "ExpressionAttributeNames": {"#open": "open"},
            "ExpressionAttributeValues": {":open": to_value(_OPEN)},
            "ConsistentRead": True,
        }
        return self._rows(self._client.scan, scan)

    def mark_draining(self) -> None:
        """Say that the stack is being deleted: from now on no launch may create a job."""
        item = to_item({"name": _MARK, "updated": self._clock.time()})
        self._client.put_item(TableName=self._name, Item=item)

    def clear_draining(self) -> None:
        """Allow launches again."""
        self._client.delete_item(TableName=self._name, Key=to_item({"name": _MARK}))

    def draining(self) -> bool:
        """Tell, consistently, whether the stack is being deleted."""
        return bool(self._get(_MARK))

    def _get(self, name: str) -> dict[str, Any]:
        key = to_item({"name": name})
        return from_item(self._client.get_item(TableName=self._name, Key=key, ConsistentRead=True).get("Item", {}))

    def _update(
        self, name: str, update: Update, condition: str, *, values: Mapping[str, Any], **more: Any
    ) -> dict[str, Any] | None:
        """Return the attributes asked for, or ``None`` if the condition does not hold."""
        arguments = update.arguments(condition, **values)
        try:
            answer = self._client.update_item(TableName=self._name, Key=to_item({"name": name}), **arguments, **more)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                return None
            raise
        return from_item(answer.get("Attributes", {}))

    def _query(self, index: str, value: str) -> list[Row]:
        """Query an index by its partition key, which has the index's name."""
        query = {
            "IndexName": index,
            "KeyConditionExpression": "#key = :key",
            "ExpressionAttributeNames": {"#key": index},
            "ExpressionAttributeValues": {":key": to_value(value)},
        }
        return self._rows(self._client.query, query)

    def _rows(self, call: Callable[..., dict[str, Any]], arguments: Mapping[str, Any]) -> list[Row]:
        """Return the rows of every page."""
        rows: list[Row] = []
        start: dict[str, Any] = {}
        while True:
            page = call(TableName=self._name, **arguments, **start)
            rows += [Row.of(from_item(item)) for item in page["Items"]]
            if not (last := page.get("LastEvaluatedKey")):
                return rows
            start = {"ExclusiveStartKey": last}


def _ours(row: Row) -> dict[str, Any]:
    return {"open": _OPEN, "token": row.token}


def _preferences(launch: Launch) -> list[dict[str, Any]]:
    return [
        {"InstanceType": entry.instance_type, "InstanceCount": entry.instance_count}
        | ({"TrainingPlanArns": [entry.plan]} if entry.plan else {})
        for entry in launch.kind.entries(launch.wish.request)
    ]


def _identity_values(launch: Launch) -> dict[str, Any]:
    values = {name: getattr(launch.identity, name) for name in _IDENTITY}
    return values | {"entry": dict(launch.identity.entry)}


def _record_values(record: RunRecord) -> dict[str, Any]:
    return {key: value for key, value in record.to_dict().items() if key in _RECORD_FIELDS}
