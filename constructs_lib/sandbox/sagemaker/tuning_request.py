"""What a CreateHyperParameterTuningJob request asks for: the training jobs it launches, and on which instances.

Source: botocore 1.44.8 (HyperParameterTrainingJobDefinition, HyperParameterTuningResourceConfig, ResourceLimits). The
rules are AWS's, the sentences are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from constructs_lib.facts import instance_types
from constructs_lib.sandbox.modelcheck import operation_model

from .instance_lists import check_volume_key, refusal
from .training_request import read_demand

if TYPE_CHECKING:
    from constructs_lib.sandbox.faults import Faults

    from .plans import Plans
    from .training_request import Demand

__all__ = ["TuningDemand", "read_tuning_demand"]

Request = dict[str, Any]
_RESOURCES = "HyperParameterTuningResourceConfig"
_NOT_WITH_CONFIGS = ("InstanceType", "InstanceCount", "VolumeSizeInGB")


@dataclass(frozen=True)
class TuningDemand:
    """What a tuning job launches.

    Parameters
    ----------
    training
        The members that all its training jobs have, as CreateTrainingJob takes them.
    configs
        The acceptable ResourceConfigs of a training job, in order.
    demand
        What one training job needs; its entries are those of `configs`.
    most, parallel
        How many training jobs in all, and how many at a time.
    max_runtime
        Seconds; infinite if the request sets no limit.
    """

    training: Request
    configs: tuple[Request, ...]
    demand: Demand
    most: int
    parallel: int
    max_runtime: float


def read_tuning_demand(request: Request, plans: Plans, now: float, faults: Faults) -> TuningDemand:
    """Return what a request asks for.

    Raises
    ------
    ServiceError
        If SageMaker refuses the combination, or the sandbox does not play it.
    """
    if "TrainingJobDefinitions" in request or "TrainingJobDefinition" not in request:
        raise refusal("The sandbox has tuning jobs with one TrainingJobDefinition only; specify that.")
    definition, config = request["TrainingJobDefinition"], request["HyperParameterTuningJobConfig"]
    known = operation_model("sagemaker", "CreateTrainingJob").input_shape.members
    training = {name: value for name, value in definition.items() if name in known and name != "ResourceConfig"}
    configs = _configs(definition)
    demands = [read_demand(training | {"ResourceConfig": each}, plans, now) for each in configs]
    demand = replace(demands[0], entries=tuple(entry for each in demands for entry in each.entries))
    _check_volumes(configs)
    if demand.has_volume_key:
        check_volume_key(demand.entries, faults)
    limits = config["ResourceLimits"]
    most = limits["MaxNumberOfTrainingJobs"] if "MaxNumberOfTrainingJobs" in limits else _grid(config)
    max_runtime = limits.get("MaxRuntimeInSeconds", math.inf)
    return TuningDemand(training, configs, demand, most, limits["MaxParallelTrainingJobs"], max_runtime)


def _configs(definition: Request) -> tuple[Request, ...]:
    given = [name for name in ("ResourceConfig", _RESOURCES) if name in definition]
    if len(given) != 1:
        raise refusal(f"Exactly one of ResourceConfig and {_RESOURCES} must be specified.")
    resources = definition[given[0]]
    if given == ["ResourceConfig"]:
        for name in ("InstancePreferences", "TrainingPlanArn"):
            if name in resources:
                raise refusal(f"The sandbox has no tuning jobs with {name}: nothing says that SageMaker takes it.")
        return (resources,)
    if "InstanceConfigs" not in resources:
        shared = {name: value for name, value in resources.items() if name != "AllocationStrategy"}
        return (shared,)
    for name in _NOT_WITH_CONFIGS:
        if name in resources:
            raise refusal(f"InstanceConfigs and {name} are mutually exclusive.")
    key = {name: resources[name] for name in ("VolumeKmsKeyId",) if name in resources}
    return tuple(config | key for config in resources["InstanceConfigs"])


def _check_volumes(configs: tuple[Request, ...]) -> None:
    """Refuse a volume larger than the local storage of a type that has some."""
    for config in configs:
        local = instance_types()[config["InstanceType"]].local_storage_gb
        if local and config.get("VolumeSizeInGB", 0) > local:
            raise refusal(
                f"VolumeSizeInGB {config['VolumeSizeInGB']} exceeds the local storage of {config['InstanceType']},"
                f" which is {local} GB."
            )


def _grid(config: Request) -> int:
    """Return how many training jobs a grid search has."""
    if config["Strategy"] != "Grid":
        raise refusal("MaxNumberOfTrainingJobs must be specified, unless Strategy is Grid.")
    ranges = config.get("ParameterRanges", {}).get("CategoricalParameterRanges", ())
    return math.prod(len(row["Values"]) for row in ranges)
