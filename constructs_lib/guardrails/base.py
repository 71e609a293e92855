"""What every guardrail can do: bind a role, an organization, a permission set."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

from aws_cdk import Annotations, Names
from constructs import Construct

from constructs_lib.guardrails import attaching

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_iam, aws_organizations, aws_sso

    from constructs_lib.guardrails.forms import Document

__all__ = ["Guardrail"]


class Guardrail(Construct):
    """A declaration of what is forbidden; it binds nobody until it is applied.

    Parameters
    ----------
    scope, construct_id
        Where it stands.
    deny : Document
        The statements that refuse, whatever else allows.
    boundary : Document
        The same as a permissions boundary.
    shorter : str
        What to do when a document is too long.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, deny: Document, boundary: Document, shorter: str
    ) -> None:
        super().__init__(scope, construct_id)
        self._deny, self._boundary_statements, self._shorter = deny, boundary, shorter
        self._applied: set[str] = set()

    @property
    def deny_document(self) -> Document:
        """The policy document that refuses, whatever else allows."""
        return self._deny

    @property
    def boundary_document(self) -> Document:
        """The policy document of the permissions boundary."""
        return self._fitting(self._boundary_statements, "permissions-boundary")

    @cached_property
    def boundary(self) -> aws_iam.ManagedPolicy:
        """A managed policy to use as a permissions boundary, made once."""
        return attaching.managed_policy(self, "Boundary", self.boundary_document, f"boundary of {self.node.path}")

    def apply_to(self, role: aws_iam.IRole, *, boundary: bool = False) -> Self:
        """Restrict a role, whatever its policies allow; it is given nothing by this.

        Parameters
        ----------
        role : IRole
            The role; the denials go into its inline policy. An imported role must be mutable.
        boundary : bool
            Set the guardrail's boundary on the role as well. An aspect (``PermissionsBoundary.of(...)``, or the
            boundary in the app's context) replaces it at synth; the denials stay.

        Returns
        -------
        Self
            This guardrail.

        Raises
        ------
        InvalidInputError
            If the role takes no policy, or, with ``boundary``, has another boundary or is imported.
        """
        if boundary:
            attaching.set_boundary(role, self.boundary)
        if not self._has_denials(role):
            attaching.add_statements(role, self._fitting(self._deny, "role-inline")["Statement"])
        return self

    def add_service_control_policy(
        self, construct_id: str, *, target_ids: Sequence[str], name: str | None = None
    ) -> aws_organizations.CfnPolicy:
        """Attach the denials to roots, organizational units or accounts; deploy it in the management account.

        Parameters
        ----------
        construct_id : str
            Its name under the guardrail.
        target_ids : sequence of str
            Where it holds. The management account itself and service-linked roles are never bound.
        name : str, optional
            Its name in the organization; by default one made of the path.

        Raises
        ------
        InvalidInputError
            For no target or one that is none, and for a document that is too long.
        """
        denial = self._fitting(self._deny, "scp")
        policy = attaching.service_control_policy(
            self, construct_id, denial, name=name or Names.unique_resource_name(self), target_ids=target_ids
        )
        if words := attaching.longer_than_documented(denial):
            Annotations.of(policy).add_warning_v2("gpu-capacity:scp-size", words)
        return policy

    def apply_to_permission_set(self, permission_set: aws_sso.CfnPermissionSet) -> Self:
        """Add the denials to the inline policy of an IAM Identity Center permission set.

        Raises
        ------
        InvalidInputError
            If its inline policy is known only at deploy, or becomes too long.
        """
        attaching.add_to_permission_set(permission_set, self._deny["Statement"], self._shorter)
        return self

    def _has_denials(self, role: aws_iam.IRole) -> bool:
        path = role.node.path
        known = path in self._applied
        self._applied.add(path)
        return known

    def _fitting(self, made: Document, kind: str) -> Document:
        attaching.require_fit(made, kind, self._shorter)
        return made
