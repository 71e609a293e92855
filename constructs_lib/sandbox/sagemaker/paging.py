"""List operations: time windows, sorting and pages with a token that survives changes of the list."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.modelcheck import epoch

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["page", "sort_rows"]

Row = dict[str, Any]
_DEFAULT_PAGE = 10  # MaxResults when it is left out


def sort_rows(rows: list[Row], request: Row, windows: Mapping[str, str], *keys: str) -> list[Row]:
    """Return the rows within a request's time windows, in its order.

    Parameters
    ----------
    rows
        What to list.
    request
        May hold ``<window>After``, ``<window>Before`` and ``SortOrder``.
    windows
        The request's windows, such as ``CreationTime``, and the rows' members they are about.
    keys
        The members to sort by.
    """
    for window, member in windows.items():
        if f"{window}After" in request:
            rows = [row for row in rows if row[member] > epoch(request[f"{window}After"])]
        if f"{window}Before" in request:
            rows = [row for row in rows if row[member] < epoch(request[f"{window}Before"])]
    backwards = request.get("SortOrder") == "Descending"
    return sorted(rows, key=lambda row: [row[key] for key in keys], reverse=backwards)


def page(rows: list[Row], request: Row, member: str, keys: tuple[str, ...]) -> Row:
    """Return one page of sorted rows as an answer.

    The token holds the sort keys of the last row given, so a row that appears or goes meanwhile shifts nothing.
    """
    if "NextToken" in request:
        last = _read_token(request["NextToken"], keys)
        backwards = request.get("SortOrder") == "Descending"
        rows = [row for row in rows if (_key(row, keys) < last if backwards else _key(row, keys) > last)]
    size = request.get("MaxResults", _DEFAULT_PAGE)
    answer: Row = {member: rows[:size]}
    if len(rows) > size:
        token = json.dumps([keys, _key(rows[size - 1], keys)]).encode()
        answer["NextToken"] = base64.urlsafe_b64encode(token).decode()
    return answer


def _key(row: Row, keys: tuple[str, ...]) -> list[Any]:
    return [row[key] for key in keys]


def _read_token(token: str, keys: tuple[str, ...]) -> list[Any]:
    try:
        made_for, last = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (binascii.Error, ValueError, TypeError):
        made_for, last = None, []
    if made_for != list(keys):
        raise ServiceError("ValidationException", "Invalid NextToken: it was not made by this list and sort order.")
    return list(last)
