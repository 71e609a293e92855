"""IAM in a template: each policy document on its own, and each role with all that the template attaches to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.rules.subjects import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constructs_lib.rules.readers.reading import Reading
    from constructs_lib.rules.readers.template import Resource

__all__ = ["read_roles", "role_of", "statements_of_role"]

_INLINE_TYPE = {"AWS::IAM::Role": "role-inline", "AWS::IAM::User": "user-inline", "AWS::IAM::Group": "group-inline"}
_ATTACHED = ("AWS::IAM::Policy", "AWS::IAM::RolePolicy", "AWS::IAM::ManagedPolicy")
_SCP = "SERVICE_CONTROL_POLICY"


def read_roles(resources: list[Resource], reading: Reading) -> None:
    """Append every policy document, and every role with its statements and the calls that run with it."""
    boundaries = _boundaries(resources)
    for resource in resources:
        for keys, document, kind in _documents(resource, boundaries):
            subject = resource.subject(Kind.IAM_DOCUMENT, document, "Properties", *keys, about={"Type": kind})
            reading.subjects.append(subject)
    machines = [s for s in reading.subjects if s.kind is Kind.STATE_MACHINE]
    for resource in resources:
        if resource.type != "AWS::IAM::Role":
            continue
        statements, complete = statements_of_role(resource, resources)
        calls = [
            call
            for machine in machines
            if role_of(machine.about.get("RoleArn")) == resource.name
            for call in machine.about.get("Calls", [])
        ]
        data = {
            "RoleName": resource.properties.get("RoleName"),
            "AssumeRolePolicyDocument": resource.properties.get("AssumeRolePolicyDocument"),
            "Statements": statements,
            "Complete": complete,
        }
        reading.subjects.append(resource.subject(Kind.ROLE, data, "Properties", about={"Calls": calls}))


def role_of(reference: Any) -> str | None:
    """Return the logical id that a role reference names, if it is one of the template.

    Examples
    --------
    >>> role_of({"Fn::GetAtt": ["MachineRole", "Arn"]}), role_of("arn:aws:iam::1:role/x")
    ('MachineRole', None)
    """
    if isinstance(reference, dict):
        target = reference.get("Fn::GetAtt", reference.get("Ref"))
        name = target[0] if isinstance(target, list) and target else target
        return name.split(".")[0] if isinstance(name, str) else None
    return None


def statements_of_role(role: Resource, resources: list[Resource]) -> tuple[list[Any], bool]:
    """Return all statements that the template attaches to a role, and whether nothing else can be attached."""
    statements = [s for _, document, _ in _documents(role, frozenset()) for s in _statements(document)]
    named = role.properties.get("RoleName")
    complete = not role.properties.get("ManagedPolicyArns")
    for other in resources:
        roles = other.properties.get("Roles", [other.properties.get("RoleName")])
        if other.type not in _ATTACHED or not isinstance(roles, list):
            continue
        if any(role_of(item) == role.name or (named and item == named) for item in roles):
            statements += _statements(other.properties.get("PolicyDocument"))
    managed = role.properties.get("ManagedPolicyArns")
    ours = {r.name: r for r in resources if r.type == "AWS::IAM::ManagedPolicy"}
    if isinstance(managed, list) and managed and all(role_of(item) in ours for item in managed):
        complete = True
        statements += [
            s for item in managed for s in _statements(ours[str(role_of(item))].properties.get("PolicyDocument"))
        ]
    return statements, complete


def _statements(document: Any) -> list[Any]:
    found = document.get("Statement", []) if isinstance(document, dict) else []
    return found if isinstance(found, list) else [found]


def _boundaries(resources: list[Resource]) -> frozenset[str]:
    """Return the managed policies of the template that serve as a permissions boundary."""
    names = (role_of(resource.properties.get("PermissionsBoundary")) for resource in resources)
    return frozenset(name for name in names if name)


def _documents(resource: Resource, boundaries: frozenset[str]) -> Iterator[tuple[tuple[str | int, ...], Any, str]]:
    properties = resource.properties
    if kind := _INLINE_TYPE.get(resource.type):
        policies = properties.get("Policies")
        for index, policy in enumerate(policies if isinstance(policies, list) else []):
            if isinstance(policy, dict) and isinstance(policy.get("PolicyDocument"), dict):
                yield ("Policies", index, "PolicyDocument"), policy["PolicyDocument"], kind
    elif resource.type in _ATTACHED and isinstance(properties.get("PolicyDocument"), dict):
        yield ("PolicyDocument",), properties["PolicyDocument"], _attached_type(resource, boundaries)
    elif resource.type == "AWS::Organizations::Policy" and properties.get("Type") == _SCP:
        yield ("Content",), properties.get("Content"), "scp"
    elif resource.type == "AWS::SSO::PermissionSet" and isinstance(properties.get("InlinePolicy"), dict):
        yield ("InlinePolicy",), properties["InlinePolicy"], "role-inline"


def _attached_type(resource: Resource, boundaries: frozenset[str]) -> str:
    if resource.type == "AWS::IAM::ManagedPolicy":
        return "permissions-boundary" if resource.name in boundaries else "managed"
    if resource.properties.get("Users"):
        return "user-inline"
    return "group-inline" if resource.properties.get("Groups") else "role-inline"
