"""Resource types that are one create, one update and one delete call of an API."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from botocore import xform_name
from botocore.exceptions import ClientError

from .base import Made, Request, ResourceError, ResourceType, tag_map
from .fit import fit, request_shape

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ApiType", "absent", "call", "retag"]


def call(client: Any, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Call an operation with parameters that are fitted to its request."""
    answer: dict[str, Any] = getattr(client, xform_name(operation))(**fit(request_shape(client, operation), parameters))
    return answer


def absent(error: ClientError) -> bool:
    """Return whether an error says that the thing does not exist."""
    code = error.response["Error"]["Code"]
    message = error.response["Error"]["Message"].lower()
    return (
        any(word in code for word in ("NotFound", "NoSuch", "DoesNotExist", "NonExistent", "ParameterNotFound"))
        or error.response["ResponseMetadata"]["HTTPStatusCode"] == 404
        or (code.startswith("Validation") and any(w in message for w in ("not found", "could not find", "not exist")))
    )


class ApiType(ResourceType):
    """A type whose properties are an API's request members, or nearly so.

    Attributes
    ----------
    service
        botocore's name of the service.
    create_call, update_call, delete_call
        Operations; without `update_call` only `apply` and tags can change in place.
    name
        The property that names the resource and is generated if left out; empty if the service names it.
    identifier
        The request member by which update and delete name the resource.
    identity
        Properties that name it together, in place of `identifier`.
    answer
        Where in the create call's answer the physical ID is; without it the ID is the name, or the `identity` joined.
    rename
        Property to request member, where they differ by more than case.
    apart
        Properties that `apply` deals with.
    defaults
        What an update sends for a property that a template no longer gives.
    name_limit
        Most characters of a generated name.
    """

    service: ClassVar[str]
    create_call: ClassVar[str]
    update_call: ClassVar[str] = ""
    delete_call: ClassVar[str]
    name: ClassVar[str] = ""
    identifier: ClassVar[str]
    identity: ClassVar[tuple[str, ...]] = ()
    answer: ClassVar[tuple[str, ...]] = ()
    rename: ClassVar[dict[str, str]] = {}
    apart: ClassVar[frozenset[str]] = frozenset()
    defaults: ClassVar[dict[str, Any]] = {}
    name_limit: ClassVar[int] = 64

    def create(self, request: Request) -> Made:
        """Make the resource with one call, then apply what the call does not take."""
        parameters = self.parameters(request, request.properties)
        if self.name:
            parameters.setdefault(self.rename.get(self.name, self.name), self.new_name(request))
        client = request.client(self.service)
        known = {name.lower() for name in request_shape(client, self.create_call).members}
        beyond = [key for key in parameters if key.lower() not in known]
        if beyond:
            raise ResourceError(f"the sandbox does not support {', '.join(beyond)} of {self.type}")
        answer = call(client, self.create_call, parameters)
        request = replace(request, physical_id=self.identify(parameters, answer))
        request.initiated(request.physical_id)
        self.apply(request)
        self.settle(request)
        return Made(request.physical_id, self.read(request))

    def update(self, request: Request) -> Made:
        """Change the resource with one call if a property of that call changed."""
        main = [key for key in {**request.old, **request.properties} if key not in self.apart and key != "Tags"]
        if request.changed(*main):
            self.change(request, [key for key in main if request.changed(key)])
        self.apply(request)
        if request.changed("Tags") and "Tags" not in self.apart:
            self.tag(request)
        self.settle(request)
        return Made(request.physical_id, self.read(request))

    def change(self, request: Request, changed: list[str]) -> None:
        """Make the update call, with every property it takes."""
        client = request.client(self.service)
        known = (
            {name.lower() for name in request_shape(client, self.update_call).members} if self.update_call else set()
        )
        beyond = [key for key in changed if self.rename.get(key, key).lower() not in known]
        if beyond:
            raise ResourceError(f"the sandbox cannot change {', '.join(beyond)} of {self.type} in place")
        given = {key: value for key, value in self.defaults.items() if key in request.old} | request.properties
        wanted = self.parameters(request, {key: value for key, value in given.items() if key != "Tags"})
        parameters = {key: value for key, value in wanted.items() if key.lower() in known}
        call(client, self.update_call, {**parameters, **self.key(request)})

    def delete(self, request: Request) -> None:
        """Remove the resource and wait until it is gone."""
        try:
            call(request.client(self.service), self.delete_call, self.key(request))
        except ClientError as error:
            if not absent(error):
                raise
        self.settle_deleted(request)

    def parameters(self, request: Request, properties: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - for overriders
        """Return the call's parameters of some properties."""
        return {self.rename.get(key, key): value for key, value in properties.items() if key not in self.apart}

    def new_name(self, request: Request) -> str:
        """Return a generated name."""
        return request.name(self.name_limit)

    def identify(self, parameters: dict[str, Any], answer: dict[str, Any]) -> str:
        """Return what `Ref` gives."""
        if not self.answer:
            members = self.identity or (self.rename.get(self.name, self.name),)
            return "|".join(str(parameters[member]) for member in members if member in parameters)
        value: Any = answer
        for member in self.answer:
            value = value[member]
        return str(value)

    def key(self, request: Request) -> dict[str, Any]:
        """Return the parameters that name the resource in update and delete."""
        if self.identity:
            return {name: request.properties[name] for name in self.identity if name in request.properties}
        return {self.identifier: request.physical_id}

    def apply(self, request: Request) -> None:
        """Apply the properties that are `apart`; in an update only those that changed need a call."""

    def settle(self, request: Request) -> None:
        """Wait until a create or update took effect."""

    def settle_deleted(self, request: Request) -> None:
        """Wait until a delete took effect."""

    def read(self, request: Request) -> dict[str, Any]:  # noqa: ARG002 - for overriders
        """Return the attributes."""
        return {}

    def tag(self, request: Request) -> None:
        """Bring the tags of an existing resource up to date."""
        retag(request, self.service, self.tagged(request))

    def tagged(self, request: Request) -> str:
        """Return the ARN by which the tag calls name the resource."""
        return str(self.read(request).get("Arn", request.physical_id))


def retag(request: Request, service: str, arn: str, *, tag: str = "TagResource", untag: str = "UntagResource") -> None:
    """Change tags through a service's two tag operations, whatever they call their members."""
    client = request.client(service)
    old, new = tag_map(request.old.get("Tags")), tag_map(request.properties.get("Tags"))
    gone = [key for key in old if key not in new]
    if gone:
        _tag_call(client, untag, arn, gone)
    added = {key: value for key, value in new.items() if old.get(key) != value}
    if added:
        _tag_call(client, tag, arn, [{"Key": k, "Value": v} for k, v in added.items()])


def _tag_call(client: Any, operation: str, arn: str, tags: Iterable[Any]) -> None:
    members = request_shape(client, operation).members
    about = next(name for name in members if "tag" not in name.lower())
    what = next(name for name in members if "tag" in name.lower())
    call(client, operation, {about: arn, what: tags})
