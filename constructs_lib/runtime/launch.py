"""The payload that a state of our machines hands to the launcher."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError, Limits, RunEnd
from constructs_lib.model.job_kinds import JobKind, job_kind
from constructs_lib.model.overrides import overridden, overridden_limits
from constructs_lib.runtime.fleet_entry import FleetEntry
from constructs_lib.runtime.identity import Identity, plain_entry
from constructs_lib.runtime.run_window import RunWindow
from constructs_lib.runtime.terms import Terms, spent_on, started_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["STOP_TRIES", "Launch", "Wish"]

# A stop is a later try than every try of the launch it ends, whatever their retry counts: a late launcher must lose.
STOP_TRIES = 1_000_000
_NEEDED = ("job", "token", "execution", "state", "try")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What one step asks for.

    Parameters
    ----------
    request : Mapping
        The create request without the name, with the overrides of this run.
    reasons : tuple of str or None
        Why each preference stands where it does.
    max_pending : float or None
        Seconds that the job may wait for capacity, where only we can bound them.
    limits : Limits
        Of the whole launch.
    began : float or None
        Epoch seconds at which the run began, as its machine says.
    window : RunWindow or None
        The reserved time that the run was started for.
    problem : str
        What is wrong with the run's input, in words; nothing may be created then.
    """

    request: Mapping[str, Any]
    reasons: tuple[str | None, ...] = ()
    max_pending: float | None = None
    limits: Limits = field(default_factory=Limits)
    began: float | None = None
    window: RunWindow | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One try to launch, or to stop, the job of one step of one entry of a state.

    Parameters
    ----------
    identity : Identity
        Whose job it is; gives the name.
    token : str
        Step Functions' task token, which the job's end will answer.
    try_number : int
        Later tries of the same entry have higher numbers; stops come after all launches.
    wish : Wish
        What to create; without a request for a stop.
    limit : RunEnd or None
        What a stop is for.
    steps : int
        How many steps the strategy has.
    following_seconds : float
        The backstop of the next step, if there is one.
    earlier : tuple of Mapping
        The compact records of the steps before.
    anew : Mapping or None
        What sends the machine back to its first step, if a redrive entered it at a later one.
    fleet : FleetEntry or None
        The item of a fleet that this is.
    """

    identity: Identity
    token: str
    try_number: int
    wish: Wish
    limit: RunEnd | None = None
    steps: int = 1
    following_seconds: float = 0
    earlier: tuple[Mapping[str, Any], ...] = ()
    anew: Mapping[str, Any] | None = None
    fleet: FleetEntry | None = None

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Launch:
        """Read the payload of a ``launch`` or ``stop`` action.

        Raises
        ------
        InvalidInputError
            If something that the protocol rests on is missing.
        """
        fleet = None
        if "fleet" in payload:
            fleet = FleetEntry.of(payload["fleet"])
            payload = fleet.payload(payload)
        entry = plain_entry(payload.get("entry", {}))
        # A redrive enters the state as it failed: to stop, or at a later step. Both mean to launch anew.
        redriven = "since" in payload and entry.get("redrive", 0) != payload["since"]
        stop = payload["action"] == "stop" and not redriven
        _check(payload, "reason" if stop else "request")
        kind = job_kind(payload.get("kind", "training"))
        steps = [payload, *payload.get("then", ())]
        asked = int(payload.get("step", 1))
        step = 1 if redriven else asked
        if not 1 <= step <= len(steps):
            raise InvalidInputError(f"step {step} was asked for: the strategy has {len(steps)}")
        return cls(
            identity=Identity(payload["job"], payload["execution"], payload["state"], entry, step, kind.name),
            token=payload["token"],
            try_number=int(payload["try"]) + (STOP_TRIES if stop else 0),
            wish=Wish(request={}) if stop else _wish(kind, payload, steps[step - 1]),
            limit=_limit(payload["reason"]) if stop else None,
            steps=len(steps),
            following_seconds=steps[step]["seconds"] if step < len(steps) else 0,
            earlier=() if redriven else tuple(payload.get("earlier", ())),
            anew={"next": 1, "seconds": payload["seconds"], "earlier": []} if asked > step else None,
            fleet=fleet,
        )

    @property
    def name(self) -> str:
        """The job's name."""
        return self.identity.name

    @property
    def fleet_name(self) -> str:
        """The name of the fleet, which is that of its machine."""
        return self.identity.machine

    @property
    def kind(self) -> JobKind:
        """The kind of job."""
        return job_kind(self.identity.kind)

    def terms(self, began: float) -> Terms:
        """Return what the row of this launch remembers.

        Parameters
        ----------
        began : float
            Epoch seconds at which the run began.
        """
        limits = self.wish.limits
        bounds = limits.bounds(
            began,
            max_pending=self.wish.max_pending,
            spent=spent_on(self.earlier),
            started=started_in(self.earlier),
        )
        return Terms(
            step=self.identity.step,
            steps=self.steps,
            following_seconds=self.following_seconds,
            earlier=self.earlier,
            on_quota=limits.on_quota,
            bounds=bounds,
            prices=limits.prices,
        )

    def named(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return a create request with the job's name and our tags."""
        ours = self.identity.tags()
        theirs = [tag for tag in request.get("Tags", ()) if tag.get("Key") not in ours]
        tags = theirs + [{"Key": key, "Value": value} for key, value in ours.items()]
        return {**request, self.kind.name_key: self.name, "Tags": tags}


def _check(payload: Mapping[str, Any], also: str) -> None:
    needed = [*_NEEDED, also]
    if "then" in payload:
        needed.append("seconds")
    if missing := [key for key in needed if key not in payload]:
        raise InvalidInputError(
            f"the launcher's payload lacks {', '.join(missing)}: "
            "render the state with PreferenceTrainingJob, which passes them"
        )


def _wish(kind: JobKind, payload: Mapping[str, Any], step: Mapping[str, Any]) -> Wish:
    """Read what a step asks for; what is wrong with the run's input becomes words, for the run has to say them."""
    wish = Wish(
        request=step["request"],
        reasons=tuple(step.get("reasons", ())),
        max_pending=step.get("max_pending"),
        limits=Limits.from_payload(payload.get("limits", {})),
        began=_epoch(payload["began"]) if "began" in payload else None,
    )
    given = payload.get("input")
    if isinstance(given, dict):
        try:
            wish = _as_asked(kind, wish, given, payload.get("overrides", ()))
        except InvalidInputError as error:
            return replace(wish, problem=str(error))
    return wish


def _as_asked(kind: JobKind, wish: Wish, given: Mapping[str, Any], allowed: Sequence[str]) -> Wish:
    if "window" in given:
        wish = replace(wish, window=RunWindow.of(given["window"]))
    if "overrides" not in given:
        return wish
    request = overridden(kind, wish.request, given["overrides"], allowed)
    limits = replace(wish.limits, **overridden_limits(given["overrides"]))
    return replace(wish, request=request, limits=limits)


def _epoch(moment: Any) -> float:
    from constructs_lib.model.window import zoned  # noqa: PLC0415  most launches have no relative limit

    return zoned(moment, "began").timestamp()


def _limit(reason: str) -> RunEnd:
    try:
        return RunEnd(reason)
    except ValueError:
        raise InvalidInputError(
            f"a stop for the reason {reason!r} is not known: use one of {', '.join(RunEnd)}"
        ) from None
