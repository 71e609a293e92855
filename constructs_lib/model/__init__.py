"""Pure values and decisions: preferences, jobs, purchases, names, ends, errors. No CDK, no AWS client, no clock.

Names are imported when they are first used: a Lambda function that launches jobs loads nothing about purchases.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from constructs_lib.model.choice import Choice, Criterion
    from constructs_lib.model.ends import FailureClass, RunEnd, classify, end_of
    from constructs_lib.model.errors import CapacityError, InvalidInputError, UnresolvedListError
    from constructs_lib.model.jobs import InputChannel, TrainingJobSpec
    from constructs_lib.model.limits import Limits
    from constructs_lib.model.naming import job_name, name_prefix
    from constructs_lib.model.offerings import ExtensionOffering, Offering, Requirement, Segment
    from constructs_lib.model.plan_names import plan_arn, plan_name
    from constructs_lib.model.preferences import HasTrainingPlanArn, InstancePreference
    from constructs_lib.model.price import Money, PriceCeiling
    from constructs_lib.model.prices import PriceBook
    from constructs_lib.model.purchase_keys import PURCHASE_CONTEXT, PurchaseKey, purchase_label
    from constructs_lib.model.records import RunRecord
    from constructs_lib.model.strategy import goes_on
    from constructs_lib.model.values import is_unresolved
    from constructs_lib.model.window import CapacityWindow, capacity_block_end

__all__ = [
    "PURCHASE_CONTEXT",
    "CapacityError",
    "CapacityWindow",
    "Choice",
    "Criterion",
    "ExtensionOffering",
    "FailureClass",
    "HasTrainingPlanArn",
    "InputChannel",
    "InstancePreference",
    "InvalidInputError",
    "Limits",
    "Money",
    "Offering",
    "PriceBook",
    "PriceCeiling",
    "PurchaseKey",
    "Requirement",
    "RunEnd",
    "RunRecord",
    "Segment",
    "TrainingJobSpec",
    "UnresolvedListError",
    "capacity_block_end",
    "classify",
    "end_of",
    "goes_on",
    "is_unresolved",
    "job_name",
    "name_prefix",
    "plan_arn",
    "plan_name",
    "purchase_label",
]

_HOME = {
    "PURCHASE_CONTEXT": "purchase_keys",
    "CapacityError": "errors",
    "CapacityWindow": "window",
    "capacity_block_end": "window",
    "Choice": "choice",
    "Criterion": "choice",
    "ExtensionOffering": "offerings",
    "FailureClass": "ends",
    "HasTrainingPlanArn": "preferences",
    "InputChannel": "jobs",
    "InstancePreference": "preferences",
    "InvalidInputError": "errors",
    "Limits": "limits",
    "Money": "price",
    "Offering": "offerings",
    "PriceBook": "prices",
    "PriceCeiling": "price",
    "PurchaseKey": "purchase_keys",
    "Requirement": "offerings",
    "RunEnd": "ends",
    "RunRecord": "records",
    "Segment": "offerings",
    "TrainingJobSpec": "jobs",
    "UnresolvedListError": "errors",
    "classify": "ends",
    "end_of": "ends",
    "goes_on": "strategy",
    "is_unresolved": "values",
    "job_name": "naming",
    "name_prefix": "naming",
    "plan_arn": "plan_names",
    "plan_name": "plan_names",
    "purchase_label": "purchase_keys",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
