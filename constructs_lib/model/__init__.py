"""Pure values and decisions: preferences, jobs, purchases, names, ends, errors. No CDK, no AWS client, no clock."""

from __future__ import annotations

from constructs_lib.model.choice import Choice, Criterion
from constructs_lib.model.ends import FailureClass, RunEnd, classify, end_of
from constructs_lib.model.errors import CapacityError, InvalidInputError, UnresolvedListError
from constructs_lib.model.jobs import InputChannel, TrainingJobSpec
from constructs_lib.model.naming import job_name, name_prefix
from constructs_lib.model.offerings import ExtensionOffering, Offering, Requirement, Segment
from constructs_lib.model.plan_names import plan_arn, plan_name
from constructs_lib.model.preferences import HasTrainingPlanArn, InstancePreference
from constructs_lib.model.price import Money, PriceCeiling
from constructs_lib.model.purchase_keys import PURCHASE_CONTEXT, PurchaseKey, purchase_label
from constructs_lib.model.records import RunRecord
from constructs_lib.model.values import is_unresolved
from constructs_lib.model.window import CapacityWindow

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
    "Money",
    "Offering",
    "PriceCeiling",
    "PurchaseKey",
    "Requirement",
    "RunEnd",
    "RunRecord",
    "Segment",
    "TrainingJobSpec",
    "UnresolvedListError",
    "classify",
    "end_of",
    "is_unresolved",
    "job_name",
    "name_prefix",
    "plan_arn",
    "plan_name",
    "purchase_label",
]
