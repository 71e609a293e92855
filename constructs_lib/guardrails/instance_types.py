"""One declaration of approved instance types as an identity policy, a boundary and a service control policy."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from constructs_lib.facts import iam
from constructs_lib.guardrails import attaching
from constructs_lib.guardrails.base import Guardrail
from constructs_lib.guardrails.forms import Declaration, document
from constructs_lib.guardrails.gaps import remaining_gaps
from constructs_lib.guardrails.limits import companions, instance_types
from constructs_lib.guardrails.type_lists import checked_patterns, compressed
from constructs_lib.model import InvalidInputError
from constructs_lib.model.approvals import approvals
from constructs_lib.rules.policies.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import Duration, aws_iam, aws_kms
    from constructs import Construct

    from constructs_lib.guardrails.forms import Document
    from constructs_lib.rules import Finding

__all__ = ["InstanceTypeGrants", "InstanceTypeGuardrail"]

_SHORTEST = "the list is compressed already: approve whole families, or restrict fewer actions"


class InstanceTypeGuardrail(Guardrail):
    """Lets only approved instance types be launched: for every entry of a list, with the key there or not.

    Nothing is attached to anybody by itself: see `apply_to`, `grants`, `boundary`, `add_service_control_policy` and
    `apply_to_permission_set`. Jobs and endpoints of this library that are declared under ``scope`` are held against the
    list as well, at synth and, when ``scope`` is their stack or something above it, by the launcher at run time.

    Parameters
    ----------
    scope : Construct
        Binds what is declared under it.
    construct_id : str
        Its name under the scope.
    allowed : sequence of str
        Types and patterns with IAM's wildcards, such as ``ml.g5.*``. CreateApp's ``system`` is a type of its own.
    actions : sequence of str, optional
        The actions to restrict, such as ``sagemaker:CreateTrainingJob``; by default every action whose requests carry
        their instance types. Others cannot be restricted by type: `findings` lists them.
    without_types : sequence of str, optional
        Actions that are also approved when the request names no type: serverless endpoint configurations and training
        jobs, domains and profiles without a default type, updates that keep the type. By default none is.
    deny_actions : sequence of str, optional
        Actions that never carry their types and are forbidden altogether; `ungoverned_actions` returns the candidates.
    compress : bool
        Write the list with as few wildcards as approve the same known types. A family of which every known size is
        approved then includes its sizes of the future.
    exempt : sequence of str, optional
        ARN patterns of principals that the denying forms do not bind, such as ``arn:aws:iam::*:role/gpu-admin``.
    max_runtime : Duration, optional
        The longest runtime that a request may ask for; a request without one is refused.
    max_keep_alive : Duration, optional
        The longest keep-alive of a warm pool; a request without one passes.
    volume_keys, output_keys : sequence of str or IKey, optional
        The KMS keys that volumes and outputs must be encrypted with, as keys, ARNs or ARN patterns.
    subnets, security_groups : sequence of str, optional
        Where jobs must run; a request outside a VPC is refused.
    network_isolation : bool
        Refuse requests without network isolation.
    binds_scope : bool
        Whether jobs and endpoints declared under ``scope`` are held against the list; True by default.

    Raises
    ------
    InvalidInputError
        For an empty list, a pattern that matches no known type, an action that does not exist or never carries its
        types, or a job under the scope that asks for something else.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> from aws_cdk import aws_iam as iam
    >>> stack = cdk.Stack(cdk.App(), "Research")
    >>> scientist = iam.Role(stack, "Scientist", assumed_by=iam.AccountRootPrincipal())
    >>> guardrail = InstanceTypeGuardrail(stack, "Approved", allowed=["ml.g5.*", "ml.p5.48xlarge"])
    >>> guardrail.apply_to(scientist).grants.launch(scientist)
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        allowed: Sequence[str],
        actions: Sequence[str] | None = None,
        without_types: Sequence[str] = (),
        deny_actions: Sequence[str] = (),
        compress: bool = False,
        exempt: Sequence[str] = (),
        max_runtime: Duration | None = None,
        max_keep_alive: Duration | None = None,
        volume_keys: Sequence[str | aws_kms.IKey] = (),
        output_keys: Sequence[str | aws_kms.IKey] = (),
        subnets: Sequence[str] = (),
        security_groups: Sequence[str] = (),
        network_isolation: bool = False,
        binds_scope: bool = True,
    ) -> None:
        patterns = checked_patterns(allowed)
        self._allowed = compressed(patterns) if compress else patterns
        self._declared = Declaration(
            types=instance_types(self._allowed),
            others=companions(
                max_runtime=_seconds(max_runtime),
                max_keep_alive=_seconds(max_keep_alive),
                volume_keys=_arns(volume_keys),
                output_keys=_arns(output_keys),
                subnets=subnets,
                security_groups=security_groups,
                network_isolation=network_isolation,
            ),
            actions=iam.carrying_actions() if actions is None else _carrying("actions", actions),
            without_types=_carrying("without_types", without_types),
            denied=_never_carrying(deny_actions),
            exempt=tuple(exempt),
        )
        super().__init__(
            scope,
            construct_id,
            deny=document(self._declared.deny()),
            boundary=document(self._declared.boundary()),
            shorter=_SHORTEST if compress else _shorter(self._allowed),
        )
        if binds_scope:
            approvals(scope.node.root).approve(scope.node.path, self.node.path, self._allowed)

    @staticmethod
    def ungoverned_actions() -> tuple[str, ...]:
        """Return the SageMaker actions that start or grow instances and never carry their type."""
        return tuple(name for name in iam.gaps() if name in iam.actions())

    @property
    def allowed(self) -> tuple[str, ...]:
        """What is approved, as the policies say it."""
        return self._allowed

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions that are restricted by type."""
        return self._declared.actions

    @cached_property
    def identity_document(self) -> Document:
        """The policy document that allows what is approved; beside a wider Allow it restricts nothing."""
        return self._fitting(document(self._declared.allow()), "managed")

    @cached_property
    def identity_policy(self) -> aws_iam.ManagedPolicy:
        """A managed policy that allows what is approved, made once."""
        return attaching.managed_policy(
            self, "IdentityPolicy", self.identity_document, "allows approved instance types"
        )

    @property
    def grants(self) -> InstanceTypeGrants:
        """Permissions for others: ``guardrail.grants.launch(role)``."""
        return InstanceTypeGrants(self._fitting(self.identity_document, "role-inline"))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What this guardrail cannot see, each with what closes it."""
        return tuple(remaining_gaps(self._declared, self._allowed))


class InstanceTypeGrants:
    """Permissions to launch what a guardrail approves."""

    def __init__(self, identity_document: Document) -> None:
        self._document = identity_document

    def launch(self, grantee: aws_iam.IGrantable) -> None:
        """Allow launching approved types. Passing the job's role is a permission of its own.

        Raises
        ------
        InvalidInputError
            If the grantee takes no policy.
        """
        attaching.add_statements(grantee, self._document["Statement"])


def _shorter(allowed: Sequence[str]) -> str:
    short = compressed(allowed)
    size = sum(len(pattern) + 3 for pattern in short)
    return f"compress=True writes the same types in {size:,} characters: {', '.join(short)}"


def _seconds(length: Duration | None) -> int | None:
    return None if length is None else int(length.to_seconds())


def _arns(keys: Sequence[str | aws_kms.IKey]) -> list[str]:
    return [key if isinstance(key, str) else key.key_arn for key in keys]


def _carrying(prop: str, names: Sequence[str]) -> tuple[str, ...]:
    known = [_known(prop, name) for name in names]
    for action in known:
        if action.carries(iam.INSTANCE_TYPES_KEY) is False:
            raise InvalidInputError(
                f"{prop}: requests of {action.name} never carry their instance types, so they cannot be restricted by "
                "type; forbid it altogether with deny_actions, or leave it out"
            )
    return tuple(action.name for action in known)


def _never_carrying(names: Sequence[str]) -> tuple[str, ...]:
    known = [_known("deny_actions", name) for name in names]
    for action in known:
        if action.carries(iam.INSTANCE_TYPES_KEY):
            raise InvalidInputError(f"deny_actions: {action.name} carries its instance types and is restricted by them")
    return tuple(action.name for action in known)


def _known(prop: str, name: str) -> iam.Action:
    action = iam.actions().get(name)
    if action is None:
        near = nearest(name, iam.actions())
        hint = f"{near} is meant" if near else "names are written like sagemaker:CreateTrainingJob"
        raise InvalidInputError(f"{prop}: there is no action {name!r}; {hint}")
    return action
