"""Training jobs, in the words of the protocol: created, exists already, refused, or unclear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib import facts
from constructs_lib.model import RunEnd, RunRecord
from constructs_lib.runtime.adapters.outcomes import Outcome, outcome_of
from constructs_lib.runtime.errors import CallRefusedError, CallThrottledError, JobExistsError, LaunchUnclear

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from constructs_lib.runtime.ports import SageMakerClient

__all__ = ["Job", "TrainingJobs"]

_ABSENT = "ResourceNotFound"
# DescribeTrainingJob and StopTrainingJob answer with this for a name that does not exist.
_ABSENT_IN_WORDS = ("ValidationException", "not found")


@dataclass(frozen=True, slots=True)
class Job:
    """A job as DescribeTrainingJob shows it."""

    described: Mapping[str, Any]

    @property
    def arn(self) -> str:
        """The job's ARN."""
        return str(self.described["TrainingJobArn"])

    @property
    def status(self) -> str:
        """The job's own status."""
        return str(self.described.get("TrainingJobStatus", ""))

    @property
    def terminal(self) -> bool:
        """Whether the job will never run again; a status that nobody knows yet is not taken for an end."""
        return facts.job_states("training").get(self.status, False)

    def record(self, *, reasons: Sequence[str | None] = (), stopped_for: RunEnd | None = None) -> RunRecord:
        """Return what there is to say of the job."""
        return RunRecord.of_training_job(self.described, reasons=reasons, stopped_for=stopped_for)


class TrainingJobs:
    """The training jobs of the account.

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

    def create(self, request: Mapping[str, Any]) -> None:
        """Create a job.

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
            self._create.create_training_job(**request)
        except (BotoCoreError, ClientError) as error:
            raise _meaning(outcome_of(error)) from error

    def find(self, name: str) -> Job | None:
        """Return the job of that name, or ``None`` while there is none to be seen."""
        try:
            return Job(self._client.describe_training_job(TrainingJobName=name))
        except ClientError as error:
            if _is_absent(error):
                return None
            raise

    def stop(self, name: str) -> None:
        """Stop a job; one that ended meanwhile, stops already or cannot be seen is no error: the sweep looks again."""
        try:
            self._client.stop_training_job(TrainingJobName=name)
        except ClientError as error:
            job = None if _is_absent(error) else self.find(name)
            if job is not None and job.status == "InProgress":
                raise

    def tags(self, job: Job) -> dict[str, str]:
        """Return a job's tags."""
        tags: dict[str, str] = {}
        start: dict[str, str] = {}
        while True:
            page = self._client.list_tags(ResourceArn=job.arn, **start)
            tags |= {tag["Key"]: tag["Value"] for tag in page.get("Tags", ())}
            if not (following := page.get("NextToken")):
                return tags
            start = {"NextToken": following}


def _is_absent(error: ClientError) -> bool:
    found = error.response["Error"]
    code, words = _ABSENT_IN_WORDS
    return found["Code"] == _ABSENT or (found["Code"] == code and words in found.get("Message", "").lower())


def _meaning(outcome: Outcome) -> Exception:
    match outcome.kind:
        case "exists":
            return JobExistsError(outcome.cause)
        case "throttled":
            return CallThrottledError(outcome.cause)
        case "refused":
            return CallRefusedError(outcome.cause, outcome.failure)
    return LaunchUnclear(f"CreateTrainingJob: {outcome.cause}: the same launch is repeated")
