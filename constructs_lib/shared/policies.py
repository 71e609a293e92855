"""Places and plain IAM documents."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["INLINE_POLICY_MAX", "Place", "Statement", "allow", "assumed_by", "document", "estimated_size"]

Statement = dict[str, Any]

INLINE_POLICY_MAX = 10_240
"""Characters of all inline policies of a role, without white space (IAM quotas)."""

_TOKEN = re.compile(r"\$\{Token\[([A-Za-z0-9.:]+?)\]\}")
# What a pseudo parameter becomes; any other token is taken for a bucket or an id.
_USUAL_LENGTH = {"AWS.Partition": 3, "AWS.AccountId": 12, "AWS.Region": 9}
_OTHER_LENGTH = 32


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stack goes: each part literal or a token."""

    partition: str
    region: str
    account: str

    def arn(self, service: str, resource: str, *, region: str | None = None, account: str | None = None) -> str:
        """Return an ARN in this place; ``region`` and ``account`` replace its own."""
        region = self.region if region is None else region
        account = self.account if account is None else account
        return f"arn:{self.partition}:{service}:{region}:{account}:{resource}"


def assumed_by(service: str, *, account: str | None = None) -> dict[str, Any]:
    """Return a trust policy for an AWS service, and for calls on behalf of ``account`` only if it is given."""
    trust: Statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    if account:
        trust["Condition"] = {"StringEquals": {"aws:SourceAccount": account}}
    return document([trust])


def document(statements: Iterable[Statement]) -> dict[str, Any]:
    """Return a policy document."""
    return {"Version": "2012-10-17", "Statement": list(statements)}


def estimated_size(policy: dict[str, Any]) -> int:
    """Return a document's length as IAM counts it, each token at the length it usually resolves to."""
    text = json.dumps(policy, separators=(",", ":"))
    tokens = [match[1].rpartition(".")[0] for match in _TOKEN.finditer(text)]
    return len(_TOKEN.sub("", text)) + sum(_USUAL_LENGTH.get(token, _OTHER_LENGTH) for token in tokens)


def allow(actions: list[str], resources: list[Any], condition: dict[str, Any] | None = None) -> Statement:
    """Return an Allow statement."""
    statement: Statement = {"Effect": "Allow", "Action": actions, "Resource": resources}
    return statement | ({"Condition": condition} if condition else {})
