"""How long the parts of a purchase may take: one fact for what is deployed and what runs."""

from __future__ import annotations

__all__ = ["BUYER_TIMEOUT", "MAXIMUM_EVENT_AGE", "SERVICE_TIMEOUT"]

BUYER_TIMEOUT = 300
"""Seconds after which Lambda ends a run of the buyer."""
MAXIMUM_EVENT_AGE = 1800
"""Seconds for which Lambda delivers an event again; with the buyer's timeout less than `SERVICE_TIMEOUT`."""
SERVICE_TIMEOUT = 3600
"""Seconds for which CloudFormation waits for an answer."""
