"""A plan's tags: its own, and those that `Tags.of()` puts on everything around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import TagManager, TagType

from constructs_lib.model import InvalidInputError
from constructs_lib.model.purchase_tags import PURCHASE_TAGS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_tags", "tag_manager", "tag_rows"]

_MOST = 50 - len(PURCHASE_TAGS)


def check_tags(tags: Mapping[str, str]) -> None:
    """Refuse tags that are ours, or too many.

    Raises
    ------
    InvalidInputError
        Naming them.
    """
    if taken := [key for key in PURCHASE_TAGS if key in tags]:
        raise InvalidInputError(f"tags: {', '.join(taken)} say whose the plan is and are set by this library")
    if len(tags) > _MOST:
        raise InvalidInputError(f"tags: {len(tags)} were given; a plan takes {_MOST} besides those of this library")


def tag_manager(tags: Mapping[str, str]) -> TagManager:
    """Return a tag manager that begins with a plan's own tags."""
    manager = TagManager(TagType.STANDARD, "Custom::SageMakerTrainingPlan")
    for key, value in tags.items():
        manager.set_tag(key, value)
    return manager


def tag_rows(manager: TagManager) -> list[dict[str, str]] | None:
    """Return the tags as the API takes them; ``None`` if there are none."""
    return [{"Key": key, "Value": value} for key, value in sorted(manager.tag_values().items())] or None
