"""Jobs of every kind, in the words of the protocol: created, exists already, refused, or unclear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.model import RunRecord
from constructs_lib.model.described import Described
from constructs_lib.model.job_kinds import JobKind, job_kind
from constructs_lib.runtime.adapters.outcomes import Outcome, is_absent, outcome_of
from constructs_lib.runtime.errors import CallRefusedError, CallThrottledError, JobExistsError, LaunchUnclear

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from constructs_lib.runtime.ports import SageMakerClient

__all__ = ["Job", "Jobs"]


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its Describe call shows it."""

    described: Described

    @property
    def status(self) -> str:
        """The job's own status."""
        return self.described.status

    @property
    def terminal(self) -> bool:
        """Whether the job will never run again."""
        return self.described.terminal

    @property
    def runs(self) -> bool:
        """Whether it goes on and nobody has told it to stop."""
        return self.status == "InProgress"

    def record(self, **more: Any) -> RunRecord:
        """Return what there is to say of the job, see `RunRecord.of_job`."""
        return RunRecord.of_job(self.described.kind_name, self.described.answer, **more)


class Jobs:
    """The jobs of the account.

    Parameters
    ----------
    create : SageMakerClient
        Makes each call once.
    client : SageMakerClient
        Makes the calls that may be repeated.
    require_model : callable
        Raises if the client's model is too old to send what we send.
    """

    def __init__(self, create: SageMakerClient, client: SageMakerClient, require_model: Callable[[Any], None]) -> None:
        self._create = create
        self._client = client
        self._require_model = require_model

    def check_model(self) -> None:
        """Refuse, before anything is written or created, to work with a model that is too old."""
        self._require_model(self._create)

    def create(self, kind: JobKind, request: Mapping[str, Any]) -> None:
        """Create a job of a kind.

        Raises
        ------
        JobExistsError
            If the name is taken.
        CallRefusedError, CallThrottledError
            If surely nothing was created.
        LaunchUnclear
            If that is open: no answer, an answer of 5xx, or a code that proves nothing.
        """
        try:
            _call(self._create, "Create", kind)(**request)
        except (BotoCoreError, ClientError) as error:
            raise _meaning(f"Create{kind.noun}", outcome_of(error)) from error

    def find(self, kind: str, name: str) -> Job | None:
        """Return the job of that name, or ``None`` while there is none to be seen."""
        try:
            known = job_kind(kind)
            return Job(Described(kind, _call(self._client, "Describe", known)(**{known.name_key: name})))
        except ClientError as error:
            if is_absent(error):
                return None
            raise

    def stop(self, kind: str, name: str) -> None:
        """Stop a job; one that ended meanwhile, stops already or cannot be seen is no error: the sweep looks again."""
        try:
            known = job_kind(kind)
            _call(self._client, "Stop", known)(**{known.name_key: name})
        except ClientError as error:
            job = None if is_absent(error) else self.find(kind, name)
            if job is not None and job.runs:
                raise

    def started(self, job: Job) -> float | None:
        """Return when a job began to be billed, in epoch seconds; ``None`` while it waits for capacity.

        A tuning job has begun with the first of its training jobs, which only a list of them says.
        """
        if job.described.kind_name != "tuning":
            moment = job.described.started
        else:
            found = self._client.list_training_jobs_for_hyper_parameter_tuning_job(
                HyperParameterTuningJobName=job.described.name, SortBy="CreationTime", SortOrder="Ascending"
            )
            starts = [one.get("TrainingStartTime") for one in found["TrainingJobSummaries"]]
            moment = min((start for start in starts if start), default=None)
        return moment.timestamp() if moment else None

    def tags(self, job: Job) -> dict[str, str]:
        """Return a job's tags."""
        tags: dict[str, str] = {}
        start: dict[str, str] = {}
        while True:
            page = self._client.list_tags(ResourceArn=job.described.arn, **start)
            tags |= {tag["Key"]: tag["Value"] for tag in page.get("Tags", ())}
            if not (following := page.get("NextToken")):
                return tags
            start = {"NextToken": following}


def _call(client: SageMakerClient, verb: str, kind: JobKind) -> Callable[..., dict[str, Any]]:
    call: Callable[..., dict[str, Any]] = getattr(client, xform_name(f"{verb}{kind.noun}"))
    return call


def _meaning(operation: str, outcome: Outcome) -> Exception:
    match outcome.kind:
        case "exists":
            return JobExistsError(outcome.cause)
        case "throttled":
            return CallThrottledError(outcome.cause)
        case "refused":
            return CallRefusedError(outcome.cause, outcome.failure)
    return LaunchUnclear(f"{operation}: {outcome.cause}: the same launch is repeated")
