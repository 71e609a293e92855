"""What a job's own role must reach, read from the request that will be sent: so an override counts like a keyword."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model import is_unresolved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["ImageRepository", "JobAccess", "Reach", "S3Prefixes"]

_READ_ONLY = ("InputDataConfig", "HyperParameters", "StaticHyperParameters", "Environment", "ProcessingInputs")
_S3_MEMBERS = ("S3Uri", "S3OutputPath")
_IMAGES = ("TrainingImage", "RuleEvaluatorImage", "ImageUri")
_TRAIN = ("AlgorithmSpecification", "TrainingJobDefinition", "TrainingJobDefinitions")
_TOKEN = r"\$\{Token\[[^\]]+\]\}"  # noqa: S105 - a CDK token
_PART = rf"(?:{_TOKEN}|[^./:])+"
_ECR = re.compile(rf"^(?P<account>{_PART})\.dkr\.ecr(?:-fips)?\.(?P<region>{_PART})\.[^/]+/(?P<repository>[^:@]+)")


@dataclass(frozen=True, slots=True, order=True)
class ImageRepository:
    """The ECR repository of a training image; ``*`` where only a deploy will know."""

    account: str
    region: str
    repository: str

    @classmethod
    def of(cls, image: str) -> ImageRepository | None:
        """Return the repository of an image's URI; ``None`` for a registry that is not ECR.

        Examples
        --------
        >>> ImageRepository.of("111122223333.dkr.ecr.us-east-1.amazonaws.com/team/train:1").repository
        'team/train'
        >>> ImageRepository.of("docker.io/library/python:3.13") is None
        True
        """
        if match := _ECR.match(image):
            return cls(**match.groupdict())
        return cls("*", "*", "*") if is_unresolved(image) else None


class S3Prefixes:
    """A set of ``s3://`` prefixes in which one that lies under another is not kept.

    Examples
    --------
    >>> sorted(S3Prefixes(["s3://data/train", "s3://data/train/part-1", "s3://data"]))
    ['s3://data']
    """

    def __init__(self, uris: Iterable[str] = ()) -> None:
        self._uris = {uri.rstrip("/") for uri in uris}

    def add(self, uri: str) -> None:
        """Add a prefix."""
        self._uris.add(uri.rstrip("/"))

    def covers(self, uri: str) -> bool:
        """Tell whether ``uri`` is one of the prefixes or lies under one, as a folder does."""
        parts = uri.rstrip("/").split("/")
        return any("/".join(parts[:length]) in self._uris for length in range(3, len(parts) + 1))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(uri for uri in self._uris if not self.covers(uri.rpartition("/")[0])))


@dataclass(slots=True)
class Reach:
    """What jobs reach.

    Parameters
    ----------
    reads, writes : S3Prefixes
        Inputs are read; outputs, checkpoints and whatever else a request names are read and written.
    keys, volume_keys : set of str
        KMS keys (id, ARN or alias) of data, and of volumes.
    images : set of ImageRepository
    plans : set of str
        ARNs of training plans.
    vpc, trains, processes : bool
        Whether a job runs in a VPC, whether one trains (tuning does too), and whether one processes.
    """

    reads: S3Prefixes = field(default_factory=S3Prefixes)
    writes: S3Prefixes = field(default_factory=S3Prefixes)
    keys: set[str] = field(default_factory=set)
    volume_keys: set[str] = field(default_factory=set)
    images: set[ImageRepository] = field(default_factory=set)
    plans: set[str] = field(default_factory=set)
    vpc: bool = False
    trains: bool = False
    processes: bool = False


class JobAccess:
    """Collects requests, and reads from them what their jobs reach when it is asked.

    Parameters
    ----------
    shared : iterable of str
        ``s3://`` prefixes that are read and written in any case.
    """

    def __init__(self, shared: Iterable[str] = ()) -> None:
        self._unread: list[Mapping[str, Any]] = []
        self._reach = Reach(writes=S3Prefixes(shared))

    def add(self, request: Mapping[str, Any]) -> None:
        """Take in a Create request."""
        self._unread.append(request)

    @property
    def reach(self) -> Reach:
        """What all requests reach.

        An ``s3://`` text in an input, a hyperparameter or the environment is read (script mode passes the code's place
        as a hyperparameter, in JSON quotes); anywhere else it is also written.
        """
        while self._unread:
            self._read(self._unread.pop())
        return self._reach

    def _read(self, request: Mapping[str, Any]) -> None:
        for prefixes, key, text in self._texts(request, self._reach.writes):
            self._take(key, text, prefixes)
        self._reach.processes = self._reach.processes or "AppSpecification" in request
        self._reach.trains = self._reach.trains or not request.keys().isdisjoint(_TRAIN)

    def _texts(self, value: Any, prefixes: S3Prefixes, key: str = "") -> Iterator[tuple[S3Prefixes, str, str]]:
        """Yield every text inside ``value`` with the member it stands under, and whether it is read or written."""
        if isinstance(value, str):
            yield prefixes, key, value
        elif isinstance(value, dict):
            self._reach.vpc = self._reach.vpc or "VpcConfig" in value
            for name, inner in value.items():
                yield from self._texts(inner, self._reach.reads if name in _READ_ONLY else prefixes, name)
        elif isinstance(value, list | tuple):
            for inner in value:
                yield from self._texts(inner, prefixes, key)

    def _take(self, key: str, text: str, prefixes: S3Prefixes) -> None:
        reach = self._reach
        if (uri := text.strip('"')).startswith("s3://") or (key in _S3_MEMBERS and is_unresolved(text)):
            prefixes.add(uri)
        elif key == "VolumeKmsKeyId":
            reach.volume_keys.add(text)
        elif key.endswith("KmsKeyId"):
            reach.keys.add(text)
        elif key in ("TrainingPlanArn", "TrainingPlanArns"):
            reach.plans.add(text)
        elif key in _IMAGES and (repository := ImageRepository.of(text)):
            reach.images.add(repository)
