"""The one definition of a tuning job's fields: a training job, and what is searched for around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.fields import deep_merge, given, whole_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from constructs_lib.model.jobs import TrainingJobSpec

__all__ = ["HyperparameterRange", "TuningJobSpec", "TuningObjective"]

_STRATEGIES = ("Bayesian", "Random", "Hyperband", "Grid")
_LISTS = {
    "integer": "IntegerParameterRanges",
    "continuous": "ContinuousParameterRanges",
    "categorical": "CategoricalParameterRanges",
}
# What a training job has and a training job inside a tuning job has not.
_NOT_IN_TUNING = ("training_plan", "keep_alive", "entrypoint", "arguments")


@dataclass(frozen=True, slots=True)
class TuningObjective:
    """What is optimized.

    Parameters
    ----------
    metric : str
        The metric's name.
    goal : str
        ``Minimize`` or ``Maximize``.
    regex : str, optional
        Finds the metric in the logs; an algorithm of AWS brings its own.

    Examples
    --------
    >>> TuningObjective("validation:loss", "Minimize", regex="loss=([0-9.]+)").goal
    'Minimize'
    """

    metric: str
    goal: Literal["Minimize", "Maximize"]
    regex: str | None = None

    def __post_init__(self) -> None:
        if self.goal not in ("Minimize", "Maximize"):
            raise InvalidInputError(f"goal {self.goal!r}: 'Minimize' and 'Maximize' are allowed")


@dataclass(frozen=True, slots=True)
class HyperparameterRange:
    """The values that one hyperparameter may take; made by `integer`, `continuous` or `categorical`."""

    kind: str
    fields: Mapping[str, Any]

    @classmethod
    def integer(cls, low: int, high: int, *, scaling: str | None = None) -> HyperparameterRange:
        """Return whole numbers from ``low`` to ``high``; ``scaling`` as the API takes it.

        Examples
        --------
        >>> HyperparameterRange.integer(1, 8).to_request("layers")
        {'Name': 'layers', 'MinValue': '1', 'MaxValue': '8'}
        """
        return cls._between("integer", low, high, scaling)

    @classmethod
    def continuous(cls, low: float, high: float, *, scaling: str | None = None) -> HyperparameterRange:
        """Return numbers from ``low`` to ``high``; ``scaling`` as the API takes it."""
        return cls._between("continuous", low, high, scaling)

    @classmethod
    def categorical(cls, values: Sequence[str]) -> HyperparameterRange:
        """Return one of ``values``."""
        if isinstance(values, str) or not values:
            raise InvalidInputError(f"categorical: a list of texts is needed, {values!r} was given")
        return cls("categorical", {"Values": list(values)})

    @classmethod
    def _between(cls, kind: str, low: float, high: float, scaling: str | None) -> HyperparameterRange:
        if low > high:
            raise InvalidInputError(f"{kind}: the range from {low} to {high} is empty; give the lower end first")
        return cls(kind, given({"MinValue": str(low), "MaxValue": str(high), "ScalingType": scaling}))

    def to_request(self, name: str) -> dict[str, Any]:
        """Return the range as ``ParameterRanges`` takes it."""
        return {"Name": name, **self.fields}


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningJobSpec:
    """A search over hyperparameters whose training jobs may run on any of an ordered list of instance types.

    Parameters
    ----------
    training : TrainingJobSpec
        What each training job does. Its ``preferences`` (1 to 6, each with a count or under the shared one) become
        tuning's own list, its ``hyperparameters`` the static ones, and its ``max_pending`` bounds the tuning job's wait
        for a first start. It needs ``volume_size_gb`` and takes no plan, keep-alive, entry point or arguments.
    objective : TuningObjective
    ranges : mapping of str to HyperparameterRange
    max_jobs, max_parallel : int
        Training jobs in all, and at a time.
    strategy : str
        ``Bayesian`` (default), ``Random``, ``Hyperband`` or ``Grid``.
    early_stopping : bool
        True: training jobs that cannot win are stopped by SageMaker.
    max_total_runtime : timedelta or seconds, optional
        The tuning job's own limit, over all its training jobs.
    request_overrides : mapping, optional
        Deep-merged into the CreateHyperParameterTuningJob request last.

    Raises
    ------
    InvalidInputError
        For a training job that no tuning job could run.

    Examples
    --------
    >>> from constructs_lib.model import InstancePreference, TrainingJobSpec
    >>> training = TrainingJobSpec(name="tune", image="111122223333.dkr.ecr.us-east-1.amazonaws.com/x:1",
    ...     output="s3://bucket/models", max_runtime=3600, instance_count=1, volume_size_gb=100,
    ...     preferences=[InstancePreference("ml.g6.12xlarge"), InstancePreference("ml.g5.12xlarge")])
    >>> spec = TuningJobSpec(training=training, objective=TuningObjective("loss", "Minimize", regex="loss=(.*)"),
    ...     ranges={"rate": HyperparameterRange.continuous(1e-5, 1e-2)}, max_jobs=20, max_parallel=2)
    >>> resources = spec.to_request()["TrainingJobDefinition"]["HyperParameterTuningResourceConfig"]
    >>> resources["AllocationStrategy"], resources["InstanceConfigs"][0]
    ('Prioritized', {'InstanceType': 'ml.g6.12xlarge', 'InstanceCount': 1, 'VolumeSizeInGB': 100})

    Notes
    -----
    ``InstancePreferences`` inside a tuning job is not documented; ``HyperParameterTuningResourceConfig`` is.
    Source: API_CreateHyperParameterTuningJob, API_HyperParameterTuningResourceConfig.
    """

    training: TrainingJobSpec
    objective: TuningObjective
    ranges: Mapping[str, HyperparameterRange]
    max_jobs: int
    max_parallel: int
    strategy: str = "Bayesian"
    early_stopping: bool = False
    max_total_runtime: timedelta | float | None = None
    request_overrides: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        name = self.training.name
        if wrong := [prop for prop in _NOT_IN_TUNING if getattr(self.training, prop)]:
            raise InvalidInputError(f"{name}: {', '.join(wrong)}: a training job inside a tuning job has no such field")
        if planned := [one.instance_type for one in self.training.preferences if one.training_plan is not None]:
            raise InvalidInputError(f"{name}: a plan for {', '.join(planned)}: tuning cannot use a training plan")
        if self.training.request_overrides:
            raise InvalidInputError(f"{name}: request_overrides of the training job; give the tuning job's own instead")
        counted = [one.instance_count is not None for one in self.training.preferences]
        if counted and (all(counted) != any(counted) or any(counted) == (self.training.instance_count is not None)):
            raise InvalidInputError(
                f"{name}: give instance_count once for all entries, or one on every entry, and not both"
            )
        if self.training.volume_size_gb is None:
            raise InvalidInputError(f"{name}: volume_size_gb is missing; every entry of a tuning job's list needs one")
        if not self.ranges:
            raise InvalidInputError(f"{name}: ranges is empty; give one range at least, or use a training job")
        if twice := sorted(self.ranges.keys() & self.training.hyperparameters.keys()):
            raise InvalidInputError(f"{name}: {', '.join(twice)}: a hyperparameter is static or has a range, not both")
        if self.strategy not in _STRATEGIES:
            raise InvalidInputError(f"strategy {self.strategy!r}: {', '.join(_STRATEGIES)} are allowed")

    def to_request(self) -> dict[str, Any]:
        """Return the CreateHyperParameterTuningJob request without its name, which is made at launch."""
        training = self.training.to_request()
        static, tags = training.pop("HyperParameters", None), training.pop("Tags", None)
        listed = training.pop("ResourceConfig")
        training["StoppingCondition"] = {"MaxRuntimeInSeconds": training["StoppingCondition"]["MaxRuntimeInSeconds"]}
        if self.objective.regex:
            named = {"Name": self.objective.metric, "Regex": self.objective.regex}
            training["AlgorithmSpecification"] = {**training["AlgorithmSpecification"], "MetricDefinitions": [named]}
        definition = training | {"StaticHyperParameters": static, "HyperParameterTuningResourceConfig": _list(listed)}
        request = {
            "HyperParameterTuningJobConfig": self._search(),
            "TrainingJobDefinition": given(definition),
            "Tags": tags,
        }
        return deep_merge(given(request), self.request_overrides)

    def _search(self) -> dict[str, Any]:
        ranges = {
            member: [one.to_request(name) for name, one in self.ranges.items() if one.kind == kind]
            for kind, member in _LISTS.items()
        }
        limits = {
            "MaxNumberOfTrainingJobs": self.max_jobs,
            "MaxParallelTrainingJobs": self.max_parallel,
            "MaxRuntimeInSeconds": whole_seconds(self.max_total_runtime),
        }
        return {
            "Strategy": self.strategy,
            "HyperParameterTuningJobObjective": {"Type": self.objective.goal, "MetricName": self.objective.metric},
            "ResourceLimits": given(limits),
            "ParameterRanges": given(ranges),
            "TrainingJobEarlyStoppingType": "Auto" if self.early_stopping else "Off",
        }


def _list(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Return a training job's list as tuning takes it; SageMaker wants one entry without a list."""
    shared, size = resources.get("InstanceCount"), resources["VolumeSizeInGB"]
    entries = [{"InstanceCount": shared, **entry, "VolumeSizeInGB": size} for entry in resources["InstancePreferences"]]
    configs = [{key: entry[key] for key in ("InstanceType", "InstanceCount", "VolumeSizeInGB")} for entry in entries]
    key = given({"VolumeKmsKeyId": resources.get("VolumeKmsKeyId")})
    if len(configs) == 1:
        return {**configs[0], **key}
    return {"AllocationStrategy": "Prioritized", "InstanceConfigs": configs, **key}
