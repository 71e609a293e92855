"""A reserved endpoint as subjects: the declaration, and the configurations that it leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.rules.subjects import Carrier, Kind, Subject
from constructs_lib.rules.values import mapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["subjects_of"]


def subjects_of(
    properties: Mapping[str, Any], *, path: str = "", models: Sequence[Mapping[str, Any]] = (), **place: Any
) -> list[Subject]:
    """Return the declaration, its configuration on the plan, and the one for after the plan if there is one.

    Parameters
    ----------
    properties : Mapping
        Those of Custom::SageMakerReservedEndpoint.
    path : str
        Where they stand.
    models : sequence of Mapping
        The declaration's ``Models``, see `Kind`.
    **place
        More of `Subject`: file, resource, stack and so on.

    Examples
    --------
    >>> [subject.path for subject in subjects_of({"EndpointConfig": {}, "OnExpiry": {"Action": "delete"}}, path="Chat")]
    ['Chat', 'Chat.EndpointConfig']
    """
    around = {"carrier": Carrier.TEMPLATE, **place}
    declared = Subject(Kind.RESERVED_ENDPOINT, properties, path=path, about={"Models": list(models)}, **around)
    places = {"EndpointConfig": properties.get("EndpointConfig")}
    after = mapping(properties.get("OnExpiry")).get("EndpointConfig")
    if after is not None:
        places["OnExpiry.EndpointConfig"] = after
    configs = [
        Subject(Kind.ENDPOINT_CONFIG, mapping(data), path=declared.place(at), about={"Reconciled": True}, **around)
        for at, data in places.items()
    ]
    return [declared, *configs]
