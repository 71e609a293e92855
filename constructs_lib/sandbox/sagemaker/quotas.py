"""Service quotas, which SageMaker checks for every type of a list, not only for the one that wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.sandbox.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .evaluation import Entry

__all__ = ["PLANS_QUOTA", "USAGES", "check_quotas", "limit_exceeded", "reserved_quota"]

# Source: SageMaker guide, training-plan-quotas.
PLANS_QUOTA = "training-plan-total_count"
# What the quota "<type> for <usage>" counts. Source: AWS General Reference, SageMaker AI endpoints and quotas.
USAGES = ("training job usage", "spot training job usage", "processing job usage", "endpoint usage")


def reserved_quota(instance_type: str) -> str:
    """Return the name of the quota on a type's instances in training plans.

    Examples
    --------
    >>> reserved_quota("ml.p5.48xlarge")
    'reserved-capacity-ml-p5-48xlarge'
    """
    return f"reserved-capacity-{instance_type.replace('.', '-')}"


def limit_exceeded(name: str, limit: int, used: int, delta: int, unit: str = "Instances") -> ServiceError:
    """Return the refusal of a request that exceeds a quota, in AWS's words."""
    return ServiceError(
        "ResourceLimitExceeded",
        f"The account-level service limit '{name}' is {limit} {unit}, with current utilization of {used}"
        f" {unit} and a request delta of {delta} {unit}. Please use AWS Service Quotas to request"
        " an increase for this quota. If AWS Service Quotas is not available, contact AWS support to request"
        " an increase for this quota.",
    )


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
            raise limit_exceeded(name, limit, used, entry.count)
