"""Everything that has a name and no behaviour of its own here: kept as created, described as the model says.

Which kinds there are is read from botocore's model: a kind whose Describe answer can be made from what Create received.
Jobs are left out, because a job that never runs would be a lie.
"""

from __future__ import annotations

import functools
import hashlib
import re
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.modelcheck import operation_model, service_model
from constructs_lib.sandbox.patterns import matches

from .paging import page, sort_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.model import Shape

    from constructs_lib.sandbox.context import Context

    from .agenda import Agenda
    from .tags import Tags

__all__ = ["Resources", "project"]

Request = dict[str, Any]
_READY = ("InService", "Active", "Created", "CREATED", "Completed", "Scheduled")
_COMPUTED = ("CreationTime", "LastModifiedTime")
_SORT_KEYS = {"name": "-name", "status": "-status", "lastmodifiedtime": "LastModifiedTime"}
_WINDOWS = {"CreationTime": "CreationTime", "LastModifiedTime": "LastModifiedTime"}
_FILTERS = {"NameContains", "StatusEquals", "SortBy", "SortOrder", "NextToken", "MaxResults"} | {
    f"{window}{side}" for window in _WINDOWS for side in ("After", "Before")
}
# Members of an answer that another member of the request gives. Source: botocore 1.44.8.
_RENAMED = {"ClusterInstanceGroupDetails": {"CurrentCount": "InstanceCount", "TargetCount": "InstanceCount"}}


class Resources:
    """Named resources of every kind that needs no behaviour; each is ready at once.

    Parameters
    ----------
    context
        Account and region.
    agenda
        The order of time.
    tags
        Where tags are kept.
    """

    def __init__(self, context: Context, agenda: Agenda, tags: Tags) -> None:
        self._context, self._agenda, self._tags = context, agenda, tags
        self._kinds: dict[str, dict[str, Request]] = {kind: {} for kind in _kinds()}

    def operations(self) -> dict[str, Callable[[Request], Request]]:
        """Return the API operations by name."""
        verbs = {
            "Create": self.create,
            "Describe": self.describe,
            "Update": self.update,
            "Delete": self.delete,
            "List": self.list,
        }
        known = service_model("sagemaker").operation_names
        named = {
            f"{verb}{kind}{'s' if verb == 'List' else ''}": functools.partial(call, kind)
            for kind in self._kinds
            for verb, call in verbs.items()
        }
        return {name: call for name, call in named.items() if name in known}

    def create(self, kind: str, request: Request) -> Request:
        """Keep a new resource."""
        name, arn = request[f"{kind}Name"], self._arn(kind, request[f"{kind}Name"])
        with self._agenda.moment() as now:
            if name in self._kinds[kind]:
                words = f'Cannot create already existing {_words(kind)} "{arn}".'
                raise ServiceError(_code("Create", kind, "ResourceInUse"), words)
            self._kinds[kind][name] = request | {f"{kind}Arn": arn, **dict.fromkeys(_COMPUTED, now)}
            self._tags.create(arn, request.get("Tags", ()))
        return {f"{kind}Arn": arn}

    def describe(self, kind: str, request: Request) -> Request:
        """Return a resource."""
        with self._agenda.moment():
            kept = self.find(kind, request[f"{kind}Name"])
            shape = operation_model("sagemaker", f"Describe{kind}").output_shape
            return dict(project(shape, _with_status(kind, shape, kept)))

    def update(self, kind: str, request: Request) -> Request:
        """Change what a request names of a resource."""
        with self._agenda.moment() as now:
            kept = self.find(kind, request[f"{kind}Name"])
            kept |= {name: value for name, value in request.items() if name != f"{kind}Name"}
            kept["LastModifiedTime"] = now
            return _answer(f"Update{kind}", kept)

    def delete(self, kind: str, request: Request) -> Request:
        """Forget a resource."""
        with self._agenda.moment():
            kept = self.find(kind, request[f"{kind}Name"])
            del self._kinds[kind][kept[f"{kind}Name"]]
            self._tags.drop(kept[f"{kind}Arn"])
            return _answer(f"Delete{kind}", kept)

    def list(self, kind: str, request: Request) -> Request:
        """Return one page of a kind's resources.

        Raises
        ------
        ServiceError
            If the request filters by what is not kept.
        """
        unknown = sorted(set(request) - _FILTERS)
        if unknown:
            raise ServiceError("ValidationException", f"the sandbox does not filter {kind}s by {', '.join(unknown)}")
        shape = operation_model("sagemaker", f"List{kind}s").output_shape
        member = next(name for name, inner in shape.members.items() if inner.type_name == "list")
        summary = shape.members[member].member
        with self._agenda.moment():
            rows = [self._row(kind, summary, kept) for kept in self._kinds[kind].values()]
        rows = [row for row in rows if request.get("NameContains", "") in row["-name"]]
        rows = [row for row in rows if request.get("StatusEquals", row["-status"]) == row["-status"]]
        keys = (_SORT_KEYS.get(request.get("SortBy", "").replace("_", "").lower(), "CreationTime"), "-name")
        request = request | {"SortOrder": request.get("SortOrder", "Ascending").capitalize()}
        answer = page(sort_rows(rows, request, _WINDOWS, *keys), request, member, keys)
        return answer | {member: [project(summary, row) for row in answer[member]]}

    def has(self, kind: str, name: str) -> bool:
        """Say whether there is a resource of this name."""
        return name in self._kinds[kind]

    def find(self, kind: str, name_or_arn: str) -> Request:
        """Return what is kept of a resource.

        Raises
        ------
        ServiceError
            If there is no such resource.
        """
        for name, kept in self._kinds[kind].items():
            if name_or_arn in (name, kept[f"{kind}Arn"]):
                return kept
        arn = name_or_arn if name_or_arn.startswith("arn:") else self._arn(kind, name_or_arn)
        raise ServiceError(_code("Describe", kind, "ResourceNotFound"), f'Could not find {_words(kind)} "{arn}".')

    def _row(self, kind: str, summary: Shape, kept: Request) -> Request:
        row = _with_status(kind, summary, kept)
        return row | {"-name": kept[f"{kind}Name"], "-status": row.get(f"{kind}Status") or row.get("Status")}

    def _arn(self, kind: str, name: str) -> str:
        return f"arn:aws:sagemaker:{self._context.region}:{self._context.account}:{_resource_part(kind, name)}"


def project(shape: Shape, value: Any) -> Any:
    """Return what of a value a shape of an answer has room for."""
    if shape.type_name == "structure":
        renamed = {new: value[old] for new, old in _RENAMED.get(shape.name, {}).items() if old in value}
        return {
            name: project(shape.members[name], inner)
            for name, inner in (renamed | value).items()
            if name in shape.members and inner is not None
        }
    if shape.type_name == "list":
        return [project(shape.member, inner) for inner in value]
    return value


@functools.cache
def _kinds() -> tuple[str, ...]:
    names = service_model("sagemaker").operation_names
    creatable = (name.removeprefix("Create") for name in names if name.startswith("Create"))
    return tuple(
        kind
        for kind in creatable
        if not kind.endswith("Job") and {f"Describe{kind}", f"Delete{kind}"} <= set(names) and _is_plain(kind)
    )


def _is_plain(kind: str) -> bool:
    """Say whether a kind goes by its name, and its description can be made from what created it."""
    create, describe = operation_model("sagemaker", f"Create{kind}"), operation_model("sagemaker", f"Describe{kind}")
    name, arn = f"{kind}Name", f"{kind}Arn"
    if name not in create.input_shape.required_members or describe.input_shape.required_members != [name]:
        return False
    if create.output_shape is None or list(create.output_shape.members) != [arn]:
        return False
    arn_pattern = create.output_shape.members[arn].metadata.get("pattern", "")
    if not matches(arn_pattern, f"arn:aws:sagemaker:us-east-1:123456789012:{_resource_part(kind, 'name')}"):
        return False
    given = {*create.input_shape.members, arn, f"{kind}Status", "Status", *_COMPUTED}
    return given >= {
        name for name in describe.output_shape.required_members if _empty(describe.output_shape, name) is None
    }


def _resource_part(kind: str, name: str) -> str:
    """Return what stands after the account in a resource's ARN, read from the pattern that the model gives."""
    pattern = (
        operation_model("sagemaker", f"Create{kind}").output_shape.members[f"{kind}Arn"].metadata.get("pattern", "")
    )
    if pattern.endswith("[a-z0-9]{12}"):  # an id instead of the name
        name = hashlib.sha256(name.encode()).hexdigest()[:12]
    words = re.findall(r":([a-z-]+)/", pattern)
    return f"{words[-1] if words else '?'}/{name}"


def _empty(shape: Shape, name: str) -> Any:
    """Return the empty value that a member may have; None if it may not be empty."""
    member = shape.members[name]
    if member.type_name == "list":
        return [] if not member.metadata.get("min") else None
    return {} if member.type_name == "structure" and not member.required_members else None


def _with_status(kind: str, shape: Shape, kept: Request) -> Request:
    """Add the status of a resource that is ready, and what an answer must have even if empty."""
    empty: Request = {name: _empty(shape, name) for name in shape.required_members}
    for name in (f"{kind}Status", "Status"):
        member = shape.members.get(name)
        if member is not None and getattr(member, "enum", None):
            empty[name] = next((word for word in _READY if word in member.enum), member.enum[0])
    return empty | kept


def _answer(operation: str, kept: Request) -> Request:
    shape = operation_model("sagemaker", operation).output_shape
    return dict(project(shape, kept)) if shape else {}


def _code(verb: str, kind: str, code: str) -> str:
    """Return the error the model knows for an operation, or the general one."""
    known = [shape.name for shape in operation_model("sagemaker", f"{verb}{kind}").error_shapes]
    return code if code in known else "ValidationException"


def _words(kind: str) -> str:
    """Return a kind's name as AWS's messages write it."""
    return re.sub("(?<!^)(?=[A-Z])", " ", kind).lower().replace(" config", " configuration")
