"""SageMaker's control plane with scarce capacity: what is free when decides which jobs run."""

from .capacity import Capacity
from .service import SageMaker

__all__ = ["Capacity", "SageMaker"]
