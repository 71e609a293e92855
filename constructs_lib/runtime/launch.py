"""The payload that a state of our machines hands to the launcher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError, RunEnd
from constructs_lib.runtime.identity import Identity, plain_entry

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["STOP_TRIES", "Launch"]

# A stop is a later try than every try of the launch it ends, whatever their retry counts: a late launcher must lose.
STOP_TRIES = 1000
_NEEDED = ("job", "token", "execution", "state", "try")
_KINDS = ("training",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One try to launch, or to stop, the job of one entry of a state.

    Parameters
    ----------
    identity : Identity
        Whose job it is; gives the name.
    token : str
        Step Functions' task token, which the job's end will answer.
    try_number : int
        Later tries of the same entry have higher numbers; stops come after all launches.
    kind : str
        The kind of job, ``training``.
    request : Mapping
        The create request without the name; empty for a stop.
    reasons : tuple of str or None
        Why each preference stands where it does.
    limit : RunEnd or None
        What a stop is for.
    """

    identity: Identity
    token: str
    try_number: int
    kind: str = "training"
    request: Mapping[str, Any]
    reasons: tuple[str | None, ...] = ()
    limit: RunEnd | None = None

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Launch:
        """Read the payload of a ``launch`` or ``stop`` action.

        Raises
        ------
        InvalidInputError
            If something that the protocol rests on is missing.
        """
        entry = plain_entry(payload.get("entry", {}))
        # A redrive of an execution whose launch was stopped enters the state to stop again, and means to launch anew.
        redriven = "since" in payload and entry.get("redrive", 0) != payload["since"]
        stop = payload["action"] == "stop" and not redriven
        missing = [key for key in (*_NEEDED, "reason" if stop else "request") if key not in payload]
        if missing:
            raise InvalidInputError(
                f"the launcher's payload lacks {', '.join(missing)}: "
                "render the state with PreferenceTrainingJob, which passes them"
            )
        if (kind := payload.get("kind", "training")) not in _KINDS:
            raise InvalidInputError(f"a job of kind {kind!r} cannot be launched: use one of {', '.join(_KINDS)}")
        identity = Identity(
            machine=payload["job"],
            execution=payload["execution"],
            state=payload["state"],
            entry=entry,
            step=int(payload.get("step", 1)),
        )
        return cls(
            identity=identity,
            token=payload["token"],
            try_number=int(payload["try"]) + (STOP_TRIES if stop else 0),
            kind=kind,
            request=payload.get("request", {}),
            reasons=tuple(payload.get("reasons", ())),
            limit=_limit(payload["reason"]) if stop else None,
        )

    @property
    def name(self) -> str:
        """The job's name."""
        return self.identity.name

    def full_request(self) -> dict[str, Any]:
        """Return the create request with the job's name and our tags."""
        ours = self.identity.tags()
        theirs = [tag for tag in self.request.get("Tags", ()) if tag.get("Key") not in ours]
        tags = theirs + [{"Key": key, "Value": value} for key, value in ours.items()]
        return {**self.request, "TrainingJobName": self.name, "Tags": tags}


def _limit(reason: str) -> RunEnd:
    try:
        return RunEnd(reason)
    except ValueError:
        raise InvalidInputError(
            f"a stop for the reason {reason!r} is not known: use one of {', '.join(RunEnd)}"
        ) from None
