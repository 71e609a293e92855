"""What a training plan can be bought for."""

from __future__ import annotations

from enum import StrEnum

from constructs_lib.model import InvalidInputError

__all__ = ["TrainingPlanTarget"]


class TrainingPlanTarget(StrEnum):
    """The one use that a plan serves; it is fixed at purchase.

    Notes
    -----
    Source: botocore 1.44.8, SageMakerResourceName.
    """

    TRAINING_JOB = "training-job"
    HYPERPOD_CLUSTER = "hyperpod-cluster"
    ENDPOINT = "endpoint"
    STUDIO_APPS = "studio-apps"

    @classmethod
    def _missing_(cls, value: object) -> TrainingPlanTarget:
        raise InvalidInputError(f"target: {value!r} was given, one of {', '.join(cls)} is needed")
