"""Pure values and decisions: preferences, job specs, names, ends and errors. No CDK, no AWS client, no clock."""

from __future__ import annotations

from constructs_lib.model.ends import FailureClass, RunEnd, classify, end_of
from constructs_lib.model.errors import CapacityError, InvalidInputError, UnresolvedListError
from constructs_lib.model.jobs import InputChannel, TrainingJobSpec
from constructs_lib.model.naming import job_name, name_prefix
from constructs_lib.model.preferences import HasTrainingPlanArn, InstancePreference
from constructs_lib.model.records import RunRecord
from constructs_lib.model.values import is_unresolved

__all__ = [
    "CapacityError",
    "FailureClass",
    "HasTrainingPlanArn",
    "InputChannel",
    "InstancePreference",
    "InvalidInputError",
    "RunEnd",
    "RunRecord",
    "TrainingJobSpec",
    "UnresolvedListError",
    "classify",
    "end_of",
    "is_unresolved",
    "job_name",
    "name_prefix",
]
