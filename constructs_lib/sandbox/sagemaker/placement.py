"""Who waits for which capacity, and who gets it when it comes free: driven by events, first come first served."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .evaluation import Entry, evaluate
from .line import Line
from .plans import LEADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence, Set

    from .agenda import Agenda, Task
    from .capacity import Capacity
    from .evaluation import Look
    from .plans import Plan, Plans, Segment
    from .seeds import Level
    from .supply import Supply, Taken

    Evaluate = Callable[[Sequence[Entry], Callable[[Entry], float]], tuple[Entry | None, list[Look]]]

__all__ = ["Holding", "Placement", "Ticket"]


@dataclass(frozen=True, eq=False)
class Holding:
    """Instances that a ticket got: from a plan's segment, which then had the end `until`, or On-Demand."""

    ticket: Ticket
    entry: Entry
    segment: Segment | None
    taken: Taken | None
    until: float | None = None


@dataclass(eq=False)
class Ticket:
    """A wish for instances.

    Parameters
    ----------
    owner
        The job's name.
    usage
        What the instances are for, in the words of quota names, such as ``training job usage``.
    entries
        The acceptable ways to run, in order.
    zones
        Where instances may lie; None: anywhere.
    patience
        Seconds that the ticket may wait in all, without end if infinite; None: it is evaluated once.
    placed, gave_up, evicted
        Called with what the ticket got; when it gave up (True if its plans are over); with what it lost because the
        segment of its plan ends or its spot instances are interrupted. Each also receives the moment.
    """

    owner: str
    usage: str
    entries: tuple[Entry, ...]
    zones: Set[str] | None
    patience: float | None
    placed: Callable[[Holding, float], None]
    gave_up: Callable[[bool, float], None]
    evicted: Callable[[Holding, float], None]
    turn: int = 0  # its place in the queue from 1 on, which it keeps when it comes back
    waited: float = 0
    counting_since: float | None = None
    deadline: Task | None = None

    def sources(self) -> set[str]:
        """Return where the ticket's instances may come from: plans and pools of free instances."""
        return {entry.source for entry in self.entries}


@dataclass
class Placement:
    """The queue for capacity.

    Tickets are evaluated when they come, and again whenever a source of theirs may have become richer: a new level, a
    job that returned its instances, a plan's segment that begins. A ticket that does not fit is passed over, so a
    smaller one behind it may run first; one that asks for the same as a ticket that does not fit is not looked at.
    Nothing polls.

    Source: SageMaker guide, train-instance-preferences and training-plan-utilization-for-training-jobs.
    """

    agenda: Agenda
    supply: Supply
    plans: Plans
    choose: Evaluate = evaluate
    evaluations: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    _turns: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _line: Line = field(default_factory=Line)
    _held: dict[Holding, None] = field(default_factory=dict)
    _in_use: Counter[tuple[str, str]] = field(default_factory=Counter)

    def follow(self, capacity: Capacity, start: float) -> None:
        """Put a capacity file's levels and the plans' segments on the agenda; call it once, within a moment."""
        for pool, zones in capacity.pools().items():
            for zone, levels in zones.items():
                for level in sorted(levels, key=lambda row: row.at.after(start)):
                    at = level.at.after(start)
                    if at <= start:
                        self.supply.set_level(pool, level.free, zone)
                    else:
                        self.agenda.at(at, self._new_level(pool, level, zone))
        for plan in self.plans:
            self.follow_plan(plan)

    def follow_plan(self, plan: Plan) -> None:
        """Put a plan's segments on the agenda; call it again when one of them ends later than it did."""
        for segment in plan.segments:
            self._follow_segment(plan, segment)

    def set_free(self, pool: str, free: float, zone: str | None, now: float, *, interrupts: bool = False) -> None:
        """Begin a new level, interrupt who runs on the pool's instances in that zone if told so, and offer it."""
        self.supply.set_level(pool, free, zone)
        if interrupts:
            self._interrupt(pool, zone, now)
        if free:
            self._offer({pool}, now)

    def submit(self, ticket: Ticket, now: float) -> None:
        """Evaluate a ticket; keep it if it may wait. One that lost its instances comes back to its old place."""
        if not ticket.turn:
            ticket.turn = next(self._turns)
        if self._place(ticket, now):
            return
        over = self._is_hopeless(ticket, now)
        if over or ticket.patience is None:
            ticket.gave_up(over, now)
            return
        self._line.add(ticket)
        self._count(ticket, now)

    def withdraw(self, ticket: Ticket, now: float) -> None:
        """Forget a ticket that waits."""
        if ticket in self._line:
            self._stop_counting(ticket, now)
            self._line.remove(ticket)

    def release(self, holding: Holding, now: float) -> None:
        """Take instances back and offer them."""
        self._take_back(holding)
        self._offer({holding.entry.source}, now)

    def split(self, holding: Holding) -> list[Holding]:
        """Return a holding as one for each of its instances, so that they can be released apart."""
        del self._held[holding]
        single = replace(holding, entry=replace(holding.entry, count=1))
        if holding.taken:
            single = replace(single, taken=replace(holding.taken, count=1))
        parts = [replace(single) for _ in range(holding.entry.count)]
        self._held |= dict.fromkeys(parts)
        return parts

    def in_use(self, instance_type: str, usage: str) -> int:
        """Return how many instances of a type are held for one usage, from plans and On-Demand."""
        return self._in_use[instance_type, usage]

    def _follow_segment(self, plan: Plan, segment: Segment) -> None:
        self.agenda.at(segment.opens, lambda t: self._turn(plan, t))
        for lead in LEADS:  # which of them counts may be an open question, so it is asked at each
            self.agenda.at(segment.end - lead, lambda t: self._cut(plan, segment, t))
        self.agenda.at(segment.end, lambda t: self._turn(plan, t))

    def _turn(self, plan: Plan, now: float) -> None:
        """Offer a plan whose segment begins or ends; from here on, waiting for it counts, or no longer does."""
        self._offer({plan.arn}, now)
        for ticket in self._line.tickets(plan.arn):
            self._count(ticket, now)

    def _new_level(self, pool: str, level: Level, zone: str | None) -> Callable[[float], None]:
        return lambda t: self.set_free(pool, level.free, zone, t, interrupts=level.interrupts)

    def _offer(self, sources: set[str], now: float) -> None:
        """Serve those who wait for a source in the order of their turns."""
        lanes = self._line.lanes(sources)
        while firsts := [(ticket.turn, ticket, lane) for lane in lanes if (ticket := lane.first())]:
            _, ticket, lane = min(firsts, key=lambda row: row[0])
            if not self._place(ticket, now):
                lanes.remove(lane)

    def _place(self, ticket: Ticket, now: float) -> bool:
        winner, looks = self.choose(ticket.entries, lambda entry: self._free(entry, ticket.zones, now))
        self.evaluations[ticket.owner] += [look.record(now) for look in looks]
        if winner is None:
            return False
        self.withdraw(ticket, now)
        segment = self.plans.use(winner.plan, winner.count, now) if winner.plan else None
        taken = None if segment else self.supply.take(winner.source, winner.count, ticket.zones)
        holding = Holding(ticket, winner, segment, taken, segment.end if segment else None)
        self._held[holding] = None
        self._in_use[winner.instance_type, ticket.usage] += winner.count
        ticket.placed(holding, now)
        return True

    def _free(self, entry: Entry, zones: Set[str] | None, now: float) -> float:
        if entry.plan:
            return self.plans.free(entry.plan, now, zones)
        return self.supply.free(entry.source, zones)

    def _take_back(self, holding: Holding) -> None:
        del self._held[holding]
        self._in_use[holding.entry.instance_type, holding.ticket.usage] -= holding.entry.count
        if holding.segment:
            holding.segment.in_use -= holding.entry.count
        if holding.taken:
            self.supply.give_back(holding.taken)

    def _cut(self, plan: Plan, segment: Segment, now: float) -> None:
        """End a segment's use: who runs there loses its instances; who waits for a plan that is over gives up."""
        keeps = self.plans.keeps(plan)
        for holding in [h for h in self._held if h.segment is segment]:
            end = segment.end if keeps or holding.until is None else min(holding.until, segment.end)
            if end - segment.lead() <= now and holding in self._held:
                self._take_back(holding)
                holding.ticket.evicted(holding, now)
        for ticket in self._line.tickets(plan.arn):
            if self._is_hopeless(ticket, now):
                self.withdraw(ticket, now)
                ticket.gave_up(True, now)

    def _interrupt(self, pool: str, zone: str | None, now: float) -> None:
        """Take the instances of a pool's zone from whoever has them."""
        lost = [h for h in self._held if h.entry.source == pool and h.taken and h.taken.zone == zone]
        for holding in lost:
            self._take_back(holding)
        for holding in lost:
            holding.ticket.evicted(holding, now)

    def _is_hopeless(self, ticket: Ticket, now: float) -> bool:
        plans = [self.plans.get(entry.plan) if entry.plan else None for entry in ticket.entries]
        return all(plan is not None and plan.over(now) for plan in plans)

    def _count(self, ticket: Ticket, now: float) -> None:
        """Let a waiting ticket's time count, or not, as its sources say now."""
        self._stop_counting(ticket, now)
        if ticket.patience is not None and any(self._counts(entry, now) for entry in ticket.entries):
            ticket.counting_since = now
            if ticket.patience == math.inf:
                return
            ticket.deadline = self.agenda.at(now + ticket.patience - ticket.waited, lambda t: self._expire(ticket, t))

    def _stop_counting(self, ticket: Ticket, now: float) -> None:
        if ticket.deadline is not None and ticket.counting_since is not None:
            ticket.deadline.cancel()
            ticket.waited += now - ticket.counting_since
            ticket.deadline = ticket.counting_since = None

    def _counts(self, entry: Entry, now: float) -> bool:
        """Say whether waiting for this entry counts: time before and between a plan's segments does not."""
        plan = self.plans.get(entry.plan) if entry.plan else None
        return plan is None or plan.status(now) == "Active"

    def _expire(self, ticket: Ticket, now: float) -> None:
        self.withdraw(ticket, now)
        ticket.gave_up(False, now)
