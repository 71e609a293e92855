"""Telling which entry of a state a retry belongs to, where only the time of entry tells entries apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.runtime.launch import Launch
    from constructs_lib.runtime.run_table import Row
    from constructs_lib.runtime.services.means import Means

__all__ = ["Entries"]

_ENTERED = "entered"


@dataclass(frozen=True, slots=True)
class Entries:
    """Finds the row of an earlier try of the same entry.

    Whether ``$$.State.EnteredTime`` stays the same over Retry is unknown. If it does, names are equal over retries and
    there is nothing to find. If it does not, a retry's name is new and the earlier try's row is found by what stays.
    """

    means: Means

    def known(self, launch: Launch) -> Launch | None:
        """Return the launch under the entry of its first try, or ``None`` if several could be its first."""
        if _ENTERED not in launch.identity.entry or not launch.try_number or self.means.table.get(launch.name):
            return launch
        rows: list[Row] = []
        for _ in self.means.patience.looks():
            if rows := self._earlier(launch):
                break
        if len(rows) > 1:
            return None
        return launch.as_entry(rows[0].identity.entry) if rows else launch

    def _earlier(self, launch: Launch) -> list[Row]:
        wanted = _lasting(launch)
        rows = self.means.table.rows_of(launch.identity.execution)
        return [row for row in rows if row.try_number < launch.try_number and _lasting(row) == wanted]


def _lasting(of: Launch | Row) -> tuple[str, str, int, Mapping[str, Any]]:
    identity = of.identity
    rest = {key: value for key, value in identity.entry.items() if key != _ENTERED}
    return identity.machine, identity.state, identity.step, rest
