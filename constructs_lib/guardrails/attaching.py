"""Giving documents to AWS: managed policies, boundaries, service control policies, permission sets; each measured."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from aws_cdk import Acknowledgment, Validations, aws_iam, aws_organizations

from constructs_lib.facts import iam
from constructs_lib.model import InvalidInputError, is_unresolved
from constructs_lib.rules.policies import measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_sso
    from constructs import Construct

    from constructs_lib.guardrails.forms import Document, Statement

__all__ = [
    "add_statements",
    "add_to_permission_set",
    "longer_than_documented",
    "managed_policy",
    "require_fit",
    "service_control_policy",
    "set_boundary",
]

_ACKNOWLEDGED = (
    Acknowledgment(
        id="AwsSolutions-IAM5[Resource::*]",
        reason="the conditions are what restricts; a boundary leaves by nature everything to what others grant",
    ),
    Acknowledgment(
        id="AwsSolutions-IAM5[Action::*]",
        reason="a boundary gives nothing: it must cover whatever other policies may grant, less the denials in it",
    ),
    Acknowledgment(
        id="AwsSolutions-IAM5", reason="cdk-nag cannot read NotAction, with which a boundary spares the rest"
    ),
    Acknowledgment(
        id="CloudFormation-Validate::W2512",
        reason="a boundary for some actions must leave all others alone, those of the future too",
    ),
)
_TARGET = re.compile(r"r-[0-9a-z]{4,32}|ou-[0-9a-z]{4,32}-[0-9a-z]{8,32}|\d{12}")
_NAMES = {
    "managed": "a managed policy",
    "permissions-boundary": "a permissions boundary",
    "role-inline": "the inline policies of a role",
    "permission-set-inline": "the inline policy of a permission set",
    "scp": "a service control policy",
}


def require_fit(document: Document, kind: str, shorter: str) -> None:
    """Refuse a document that is longer than AWS takes.

    Parameters
    ----------
    document : dict
    kind : str
        A kind of `facts.iam.document_limits`.
    shorter : str
        What would make it shorter.

    Raises
    ------
    InvalidInputError
        With the measured size, the limit, its source and ``shorter``.
    """
    limit = max(iam.document_limits(kind), key=lambda one: one.characters)
    size = measure(document, spaces=limit.counts_spaces)
    if size > limit.characters:
        raise InvalidInputError(
            f"{_NAMES[kind]} may have {limit.characters:,} characters, this one has {size:,} ({limit.source}); "
            f"{shorter}"
        )


def longer_than_documented(document: Document) -> str | None:
    """Say that a service control policy needs the newer limit, which only public reports give."""
    documented, reported = iam.document_limits("scp")
    size = measure(document, spaces=documented.counts_spaces)
    if size <= documented.characters:
        return None
    return (
        f"{size:,} characters: a service control policy may have {documented.characters:,} in older documentation and "
        f"{reported.characters:,} since {reported.since} by public reports"
    )


def managed_policy(scope: Construct, construct_id: str, document: Document, description: str) -> aws_iam.ManagedPolicy:
    """Return a new managed policy with exactly these statements."""
    policy = aws_iam.ManagedPolicy(
        scope, construct_id, document=aws_iam.PolicyDocument.from_json(document), description=description
    )
    Validations.of(policy).acknowledge(*_ACKNOWLEDGED)
    return policy


def service_control_policy(
    scope: Construct, construct_id: str, document: Document, *, name: str, target_ids: Sequence[str]
) -> aws_organizations.CfnPolicy:
    """Return a new service control policy, attached to roots, organizational units or accounts.

    Raises
    ------
    InvalidInputError
        If there is no target, or one that is none.
    """
    if isinstance(target_ids, str) or not target_ids:
        raise InvalidInputError(
            f"target_ids: a list of roots, organizational units or accounts is needed, {target_ids!r} was given; "
            "without a target a service control policy does nothing"
        )
    for target in target_ids:
        if not is_unresolved(target) and not _TARGET.fullmatch(target):
            raise InvalidInputError(
                f"target_ids: {target!r} is no root (r-ab12), organizational unit (ou-ab12-cd34ef56) or account id"
            )
    return aws_organizations.CfnPolicy(
        scope, construct_id, name=name, type="SERVICE_CONTROL_POLICY", content=document, target_ids=list(target_ids)
    )


def add_to_permission_set(
    permission_set: aws_sso.CfnPermissionSet, statements: Sequence[Statement], shorter: str
) -> None:
    """Add statements to the inline policy of a permission set.

    Raises
    ------
    InvalidInputError
        If its inline policy cannot be read at synth, or becomes too long.
    """
    given: Any = permission_set.inline_policy
    if isinstance(given, str) and not is_unresolved(given):
        given = json.loads(given)
    if given is not None and (not isinstance(given, dict) or "Statement" not in given):
        raise InvalidInputError(
            f"{permission_set.node.path}: its inline policy is known only at deploy; add the guardrail's "
            "deny_document to it yourself"
        )
    before = given["Statement"] if given else []
    before = before if isinstance(before, list) else [before]
    merged = {**(given or {"Version": "2012-10-17"}), "Statement": [*before, *statements]}
    require_fit(merged, "permission-set-inline", shorter)
    permission_set.inline_policy = merged


def add_statements(identity: aws_iam.IGrantable, statements: Sequence[Statement]) -> None:
    """Add statements to the inline policy of an identity.

    Raises
    ------
    InvalidInputError
        If the identity takes no policy: an imported role that is not mutable or of another account, or a principal
        that is no role, user or group.
    """
    owns_policy = isinstance(identity, aws_iam.Role | aws_iam.LazyRole | aws_iam.User | aws_iam.Group)
    for statement in statements:
        added = identity.grant_principal.add_to_principal_policy(aws_iam.PolicyStatement.from_json(statement))
        # CDK says "added" for an imported role that it leaves alone; only a real policy shows that it was.
        if not added.statement_added or not (owns_policy or isinstance(added.policy_dependable, aws_iam.Policy)):
            raise InvalidInputError(
                f"{_path(identity)}: it takes no policy from this app (imported as not mutable, of another account, or "
                "no role, user or group); use add_service_control_policy, or attach the policy where it is made"
            )


def _path(identity: Any) -> str:
    return identity.node.path if hasattr(identity, "node") else type(identity).__name__


def set_boundary(role: aws_iam.IRole, boundary: aws_iam.ManagedPolicy) -> None:
    """Set the permissions boundary of a role.

    Raises
    ------
    InvalidInputError
        If the role is not made in this app, or has another boundary.
    """
    resource = role.node.default_child
    if not isinstance(resource, aws_iam.CfnRole):
        raise InvalidInputError(
            f"{role.node.path}: an imported role's boundary cannot be set here; leave boundary=True out, and set it "
            "where the role is made"
        )
    arn, before = boundary.managed_policy_arn, resource.permissions_boundary
    if before is not None and before != arn:
        known = "known at deploy" if is_unresolved(before) else before
        raise InvalidInputError(
            f"{role.node.path}: it has a permissions boundary already ({known}), and a role has one; leave "
            "boundary=True out (the denials bind without it), or add the guardrail's deny_document to that boundary"
        )
    resource.permissions_boundary = arn
