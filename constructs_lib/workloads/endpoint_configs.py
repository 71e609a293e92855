"""An endpoint configuration as CloudFormation makes it, from the request that the API would take."""

from __future__ import annotations

import re
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any

from aws_cdk.aws_sagemaker import CfnEndpointConfig

from constructs_lib.model.approvals import approvals, types_in
from constructs_lib.model.values import literal
from constructs_lib.rules import Carrier, Kind, Subject, check, raise_for_errors
from constructs_lib.shared.scopes import path_of, stack_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constructs import Construct

__all__ = ["RequestedEndpointConfig", "judge"]

_WORD = re.compile(r"[A-Z]+[0-9]*(?![a-z])|[A-Z][a-z0-9]*")


class RequestedEndpointConfig(CfnEndpointConfig):
    """A typed configuration that holds a request's every member, also those that the type does not know.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    request : Mapping
        A CreateEndpointConfig request without a name.
    overrides : Mapping, optional
        What of it was overridden, and is written as it stands: the typed form drops members that it does not know.
    tags : Mapping, optional
    plans : sequence of Mapping
        What is known of the plans that it names.
    judged : Mapping
        The request as the rules see it.

    Raises
    ------
    InvalidInputError
        In the words of every rule that the request breaks.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        request: Mapping[str, Any],
        overrides: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        plans: Sequence[Mapping[str, Any]] = (),
        judged: Mapping[str, Any] | None = None,
    ) -> None:
        path = path_of(scope, construct_id)
        seen = request if judged is None else judged
        judge(scope, [Subject(Kind.ENDPOINT_CONFIG, seen, path=path, carrier=Carrier.TEMPLATE)], plans)
        approvals(stack_of(scope).root).use(path, types_in(request))
        typed = {_word_by_word(name, "_"): _cased(value) for name, value in request.items()}
        known: dict[str, Any] = {name: value for name, value in typed.items() if name in _members()}
        if tags:
            known["tags"] = [{"key": key, "value": value} for key, value in sorted(tags.items())]
        super().__init__(scope, construct_id, **known)
        self._request = request
        if overrides:
            self.add_override("Properties", {name: request[name] for name in overrides if name in request})

    @property
    def request(self) -> Mapping[str, Any]:
        """The CreateEndpointConfig request without a name."""
        return self._request


def judge(scope: Construct, subjects: Sequence[Subject], plans: Sequence[Mapping[str, Any]] = ()) -> None:
    """Ask the rules about subjects that are declared in a stack.

    Raises
    ------
    InvalidInputError
        In the words of every rule that finds an error.
    """
    place = stack_of(scope).place
    for subject in subjects:
        subject.region, subject.account = literal(place.region), literal(place.account)
    raise_for_errors(check(subjects, declared={"plans": list(plans)}))


@cache
def _members() -> frozenset[str]:
    return frozenset(signature(CfnEndpointConfig.__init__).parameters) - {"self", "scope", "id"}


@cache
def _word_by_word(name: str, glue: str) -> str:
    """Return an API's member in CDK's spelling.

    Examples
    --------
    >>> _word_by_word("EnableSSMAccess", ""), _word_by_word("KmsKeyId", "_"), _word_by_word("S3OutputPath", "")
    ('enableSsmAccess', 'kms_key_id', 's3OutputPath')
    """
    first, *rest = [word.lower() for word in _WORD.findall(name)]
    return glue.join([first, *(rest if glue else [word.capitalize() for word in rest])])


def _cased(value: Any) -> Any:
    if isinstance(value, dict):
        return {_word_by_word(key, ""): _cased(inner) for key, inner in value.items()}
    return [_cased(inner) for inner in value] if isinstance(value, list | tuple) else value
