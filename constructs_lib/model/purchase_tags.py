"""The tags that say whose purchase something is: its declared identity and its generation, nothing else."""

from __future__ import annotations

__all__ = ["GENERATION_TAG", "IDENTITY_TAG", "PURCHASE_TAGS"]

IDENTITY_TAG = "gpucap:identity"
GENERATION_TAG = "gpucap:generation"
PURCHASE_TAGS = (IDENTITY_TAG, GENERATION_TAG)
