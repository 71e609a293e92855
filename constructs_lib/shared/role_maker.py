"""Roles whose policies are written last, when all they serve is known, and measured before they are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jsii
from aws_cdk import Acknowledgment, IAnyProducer, IResolveContext, Lazy, Stack, Validations, aws_iam
from constructs import IValidation

from constructs_lib.shared.policies import INLINE_POLICY_MAX, document, estimated_size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aws_cdk.interfaces.aws_iam import IManagedPolicyRef
    from constructs import Construct

    from constructs_lib.shared.policies import Statement

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


@dataclass(frozen=True, slots=True)
class _Made:
    role: aws_iam.CfnRole
    name: str
    too_large: str
    statements: Callable[[], list[Statement]]
    others: Callable[[], list[Statement]]

    def policy(self) -> dict[str, Any]:
        return document([*self.statements(), *self.others()])


@jsii.implements(IValidation)
class RoleMaker:
    """Makes roles of one stack; at synth it measures their policies, and acknowledges their wildcards.

    Parameters
    ----------
    stack : Stack
    why_wide : Mapping
        Why a statement names more than one resource, by the service of its actions.
    boundary : IManagedPolicyRef or str, optional
        The permissions boundary of every role.
    policy_name : str
        The name of each role's inline policy.
    """

    def __init__(
        self,
        stack: Stack,
        why_wide: Mapping[str, str],
        boundary: IManagedPolicyRef | str | None = None,
        *,
        policy_name: str = "Jobs",
    ) -> None:
        self._stack, self._why_wide, self._boundary, self._policy_name = stack, why_wide, boundary, policy_name
        self._made: list[_Made] = []
        self._is_acknowledged = False

    def make(
        self,
        scope: Construct,
        construct_id: str,
        *,
        trust: dict[str, Any],
        statements: Callable[[], list[Statement]],
        too_large: str,
        others: Callable[[], list[Statement]] = list,
        path: str | None = None,
    ) -> aws_iam.CfnRole:
        """Return a new role with one inline policy.

        Parameters
        ----------
        trust : dict
            Who assumes the role.
        statements : callable
            Returns our statements, once everything is known.
        too_large : str
            What to do if the policy is larger than IAM takes.
        others : callable, optional
            Returns statements of the user, whose wildcards are not ours to acknowledge.
        path : str, optional
            IAM's path of the role.
        """
        inline = aws_iam.CfnRole.PolicyProperty(
            policy_name=self._policy_name, policy_document=late(lambda: document([*statements(), *others()]))
        )
        role = aws_iam.CfnRole(
            scope,
            construct_id,
            assume_role_policy_document=trust,
            policies=[inline],
            path=path,
            permissions_boundary=self._boundary,
        )
        self._made.append(_Made(role, construct_id, too_large, statements, others))
        return role

    def validate(self) -> list[str]:
        """Acknowledge the wildcards, and return what IAM would refuse for its size; CDK asks for it at synth."""
        if not self._is_acknowledged:
            self._is_acknowledged = True
            self._acknowledge()
        sizes = [(made, estimated_size(made.policy())) for made in self._made]
        return [
            f"{made.name}: the role's policy needs about {size:,} characters, IAM takes {INLINE_POLICY_MAX:,} a role; "
            + made.too_large
            for made, size in sizes
            if size > INLINE_POLICY_MAX
        ]

    def _acknowledge(self) -> None:
        """Tell cdk-nag why each wildcard is there; it knows a finding by the resource's text, known only now."""
        resolved = self._stack.resolve([made.statements() for made in self._made])
        for made, statements in zip(self._made, resolved, strict=True):
            wide = {
                f"AwsSolutions-IAM5[Resource::{text}]": self._why_wide[statement["Action"][0].split(":")[0]]
                for statement in statements
                for resource in statement["Resource"]
                if "*" in (text := _readable(resource))
            }
            if wide:
                acknowledged = [Acknowledgment(id=name, reason=why) for name, why in wide.items()]
                Validations.of(made.role).acknowledge(*acknowledged)


def _readable(resource: Any) -> str:
    """Return a resolved resource as cdk-nag writes it."""
    if isinstance(resource, str):
        return resource
    if "Fn::Join" in resource:
        delimiter, parts = resource["Fn::Join"]
        return str(delimiter).join(_readable(part) for part in parts)
    if "Fn::GetAtt" in resource:
        return f"<{'.'.join(resource['Fn::GetAtt'])}>"
    return f"<{resource['Ref']}>" if "Ref" in resource else json.dumps(resource, separators=(",", ":"))
