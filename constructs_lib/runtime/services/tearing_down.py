"""Waiting until the keeper has taken an endpoint down: only then may the keeper itself go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constructs_lib.model.endpoints_item import EndpointItem
    from constructs_lib.runtime.services.declaring import Declaring

__all__ = ["TearingDown"]

_PAUSE = 5.0
_LOOKS_PER_CALL = 4


@dataclass(frozen=True, slots=True)
class TearingDown:
    """Takes endpoints down, through the keeper."""

    declaring: Declaring

    def tear_down(self, name: str, owner: str, until: float) -> str | None:
        """Withdraw an endpoint, and wait until it and its configurations are gone.

        Parameters
        ----------
        name, owner : str
            What was not declared by this owner is left alone.
        until : float
            Epoch seconds at which to stop waiting.

        Returns
        -------
        str or None
            What is left, in words.
        """
        if not self.declaring.withdraw(name, owner):
            return None
        means, looks = self.declaring.means, 0
        while (item := means.table.read(name)) is not None and item.desired == "absent":
            if item.state == "Deleted":
                means.table.remove(item)
                continue
            if means.clock.time() >= until:
                return _left(item)
            if looks % _LOOKS_PER_CALL == 0 and (reason := self.declaring.keeper.wake(name)):
                means.write(f"{name}: {reason}")
            looks += 1
            means.clock.sleep(_PAUSE)
        return None


def _left(item: EndpointItem) -> str:
    configs = f" and configurations {', '.join(item.made)}" if item.made else ""
    return (
        f"endpoint {item.name}{configs} may still exist: it is {item.state} ({item.reason}); the keeper goes on, "
        "delete the stack again later"
    )
