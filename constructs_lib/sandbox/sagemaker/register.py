"""What the APIs of all kinds of jobs have in common: unique names, look-ups, stopping and lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from constructs_lib.facts import job_states
from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.switches import reading

from .paging import page, sort_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constructs_lib.sandbox.context import Context

__all__ = ["Job", "Register", "has_ended"]

Request = dict[str, Any]
_WINDOWS = {"CreationTime": "CreationTime", "LastModifiedTime": "LastModifiedTime"}


class Job(Protocol):
    """A job of any kind."""

    name: str
    status: str


J = TypeVar("J", bound=Job)


def has_ended(kind: str, job: Job) -> bool:
    """Say whether a job of a kind, such as ``training``, is in a status that it does not leave."""
    return job_states(kind)[job.status]


class Register(Generic[J]):
    """The jobs of one kind by name.

    Parameters
    ----------
    context
        Account, region and switches.
    kind
        The kind as the members of requests name it, such as ``TrainingJob``.
    facts_kind
        The kind as the facts name it, such as ``training``.
    not_found
        The error of a name that no job has.
    """

    def __init__(self, context: Context, kind: str, facts_kind: str, not_found: Callable[[str], ServiceError]) -> None:
        self._context, self._kind, self._facts_kind, self._not_found = context, kind, facts_kind, not_found
        self._words = re.sub("(?<!^)(?=[A-Z])", " ", kind).lower()
        self._jobs: dict[str, J] = {}

    def __iter__(self) -> Iterator[J]:
        return iter(self._jobs.values())

    def arn(self, name: str) -> str:
        """Return the ARN that follows from a name."""
        part = self._words.replace(" ", "-")
        return f"arn:aws:sagemaker:{self._context.region}:{self._context.account}:{part}/{name}"

    def check_name(self, name: str) -> None:
        """Refuse a name that is taken."""
        if name in self._jobs:
            raise ServiceError(
                "ResourceInUse",
                f"Job name must be unique within an AWS account and region, and a {self._words} with this name already"
                f" exists ({self.arn(name)})",
            )

    def add(self, job: J) -> None:
        """Keep a new job."""
        self._jobs[job.name] = job

    def find(self, request: Request) -> J:
        """Return the job that a request names."""
        name = request[f"{self._kind}Name"]
        if name not in self._jobs:
            raise self._not_found(name)
        return self._jobs[name]

    def to_stop(self, request: Request) -> J | None:
        """Return the job that a request stops; None if it is stopping already and that is accepted.

        Raises
        ------
        ServiceError
            If the job can not be stopped any more.
        """
        job = self.find(request)
        stopping = job.status == "Stopping"
        if stopping and reading(self._context.faults, "sagemaker.stop-while-stopping") == "accepted":
            return None
        if stopping or has_ended(self._facts_kind, job):
            raise ServiceError(
                "ValidationException",
                f"The request was rejected because the {self._words} is in status {job.status}.",
            )
        return job

    def list(
        self, request: Request, member: str, summary: Callable[[J], Request], wanted: Callable[[J], bool] | None = None
    ) -> Request:
        """Return one page of summaries; `wanted` filters beyond name and status."""
        rows = [
            {name: value for name, value in summary(job).items() if value is not None}
            for job in self._jobs.values()
            if request.get("NameContains", "") in job.name
            and request.get("StatusEquals", job.status) == job.status
            and (wanted is None or wanted(job))
        ]
        sort_keys = {"Name": f"{self._kind}Name", "Status": f"{self._kind}Status"}
        keys = (sort_keys.get(request.get("SortBy", ""), "CreationTime"), f"{self._kind}Name")
        return page(sort_rows(rows, request, _WINDOWS, *keys), request, member, keys)
