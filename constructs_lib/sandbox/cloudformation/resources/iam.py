"""AWS::IAM types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from botocore.exceptions import ClientError

from .api import ApiType, absent, retag
from .base import Made, Request, ResourceType, plain

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["InstanceProfile", "ManagedPolicy", "Policy", "Role"]

_PRINCIPALS = (("Roles", "role", "RoleName"), ("Users", "user", "UserName"), ("Groups", "group", "GroupName"))


def _quietly(action: Callable[..., Any], **parameters: Any) -> None:
    """Undo something that may be undone already."""
    try:
        action(**parameters)
    except ClientError as error:
        if not absent(error):
            raise


class Role(ApiType):
    """A role with its inline policies and attachments."""

    type = "AWS::IAM::Role"
    attributes = frozenset({"Arn", "RoleId"})
    service = "iam"
    create_call, delete_call = "CreateRole", "DeleteRole"
    name = identifier = "RoleName"
    apart = frozenset({"ManagedPolicyArns", "Policies"})

    def change(self, request: Request, changed: list[str]) -> None:
        """Change trust policy, description, session length and boundary, each by its own call."""
        client, name, wanted = request.client("iam"), request.physical_id, request.properties
        if "AssumeRolePolicyDocument" in changed:
            client.update_assume_role_policy(RoleName=name, PolicyDocument=plain(wanted["AssumeRolePolicyDocument"]))
        if "Description" in changed or "MaxSessionDuration" in changed:
            client.update_role(
                RoleName=name,
                Description=wanted.get("Description", ""),
                MaxSessionDuration=int(wanted.get("MaxSessionDuration", 3600)),
            )
        if "PermissionsBoundary" in changed:
            if "PermissionsBoundary" in wanted:
                client.put_role_permissions_boundary(RoleName=name, PermissionsBoundary=wanted["PermissionsBoundary"])
            else:
                client.delete_role_permissions_boundary(RoleName=name)

    def apply(self, request: Request) -> None:
        """Attach and detach policies, put and delete inline ones."""
        client = request.client("iam")
        old, new = (set(p.get("ManagedPolicyArns", [])) for p in (request.old, request.properties))
        for arn in sorted(old - new):
            _quietly(client.detach_role_policy, RoleName=request.physical_id, PolicyArn=arn)
        for arn in sorted(new - old):
            client.attach_role_policy(RoleName=request.physical_id, PolicyArn=arn)
        before, after = (_inline(p) for p in (request.old, request.properties))
        for name in before.keys() - after.keys():
            _quietly(client.delete_role_policy, RoleName=request.physical_id, PolicyName=name)
        for name, document in after.items():
            if before.get(name) != document:
                client.put_role_policy(RoleName=request.physical_id, PolicyName=name, PolicyDocument=document)

    def delete(self, request: Request) -> None:
        """Detach what the template attached, then delete the role."""
        client, name = request.client("iam"), request.physical_id
        for arn in request.properties.get("ManagedPolicyArns", []):
            _quietly(client.detach_role_policy, RoleName=name, PolicyArn=arn)
        for policy in _inline(request.properties):
            _quietly(client.delete_role_policy, RoleName=name, PolicyName=policy)
        super().delete(request)

    def read(self, request: Request) -> dict[str, Any]:
        """Return ARN and ID."""
        role = request.client("iam").get_role(RoleName=request.physical_id)["Role"]
        return {"Arn": role["Arn"], "RoleId": role["RoleId"]}

    def tag(self, request: Request) -> None:
        """Tag the role."""
        retag(request, "iam", request.physical_id, tag="TagRole", untag="UntagRole")


def _inline(properties: dict[str, Any]) -> dict[str, str]:
    return {policy["PolicyName"]: plain(policy["PolicyDocument"]) for policy in properties.get("Policies", [])}


class Policy(ResourceType):
    """An inline policy that is put into roles, users and groups."""

    type = "AWS::IAM::Policy"
    attributes = frozenset({"Id"})

    def create(self, request: Request) -> Made:
        """Put the policy into every principal."""
        physical_id = request.name(128)
        request.initiated(physical_id)
        self._put(request)
        return Made(physical_id, {"Id": physical_id})

    def update(self, request: Request) -> Made:
        """Put the policy where it belongs now, and take it from where it does not."""
        self._put(request)
        now = _holders(request.properties)
        for holder in _holders(request.old):
            if holder not in now:
                self._take(request, *holder)
        return Made(request.physical_id, {"Id": request.physical_id})

    def delete(self, request: Request) -> None:
        """Take the policy from every principal."""
        for holder in _holders(request.properties):
            self._take(request, *holder)

    def _put(self, request: Request) -> None:
        document = plain(request.properties["PolicyDocument"])
        for kind, key, principal, name in _holders(request.properties):
            put = getattr(request.client("iam"), f"put_{kind}_policy")
            put(**{key: principal}, PolicyName=name, PolicyDocument=document)

    def _take(self, request: Request, kind: str, key: str, principal: str, name: str) -> None:
        _quietly(getattr(request.client("iam"), f"delete_{kind}_policy"), **{key: principal}, PolicyName=name)


def _holders(properties: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    name = properties["PolicyName"]
    return [(kind, key, who, name) for prop, kind, key in _PRINCIPALS for who in properties.get(prop, [])]


class ManagedPolicy(ApiType):
    """A managed policy with its attachments."""

    type = "AWS::IAM::ManagedPolicy"
    attributes = frozenset({"PolicyArn", "PolicyId", "DefaultVersionId"})
    service = "iam"
    answer = ("Policy", "Arn")
    create_call, delete_call = "CreatePolicy", "DeletePolicy"
    name, identifier = "ManagedPolicyName", "PolicyArn"
    name_limit = 128
    rename: ClassVar = {"ManagedPolicyName": "PolicyName"}
    apart = frozenset({"Roles", "Users", "Groups"})

    def change(self, request: Request, _changed: list[str]) -> None:
        """Make the new document the default version; of the five versions allowed the oldest makes room."""
        client, arn = request.client("iam"), request.physical_id
        others = [v for v in client.list_policy_versions(PolicyArn=arn)["Versions"] if not v["IsDefaultVersion"]]
        if len(others) == 4:
            oldest = min(others, key=lambda version: int(version["VersionId"].lstrip("v")))
            client.delete_policy_version(PolicyArn=arn, VersionId=oldest["VersionId"])
        document = plain(request.properties["PolicyDocument"])
        client.create_policy_version(PolicyArn=arn, PolicyDocument=document, SetAsDefault=True)

    def apply(self, request: Request) -> None:
        """Attach to and detach from principals."""
        client = request.client("iam")
        for prop, kind, key in _PRINCIPALS:
            old, new = (set(p.get(prop, [])) for p in (request.old, request.properties))
            for who in sorted(new - old):
                getattr(client, f"attach_{kind}_policy")(**{key: who}, PolicyArn=request.physical_id)
            for who in sorted(old - new):
                _quietly(getattr(client, f"detach_{kind}_policy"), **{key: who}, PolicyArn=request.physical_id)

    def delete(self, request: Request) -> None:
        """Detach, delete the other versions, then the policy."""
        client, arn = request.client("iam"), request.physical_id
        for prop, kind, key in _PRINCIPALS:
            for who in request.properties.get(prop, []):
                _quietly(getattr(client, f"detach_{kind}_policy"), **{key: who}, PolicyArn=arn)
        for version in client.list_policy_versions(PolicyArn=arn)["Versions"]:
            if not version["IsDefaultVersion"]:
                client.delete_policy_version(PolicyArn=arn, VersionId=version["VersionId"])
        super().delete(request)

    def read(self, request: Request) -> dict[str, Any]:
        """Return ARN, ID and version."""
        policy = request.client("iam").get_policy(PolicyArn=request.physical_id)["Policy"]
        members = {"PolicyArn": "Arn", "PolicyId": "PolicyId", "DefaultVersionId": "DefaultVersionId"}
        return {attribute: policy[member] for attribute, member in members.items()}


class InstanceProfile(ApiType):
    """An instance profile with its role."""

    type = "AWS::IAM::InstanceProfile"
    attributes = frozenset({"Arn"})
    service = "iam"
    create_call, delete_call = "CreateInstanceProfile", "DeleteInstanceProfile"
    name = identifier = "InstanceProfileName"
    name_limit = 128
    apart = frozenset({"Roles"})

    def apply(self, request: Request) -> None:
        """Add and remove roles."""
        client = request.client("iam")
        old, new = (set(p.get("Roles", [])) for p in (request.old, request.properties))
        for role in sorted(old - new):
            _quietly(client.remove_role_from_instance_profile, InstanceProfileName=request.physical_id, RoleName=role)
        for role in sorted(new - old):
            client.add_role_to_instance_profile(InstanceProfileName=request.physical_id, RoleName=role)

    def delete(self, request: Request) -> None:
        """Remove the roles, then the profile."""
        remove = request.client("iam").remove_role_from_instance_profile
        for role in request.properties.get("Roles", []):
            _quietly(remove, InstanceProfileName=request.physical_id, RoleName=role)
        super().delete(request)

    def read(self, request: Request) -> dict[str, Any]:
        """Return the ARN."""
        profile = request.client("iam").get_instance_profile(InstanceProfileName=request.physical_id)["InstanceProfile"]
        return {"Arn": profile["Arn"]}
