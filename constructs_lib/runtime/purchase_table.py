"""The table that remembers purchases: one item an identity, owned by no stack and removed by no destroy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from constructs_lib.runtime.errors import RecordBusyError
from constructs_lib.runtime.items import Update, from_item, to_item
from constructs_lib.runtime.purchase_record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.runtime.ports import Clock, PurchaseTableClient

__all__ = ["PurchaseTable"]

_UNCHANGED = "attribute_not_exists(#version)"
_SAME = "#version = :version"
_TRIES = 20
_PAUSE = 3.0
_WAITS = 40
_NOT_READY = ("ContinuousBackupsUnavailableException", "ResourceInUseException")
_GONE = ("ResourceNotFoundException", "TableNotFoundException")


class PurchaseTable:
    """The records of all identities of an account and region.

    Parameters
    ----------
    client : PurchaseTableClient
    name : str
        The table's name.
    clock : Clock
    """

    def __init__(self, client: PurchaseTableClient, name: str, clock: Clock) -> None:
        self._client = client
        self._name = name
        self._clock = clock

    def ensure(self) -> None:
        """Make the table if there is none; in any case let it be restored to any moment.

        Raises
        ------
        RecordBusyError
            If it does not become ready.
        """
        for _ in range(_WAITS):
            if self._protected():
                return
            self._clock.sleep(_PAUSE)
        raise RecordBusyError(f"table {self._name} did not become ready; nothing was bought, deploy again")

    def read(self, identity: str) -> Record:
        """Read one record, consistently; one that nobody wrote is empty."""
        try:
            answer = self._client.get_item(
                TableName=self._name, Key=to_item({"identity": identity}), ConsistentRead=True
            )
        except ClientError as error:
            if _code(error) in _GONE:
                return Record(identity)
            raise
        item = answer.get("Item")
        return Record.of(from_item(item)) if item else Record(identity)

    def change(self, identity: str, change: Callable[[Record], Record]) -> Record:
        """Change a record in one conditional write; a change that changes nothing writes nothing.

        Parameters
        ----------
        identity : str
        change : callable
            Returns the record as it is to be, or the one it was given. It may be asked again, with a newer record, and
            must be true when it was done already: the SDK may repeat a write whose answer was lost.

        Returns
        -------
        Record
            As it is now.

        Raises
        ------
        RecordBusyError
            If others write it all the time.
        """
        for _ in range(_TRIES):
            old = self.read(identity)
            new = change(old)
            if new is old or self._write(old, new):
                return new
        raise RecordBusyError(f"the record of {identity!r} is written by others all the time; deploy again")

    def all(self) -> list[Record]:
        """Return every record, read consistently; none if there is no table yet."""
        rows: list[Record] = []
        start: dict[str, Any] = {}
        try:
            while True:
                page = self._client.scan(TableName=self._name, ConsistentRead=True, **start)
                rows += [Record.of(from_item(item)) for item in page["Items"]]
                if not (last := page.get("LastEvaluatedKey")):
                    return rows
                start = {"ExclusiveStartKey": last}
        except ClientError as error:
            if _code(error) in _GONE:
                return []
            raise

    def _write(self, old: Record, new: Record) -> bool:
        """Write what changed, if nobody wrote the record since it was read."""
        before, after = old.parts(), new.parts()
        changed = {name: part for name, part in after.items() if part != before[name] or not old.version}
        update = Update().set(version=old.version + 1, **changed)
        values = {"version": old.version} if old.version else {}
        arguments = update.arguments(_SAME if old.version else _UNCHANGED, **values)
        try:
            self._client.update_item(TableName=self._name, Key=to_item({"identity": old.identity}), **arguments)
        except ClientError as error:
            if _code(error) == "ConditionalCheckFailedException":
                return False
            raise
        return True

    def _protected(self) -> bool:
        try:
            self._client.update_continuous_backups(
                TableName=self._name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            )
        except ClientError as error:
            if _code(error) in _GONE:
                self._make()
            elif _code(error) not in _NOT_READY:
                raise
            return False
        return True

    def _make(self) -> None:
        try:
            self._client.create_table(
                TableName=self._name,
                KeySchema=[{"AttributeName": "identity", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "identity", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
                DeletionProtectionEnabled=True,
            )
        except ClientError as error:
            if _code(error) != "ResourceInUseException":  # another run makes it
                raise


def _code(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])
