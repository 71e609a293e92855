"""The sandbox's own CloudFormation engine."""

from __future__ import annotations

from .responses import PREFIX as RESPONSE_PREFIX
from .service import CloudFormation

__all__ = ["RESPONSE_PREFIX", "CloudFormation"]
