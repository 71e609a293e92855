"""How each kind of job spells the same things: its calls, its instance types, its bounds."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from constructs_lib.model.errors import InvalidInputError

__all__ = ["JOB_KINDS", "JobKind", "ResourceEntry", "job_kind"]

_LISTS = ("InstancePreferences", "InstanceConfigs")


@dataclass(frozen=True, slots=True)
class ResourceEntry:
    """One instance type that a request may get; ``plan`` is the entry's own, ``job_plan`` one of the whole job."""

    instance_type: str
    instance_count: int
    plan: str | None = None
    job_plan: str | None = None


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of job.

    Parameters
    ----------
    name : str
        ``training``, ``processing`` or ``tuning``.
    noun : str
        The word in AWS's calls and members, such as ``TrainingJob`` in CreateTrainingJob and TrainingJobName.
    subject : str
        What the rules call a request.
    quota : str
        The use that the instance quotas of this kind name.
    shortest_runtime : int
        The least seconds that AWS takes as a bound of the whole job's runtime.
    """

    name: str
    noun: str
    subject: str
    quota: str
    shortest_runtime: int = 1

    @property
    def name_key(self) -> str:
        """The member that holds the job's name."""
        return f"{self.noun}Name"

    def resources(self, request: Mapping[str, Any]) -> list[Any]:
        """Return the parts of a request, or of a description, that name instance types."""
        if self.name == "training":
            return [request.get("ResourceConfig", {})]
        if self.name == "processing":
            return [request.get("ProcessingResources", {}).get("ClusterConfig", {})]
        return [
            definition.get("HyperParameterTuningResourceConfig") or definition.get("ResourceConfig", {})
            for definition in self.definitions(request)
        ]

    def definitions(self, request: Mapping[str, Any]) -> list[Any]:
        """Return the parts that describe one run of the container: the request itself, or tuning's definitions."""
        if self.name != "tuning":
            return [request]
        one = request.get("TrainingJobDefinition")
        return [*([one] if one else []), *request.get("TrainingJobDefinitions", ())]

    def entries(self, request: Mapping[str, Any]) -> list[ResourceEntry]:
        """Return the instance types in order, each once a resource part, with its count and its plan.

        Examples
        --------
        >>> config = {"InstanceCount": 2, "InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}]}
        >>> JOB_KINDS["training"].entries({"ResourceConfig": config})
        [ResourceEntry(instance_type='ml.g5.xlarge', instance_count=2, plan=None, job_plan=None)]
        """
        return [entry for part in self.resources(request) for entry in _entries(part)]

    def spot(self, request: Mapping[str, Any]) -> bool:
        """Tell whether the job runs on spot capacity."""
        return any(part.get("EnableManagedSpotTraining") for part in self.definitions(request))

    def subnets(self, request: Mapping[str, Any]) -> list[str]:
        """Return the subnets that the job may run in; none when it runs outside of a VPC of the user's."""
        parts = self.definitions(request)
        configs = [part.get("VpcConfig") or part.get("NetworkConfig", {}).get("VpcConfig") or {} for part in parts]
        return list(dict.fromkeys(subnet for config in configs for subnet in config.get("Subnets", ())))

    def without(self, request: Mapping[str, Any], types: frozenset[str]) -> dict[str, Any] | None:
        """Return the request without entries of these types, or ``None`` if a part would have none left."""
        reduced = copy.deepcopy(dict(request))
        for part in self.resources(reduced):
            key = next((key for key in _LISTS if key in part), None)
            left = [entry for entry in part[key] if entry.get("InstanceType") not in types] if key else []
            if key:
                part[key] = left
            if not left and not (key is None and part.get("InstanceType") not in types):
                return None
        return reduced

    def max_runtime(self, request: Mapping[str, Any]) -> float | None:
        """Return the seconds that the job may run, if its request bounds them."""
        value = self._bounds(request).get("MaxRuntimeInSeconds")
        return value if isinstance(value, int | float) else None

    def set_max_runtime(self, request: dict[str, Any], seconds: int) -> None:
        """Bound, in a request that is changed, the runtime of the whole job."""
        self._bounds(request, make=True)["MaxRuntimeInSeconds"] = max(seconds, self.shortest_runtime)

    def set_environment(self, request: dict[str, Any], more: Mapping[str, str]) -> None:
        """Set more variables for the container in a request that is changed."""
        for part in self.definitions(request):
            part["Environment"] = {**part.get("Environment", {}), **more}

    def _bounds(self, request: Any, *, make: bool = False) -> Any:
        path = ("HyperParameterTuningJobConfig", "ResourceLimits") if self.name == "tuning" else ("StoppingCondition",)
        for key in path:
            request = request.setdefault(key, {}) if make else request.get(key, {})
        return request


JOB_KINDS: Mapping[str, JobKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            JobKind("training", "TrainingJob", "training-job", "training job"),
            JobKind("processing", "ProcessingJob", "processing-job", "processing job"),
            # A tuning job runs training jobs, which count against their quotas.
            JobKind("tuning", "HyperParameterTuningJob", "tuning-job", "training job", 120),
        )
    }
)


def job_kind(name: str) -> JobKind:
    """Return a kind by its name.

    Raises
    ------
    InvalidInputError
        Naming the kinds there are.
    """
    if name not in JOB_KINDS:
        raise InvalidInputError(f"a job of kind {name!r} cannot be launched: use one of {', '.join(JOB_KINDS)}")
    return JOB_KINDS[name]


def _entries(part: Mapping[str, Any]) -> Iterator[ResourceEntry]:
    listed = next((part[key] for key in _LISTS if part.get(key)), None)
    shared = part.get("InstanceCount", 1)
    for entry in [part] if listed is None else listed:
        if "InstanceType" in entry:
            plans = entry.get("TrainingPlanArns") or [None]
            count = entry.get("InstanceCount", shared)
            yield ResourceEntry(entry["InstanceType"], count, plans[0], part.get("TrainingPlanArn"))
