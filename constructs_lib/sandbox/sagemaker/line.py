"""The queue of those who wait for capacity, kept so that an event looks only at those it may serve."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from .evaluation import Entry
    from .placement import Ticket

    Wish = tuple[tuple[Entry, ...], Set[str] | None]

__all__ = ["Lane", "Line"]


class Lane:
    """Tickets that ask for the same, by their turns: where one finds no capacity, none of the others does."""

    def __init__(self) -> None:
        self._tickets: dict[int, Ticket] = {}
        self._turns: list[int] = []

    def add(self, ticket: Ticket) -> None:
        """Queue a ticket at its turn."""
        self._tickets[ticket.turn] = ticket
        heapq.heappush(self._turns, ticket.turn)

    def remove(self, ticket: Ticket) -> None:
        """Forget a ticket."""
        del self._tickets[ticket.turn]

    def first(self) -> Ticket | None:
        """Return the ticket whose turn comes first."""
        while self._turns and self._turns[0] not in self._tickets:
            heapq.heappop(self._turns)
        return self._tickets[self._turns[0]] if self._turns else None

    def tickets(self) -> Iterable[Ticket]:
        """Return all tickets, in no order."""
        return self._tickets.values()


class Line:
    """All waiting tickets."""

    def __init__(self) -> None:
        self._lanes: dict[Wish, Lane] = {}
        self._of_source: dict[str, dict[Wish, Lane]] = {}
        self._wishes: dict[Ticket, Wish] = {}

    def __contains__(self, ticket: Ticket) -> bool:
        return ticket in self._wishes

    def add(self, ticket: Ticket) -> None:
        """Queue a ticket; what it asks for stays the same while it waits."""
        wish = (ticket.entries, ticket.zones)
        lane = self._lanes.setdefault(wish, Lane())
        for source in ticket.sources():
            self._of_source.setdefault(source, {})[wish] = lane
        lane.add(ticket)
        self._wishes[ticket] = wish

    def remove(self, ticket: Ticket) -> None:
        """Forget a ticket."""
        wish = self._wishes.pop(ticket)
        self._lanes[wish].remove(ticket)
        if self._lanes[wish].first() is None:
            del self._lanes[wish]
            for source in ticket.sources():
                del self._of_source[source][wish]

    def lanes(self, sources: Iterable[str]) -> list[Lane]:
        """Return the lanes whose tickets may be served by any of some sources."""
        found: dict[Wish, Lane] = {}
        for source in sources:
            found |= self._of_source.get(source, {})
        return list(found.values())

    def tickets(self, source: str) -> list[Ticket]:
        """Return the tickets that a source may serve, by their turns."""
        waiting = [ticket for lane in self.lanes((source,)) for ticket in lane.tickets()]
        return sorted(waiting, key=lambda ticket: ticket.turn)
