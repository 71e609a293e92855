"""Service quotas, which SageMaker checks for every type of a list, not only for the one that wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.sandbox.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .evaluation import Entry

__all__ = ["check_quotas"]


def check_quotas(
    limits: Mapping[str, int], entries: Iterable[Entry], usage: str, in_use: Callable[[str, str], int]
) -> None:
    """Refuse a request of which any entry does not fit its quota.

    Parameters
    ----------
    limits
        Instances allowed by quota name; a quota that is not named is unlimited.
    entries
        What is asked for.
    usage
        The words after the type in the quota's name, such as ``training job usage``.
    in_use
        Says how many instances of a type the account uses for that usage.

    Raises
    ------
    ServiceError
        ``ResourceLimitExceeded`` in AWS's words.

    Source: SageMaker guide, train-instance-preferences, "Service quotas".
    """
    for entry in entries:
        name = f"{entry.instance_type} for {usage}"
        limit, used = limits.get(name), in_use(entry.instance_type, usage)
        if limit is not None and used + entry.count > limit:
            raise ServiceError(
                "ResourceLimitExceeded",
                f"The account-level service limit '{name}' is {limit} Instances, with current utilization of {used}"
                f" Instances and a request delta of {entry.count} Instances. Please use AWS Service Quotas to request"
                " an increase for this quota. If AWS Service Quotas is not available, contact AWS support to request"
                " an increase for this quota.",
            )
