"""Who may spend: purchases of training plans and capacity blocks, and their extensions, by the buyer role alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from aws_cdk import Aws

from constructs_lib.facts import iam
from constructs_lib.guardrails import attaching
from constructs_lib.guardrails.base import Guardrail
from constructs_lib.guardrails.forms import document
from constructs_lib.model import InvalidInputError, is_unresolved
from constructs_lib.model.purchase_tags import IDENTITY_TAG, PURCHASE_TAGS
from constructs_lib.model.wildcards import matches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aws_cdk import aws_iam
    from constructs import Construct

    from constructs_lib.guardrails.forms import Statement
    from constructs_lib.guardrails.limits import Condition

__all__ = ["PurchaseGrants", "PurchaseGuardrail"]

PLAN = ("sagemaker:CreateTrainingPlan", "sagemaker:CreateReservedCapacity")
BLOCK = "ec2:PurchaseCapacityBlock"
EXTENSIONS = ("sagemaker:ExtendTrainingPlan", "ec2:PurchaseCapacityBlockExtension")
SPENDING = (*PLAN, BLOCK, *EXTENSIONS)
# Whether the tags of CreateTrainingPlan are there when CreateReservedCapacity is authorized is not documented.
TAGGED = ("sagemaker:CreateTrainingPlan", BLOCK)
_ROLE = re.compile(r"arn:[^:]+:iam::[^:]+:role/.+")
_ANYBODY = "arn:aws:iam::111122223333:role/somebody-else-altogether"
_EC2_TYPE = re.compile(r"[a-z0-9*?-]+(\.[a-z0-9*?-]+)?")


class PurchaseGuardrail(Guardrail):
    """Lets only the buyers purchase or extend training plans and capacity blocks, and only with our tags.

    Nobody is bound by itself: see `apply_to`, `boundary`, `add_service_control_policy` and
    `apply_to_permission_set`. Price, type and count cannot be restricted by IAM; the buyer's own checks do that.
    Whoever may pass or assume a buyer's role spends with it: keep those permissions as rare.

    Parameters
    ----------
    scope, construct_id
        Where it stands.
    buyers : sequence of IRole or str
        The roles that may spend, as roles, ARNs or ARN patterns such as ``arn:aws:iam::*:role/gpu-buyer``.
    required_tags : sequence of str, optional
        Tag keys that a purchase must carry; by default those by which this library knows its purchases. They bind the
        buyers as well. An extension of a training plan carries no tags that IAM can see; that of a block must be of a
        block with the first tag.
    block_only : sequence of str, optional
        EC2 types or patterns, such as ``p5.*``, that may be launched only in a capacity block; `block_types` returns
        what blocks sell. By default none.

    Raises
    ------
    InvalidInputError
        For no buyer, a buyer that is no role or is everybody, or a pattern that is no EC2 type.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> from aws_cdk import aws_iam as iam
    >>> stack = cdk.Stack(cdk.App(), "Platform")
    >>> scientist = iam.Role(stack, "Scientist", assumed_by=iam.AccountRootPrincipal())
    >>> guardrail = PurchaseGuardrail(stack, "Spend", buyers=["arn:aws:iam::*:role/gpu-buyer"])
    >>> guardrail.apply_to(scientist).deny_document["Statement"][0]["Sid"]
    'DenyPurchases'
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        buyers: Sequence[aws_iam.IRole | str],
        required_tags: Sequence[str] = PURCHASE_TAGS,
        block_only: Sequence[str] = (),
    ) -> None:
        arns = _buyers(buyers)
        statements = [*_purchases(arns), *_tags(required_tags), *_blocks(_ec2_types(block_only))]
        everything = {"Sid": "NotRestrictedHere", "Effect": "Allow", "Action": "*", "Resource": "*"}
        super().__init__(
            scope,
            construct_id,
            deny=document(statements),
            boundary=document([everything, *statements]),
            shorter="name fewer buyers, or one pattern for many",
        )
        self._required_tags = tuple(required_tags)

    @staticmethod
    def block_types() -> tuple[str, ...]:
        """Return the EC2 types that capacity blocks sell, as far as is known."""
        return iam.block_types()

    @property
    def grants(self) -> PurchaseGrants:
        """Permissions for a buyer: ``guardrail.grants.purchase(role)``."""
        return PurchaseGrants()


class PurchaseGrants:
    """What a buyer needs, and nothing else that spends."""

    def purchase(self, buyer: aws_iam.IGrantable) -> None:
        """Allow searching for, purchasing and tagging training plans.

        Raises
        ------
        InvalidInputError
            If the buyer takes no policy.
        """
        attaching.add_statements(buyer, _plan_purchase())

    def extend(self, buyer: aws_iam.IGrantable) -> None:
        """Allow extending training plans; IAM has no resource for it, so it is every plan of the account.

        Raises
        ------
        InvalidInputError
            If the buyer takes no policy.
        """
        attaching.add_statements(
            buyer,
            [
                {
                    "Effect": "Allow",
                    "Action": ["sagemaker:ExtendTrainingPlan", "sagemaker:DescribeTrainingPlanExtensionHistory"],
                    "Resource": "*",
                }
            ],
        )


def _plan_purchase() -> list[Statement]:
    place = f"arn:{Aws.PARTITION}:sagemaker:{Aws.REGION}:{Aws.ACCOUNT_ID}"
    bought = [f"{place}:training-plan/*", f"{place}:reserved-capacity/*"]
    tagging = {"StringEquals": {"sagemaker:TaggingAction": [name.partition(":")[2] for name in PLAN]}}
    look = ["sagemaker:SearchTrainingPlanOfferings", "sagemaker:ListTrainingPlans"]
    see = ["sagemaker:DescribeTrainingPlan", "sagemaker:DescribeReservedCapacity", "sagemaker:ListTags"]
    return [
        {"Effect": "Allow", "Action": list(PLAN), "Resource": bought},
        {"Effect": "Allow", "Action": "sagemaker:AddTags", "Resource": bought, "Condition": tagging},
        {"Effect": "Allow", "Action": see, "Resource": bought},
        {"Effect": "Allow", "Action": look, "Resource": "*"},
    ]


def _purchases(buyers: Sequence[str]) -> Iterator[Statement]:
    """Yield the Deny from which the buyers alone are exempt; a request without a principal is not exempt."""
    yield _deny("Purchases", SPENDING, {"ArnNotLike": {"aws:PrincipalArn": list(buyers)}})


def _tags(keys: Sequence[str]) -> Iterator[Statement]:
    for number, key in enumerate(keys):
        if not key or is_unresolved(key):
            raise InvalidInputError(f"required_tags: a tag key as plain text is needed, {key!r} was given")
        # One statement a tag: two keys under one Null would be refused only when both are absent.
        yield _deny(f"WithoutTag{number}", TAGGED, {"Null": {f"aws:RequestTag/{key}": "true"}})
    if keys:
        key = IDENTITY_TAG if IDENTITY_TAG in keys else keys[0]
        yield _deny("ForeignExtensions", [EXTENSIONS[1]], {"Null": {f"aws:ResourceTag/{key}": "true"}})


def _blocks(types: Sequence[str]) -> Iterator[Statement]:
    if types:
        condition: Condition = {
            "StringLike": {"ec2:InstanceType": list(types)},
            # Also true without the key: an ordinary launch need not name a market.
            "StringNotEquals": {"ec2:InstanceMarketType": "capacity-block"},
        }
        yield _deny("OutsideBlocks", ["ec2:RunInstances"], condition) | {"Resource": "arn:*:ec2:*:*:instance/*"}


def _deny(name: str, actions: Sequence[str], condition: Condition) -> Statement:
    return {"Sid": f"Deny{name}", "Effect": "Deny", "Action": list(actions), "Resource": "*", "Condition": condition}


def _buyers(buyers: Sequence[aws_iam.IRole | str]) -> list[str]:
    if isinstance(buyers, str) or not buyers:
        raise InvalidInputError(f"buyers: a list of roles or role ARNs is needed, {buyers!r} was given")
    arns = [buyer if isinstance(buyer, str) else buyer.role_arn for buyer in buyers]
    for arn in arns:
        if is_unresolved(arn):
            continue
        if not _ROLE.fullmatch(arn):
            raise InvalidInputError(f"buyers: {arn!r} is no role; write it like arn:aws:iam::*:role/gpu-buyer")
        if matches(arn, _ANYBODY):
            raise InvalidInputError(f"buyers: {arn!r} is everybody, so nobody would be bound; name the buyer's role")
    return arns


def _ec2_types(patterns: Sequence[str]) -> Sequence[str]:
    for pattern in patterns:
        if not isinstance(pattern, str) or pattern.startswith("ml.") or not _EC2_TYPE.fullmatch(pattern):
            raise InvalidInputError(f"block_only: {pattern!r} is no EC2 type; write it like 'p5.48xlarge' or 'p5.*'")
    return patterns
