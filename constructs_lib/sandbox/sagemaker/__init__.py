"""SageMaker's control plane with scarce capacity: what is free when decides which jobs run."""

from .capacity import Capacity
from .control import CONTROL_PREFIX, Control
from .endpoint_runtime import Runtime
from .service import SageMaker

__all__ = ["CONTROL_PREFIX", "Capacity", "Control", "Runtime", "SageMaker"]
