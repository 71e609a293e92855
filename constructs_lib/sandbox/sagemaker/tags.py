"""Tags of everything that has an ARN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError

from .paging import page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .agenda import Agenda

__all__ = ["Tags"]

_MOST = 50
_PAGE = 50  # the least MaxResults that ListTags takes


class Tags:
    """The tags by ARN; a resource's creator calls `create` even when there are none, and `drop` when it goes."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self._tags: dict[str, dict[str, str]] = {}
        self._seen_from: dict[str, float] = {}

    def create(self, arn: str, tags: Sequence[dict[str, str]], seen_from: float = 0) -> None:
        """Keep the tags of a new resource, which ListTags shows from some moment on."""
        self._tags[arn] = {tag["Key"]: tag["Value"] for tag in tags}
        self._seen_from[arn] = seen_from

    def drop(self, arn: str) -> None:
        """Forget a resource that was deleted."""
        self._tags.pop(arn, None)
        self._seen_from.pop(arn, None)

    def of(self, arn: str) -> dict[str, str]:
        """Return a resource's tags."""
        if arn not in self._tags:
            raise ServiceError("ValidationException", f"Could not find resource {arn}.")
        return self._tags[arn]

    def operations(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        """Return the API operations by name."""
        return {"AddTags": self._add, "ListTags": self._list, "DeleteTags": self._delete}

    def _add(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._agenda.moment():
            tags = self.of(request["ResourceArn"])
            merged = tags | {tag["Key"]: tag["Value"] for tag in request["Tags"]}
            if len(merged) > _MOST:
                raise ServiceError("ValidationException", f"The resource would have more than {_MOST} tags.")
            tags.update(merged)
            return {"Tags": _rows(tags)}

    def _list(self, request: dict[str, Any]) -> dict[str, Any]:
        arn = request["ResourceArn"]
        with self._agenda.moment() as now:
            tags = self.of(arn)
            rows = _rows(tags) if now >= self._seen_from[arn] else []
        return page(rows, {"MaxResults": _PAGE} | request, "Tags", ("Key",))

    def _delete(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._agenda.moment():
            tags = self.of(request["ResourceArn"])
            for key in request["TagKeys"]:
                tags.pop(key, None)
            return {}


def _rows(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": tags[key]} for key in sorted(tags)]
