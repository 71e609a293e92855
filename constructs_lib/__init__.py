"""Scarce accelerators as infrastructure code: reserve them, use them, forbid what is not allowed, see what happened.

Names are imported when they are first used, so that ``import constructs_lib`` costs nothing and a program that needs
no CDK loads none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from constructs_lib.capacity.approval import Approval
    from constructs_lib.capacity.buyer import CapacityBuyer
    from constructs_lib.capacity.plan_base import ITrainingPlan
    from constructs_lib.capacity.target import TrainingPlanTarget
    from constructs_lib.capacity.training_plan import TrainingPlan
    from constructs_lib.checks import CapacityRules, CapacityRulesPlugin, synth_checked
    from constructs_lib.guardrails.instance_types import InstanceTypeGuardrail
    from constructs_lib.guardrails.purchases import PurchaseGuardrail
    from constructs_lib.model import HasTrainingPlanArn, InputChannel, InstancePreference, TrainingJobSpec
    from constructs_lib.model.price import PriceCeiling
    from constructs_lib.model.prices import PriceBook
    from constructs_lib.model.processing import ProcessingInput, ProcessingOutput
    from constructs_lib.model.steps import LaunchStep
    from constructs_lib.model.tuning import HyperparameterRange, TuningObjective
    from constructs_lib.model.window import CapacityWindow
    from constructs_lib.settings import Settings
    from constructs_lib.workloads.endpoint_keeper import EndpointKeeper
    from constructs_lib.workloads.endpoint_scaling import EndpointScaling
    from constructs_lib.workloads.endpoint_settings import EndpointSettings
    from constructs_lib.workloads.job_fleet import JobFleet
    from constructs_lib.workloads.kit import CapacityKit
    from constructs_lib.workloads.on_expiry import OnExpiry
    from constructs_lib.workloads.pooled_endpoint_config import PooledEndpointConfig
    from constructs_lib.workloads.processing_job import PreferenceProcessingJob
    from constructs_lib.workloads.reserved_endpoint import ReservedEndpoint
    from constructs_lib.workloads.reserved_endpoint_config import ReservedEndpointConfig
    from constructs_lib.workloads.training_job import PreferenceTrainingJob
    from constructs_lib.workloads.tuning_job import TuningJob

__all__ = [
    "Approval",
    "CapacityBuyer",
    "CapacityKit",
    "CapacityRules",
    "CapacityRulesPlugin",
    "CapacityWindow",
    "EndpointKeeper",
    "EndpointScaling",
    "EndpointSettings",
    "HasTrainingPlanArn",
    "HyperparameterRange",
    "ITrainingPlan",
    "InputChannel",
    "InstancePreference",
    "InstanceTypeGuardrail",
    "JobFleet",
    "LaunchStep",
    "OnExpiry",
    "PooledEndpointConfig",
    "PreferenceProcessingJob",
    "PreferenceTrainingJob",
    "PriceBook",
    "PriceCeiling",
    "ProcessingInput",
    "ProcessingOutput",
    "PurchaseGuardrail",
    "ReservedEndpoint",
    "ReservedEndpointConfig",
    "Settings",
    "TrainingJobSpec",
    "TrainingPlan",
    "TrainingPlanTarget",
    "TuningJob",
    "TuningObjective",
    "synth_checked",
]

_HOME = {
    "Approval": "constructs_lib.capacity.approval",
    "CapacityBuyer": "constructs_lib.capacity.buyer",
    "CapacityKit": "constructs_lib.workloads.kit",
    "CapacityRules": "constructs_lib.checks",
    "CapacityRulesPlugin": "constructs_lib.checks",
    "CapacityWindow": "constructs_lib.model.window",
    "EndpointKeeper": "constructs_lib.workloads.endpoint_keeper",
    "EndpointScaling": "constructs_lib.workloads.endpoint_scaling",
    "EndpointSettings": "constructs_lib.workloads.endpoint_settings",
    "HasTrainingPlanArn": "constructs_lib.model",
    "HyperparameterRange": "constructs_lib.model.tuning",
    "ITrainingPlan": "constructs_lib.capacity.plan_base",
    "InputChannel": "constructs_lib.model",
    "InstancePreference": "constructs_lib.model",
    "InstanceTypeGuardrail": "constructs_lib.guardrails.instance_types",
    "JobFleet": "constructs_lib.workloads.job_fleet",
    "LaunchStep": "constructs_lib.model.steps",
    "OnExpiry": "constructs_lib.workloads.on_expiry",
    "PooledEndpointConfig": "constructs_lib.workloads.pooled_endpoint_config",
    "PreferenceProcessingJob": "constructs_lib.workloads.processing_job",
    "PreferenceTrainingJob": "constructs_lib.workloads.training_job",
    "PriceBook": "constructs_lib.model.prices",
    "PriceCeiling": "constructs_lib.model.price",
    "ProcessingInput": "constructs_lib.model.processing",
    "ProcessingOutput": "constructs_lib.model.processing",
    "PurchaseGuardrail": "constructs_lib.guardrails.purchases",
    "ReservedEndpoint": "constructs_lib.workloads.reserved_endpoint",
    "ReservedEndpointConfig": "constructs_lib.workloads.reserved_endpoint_config",
    "Settings": "constructs_lib.settings",
    "TrainingJobSpec": "constructs_lib.model",
    "TrainingPlan": "constructs_lib.capacity.training_plan",
    "TrainingPlanTarget": "constructs_lib.capacity.target",
    "TuningJob": "constructs_lib.workloads.tuning_job",
    "TuningObjective": "constructs_lib.model.tuning",
    "synth_checked": "constructs_lib.checks",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
