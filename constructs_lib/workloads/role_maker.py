"""Roles whose policies are written last, when all jobs are known, and measured before they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsii
from aws_cdk import IAnyProducer, IResolveContext, Lazy, aws_iam
from constructs import IValidation

from constructs_lib.workloads.policies import INLINE_POLICY_MAX, document, estimated_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_cdk.interfaces.aws_iam import IManagedPolicyRef
    from constructs import Construct

    from constructs_lib.workloads.policies import Statement

__all__ = ["RoleMaker", "late"]


@jsii.implements(IAnyProducer)
class _Late:
    def __init__(self, produce: Callable[[], Any]) -> None:
        self._produce = produce

    def produce(self, context: IResolveContext) -> Any:  # noqa: ARG002 - the interface's signature
        return self._produce()


def late(produce: Callable[[], Any]) -> Any:
    """Return a value that CDK asks for whenever it resolves the template; ``produce`` must make no construct."""
    return Lazy.uncached_any(_Late(produce))


@jsii.implements(IValidation)
class RoleMaker:
    """Makes the roles of one stack's jobs, and says at synth which of their policies IAM would refuse for its size.

    Parameters
    ----------
    boundary : IManagedPolicyRef or str, optional
        The permissions boundary of every role.
    """

    def __init__(self, boundary: IManagedPolicyRef | str | None = None) -> None:
        self._boundary = boundary
        self._measured: list[tuple[str, str, Callable[[], dict[str, Any]]]] = []

    def make(
        self,
        scope: Construct,
        construct_id: str,
        *,
        trust: dict[str, Any],
        statements: Callable[[], list[Statement]],
        too_large: str,
        path: str | None = None,
    ) -> aws_iam.CfnRole:
        """Return a new role with one inline policy.

        Parameters
        ----------
        trust : dict
            Who assumes the role.
        statements : callable
            Returns the policy's statements once all jobs are known.
        too_large : str
            What to do if the policy is larger than IAM takes.
        path : str, optional
            IAM's path of the role.
        """

        def policy() -> dict[str, Any]:
            return document(statements())

        self._measured.append((construct_id, too_large, policy))
        inline = aws_iam.CfnRole.PolicyProperty(policy_name="Jobs", policy_document=late(policy))
        return aws_iam.CfnRole(
            scope,
            construct_id,
            assume_role_policy_document=trust,
            policies=[inline],
            path=path,
            permissions_boundary=self._boundary,
        )

    def validate(self) -> list[str]:
        """Return what IAM would refuse, for CDK's synth."""
        sizes = [(name, estimated_size(policy()), fix) for name, fix, policy in self._measured]
        return [
            f"{name}: the role's policy needs about {size:,} characters, IAM takes {INLINE_POLICY_MAX:,} a role; {fix}"
            for name, size, fix in sizes
            if size > INLINE_POLICY_MAX
        ]
