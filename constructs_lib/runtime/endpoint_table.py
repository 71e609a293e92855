"""The table that remembers the endpoints of a stack: one item an endpoint, every write on what was read before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from constructs_lib.model.endpoints_item import EndpointItem
from constructs_lib.runtime.errors import RecordBusyError
from constructs_lib.runtime.items import Update, from_item, to_item

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.runtime.endpoint_ports import EndpointTableClient

__all__ = ["EndpointTable"]

_NEW = "attribute_not_exists(#version)"
_SAME = "#version = :version"
_TRIES = 20
_LOST = "ConditionalCheckFailedException"


class EndpointTable:
    """The endpoints of one stack.

    Parameters
    ----------
    client : EndpointTableClient
    name : str
        The table's name.
    """

    def __init__(self, client: EndpointTableClient, name: str) -> None:
        self._client = client
        self._name = name

    def read(self, name: str) -> EndpointItem | None:
        """Read one item, consistently; ``None`` if there is none."""
        answer = self._client.get_item(TableName=self._name, Key=to_item({"name": name}), ConsistentRead=True)
        item = answer.get("Item")
        return EndpointItem.from_dict(from_item(item)) if item else None

    def all(self) -> list[EndpointItem]:
        """Return every item, read consistently."""
        found: list[EndpointItem] = []
        start: dict[str, Any] = {}
        while True:
            page = self._client.scan(TableName=self._name, ConsistentRead=True, **start)
            found += [EndpointItem.from_dict(from_item(item)) for item in page["Items"]]
            if not (last := page.get("LastEvaluatedKey")):
                return found
            start = {"ExclusiveStartKey": last}

    def store(self, old: EndpointItem, new: EndpointItem) -> EndpointItem | None:
        """Write an item, if nobody wrote it since it was read.

        Parameters
        ----------
        old, new : EndpointItem
            As it was read, and as it is to be.

        Returns
        -------
        EndpointItem or None
            As it is now; ``None`` if somebody was faster.
        """
        before, stored = old.to_dict(), replace(new, version=old.version + 1)
        changed = {
            name: value
            for name, value in stored.to_dict().items()
            if name != "name" and (value != before[name] or not old.version)
        }
        values = {"version": old.version} if old.version else {}
        arguments = Update().set(**changed).arguments(_SAME if old.version else _NEW, **values)
        try:
            self._client.update_item(TableName=self._name, Key=to_item({"name": old.name}), **arguments)
        except ClientError as error:
            if error.response["Error"]["Code"] == _LOST:
                return None
            raise
        return stored

    def change(self, name: str, change: Callable[[EndpointItem], EndpointItem]) -> EndpointItem:
        """Change an item, whoever else writes it; a change that changes nothing writes nothing.

        Parameters
        ----------
        name : str
        change : callable
            Returns the item as it is to be, or the one that it was given. It may be asked again, with a newer item, and
            must be true when it was done already: the SDK may repeat a write whose answer was lost.

        Raises
        ------
        RecordBusyError
            If others write it all the time.
        """
        for _ in range(_TRIES):
            old = self.read(name) or EndpointItem(name)
            new = change(old)
            if new == old:
                return old
            if stored := self.store(old, new):
                return stored
        raise RecordBusyError(f"the item of endpoint {name!r} is written by others all the time; try again")

    def remove(self, item: EndpointItem) -> bool:
        """Remove an item, unless somebody wrote it since it was read."""
        arguments = Update().arguments(_SAME, version=item.version)
        condition = {key: value for key, value in arguments.items() if key != "UpdateExpression"}
        try:
            self._client.delete_item(TableName=self._name, Key=to_item({"name": item.name}), **condition)
        except ClientError as error:
            if error.response["Error"]["Code"] == _LOST:
                return False
            raise
        return True
