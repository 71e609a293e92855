"""CDK's own value types in plain terms: durations and sizes as numbers, roles and keys as ARNs, tokens as text.

Each read of a CDK object is a request to the jsii kernel (about 0.3 ms), so what was read once is remembered for as
long as the object lives.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload
from weakref import WeakKeyDictionary

from aws_cdk import Duration, Size, Token, Tokenization
from aws_cdk.aws_iam import CfnRole

from constructs_lib.model import InvalidInputError, UnresolvedListError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aws_cdk.interfaces.aws_iam import IRoleRef
    from aws_cdk.interfaces.aws_kms import IKeyRef

__all__ = ["Key", "Role", "Time", "definition_text", "gigabytes", "key_arn", "role_arn", "seconds"]

Time: TypeAlias = "Duration | timedelta | float"
"""A length of time; a number means seconds and may be a token."""
Role: TypeAlias = "IRoleRef | str"
Key: TypeAlias = "IKeyRef | str"

_T = TypeVar("_T")
_seen: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_NUMBER_TOKEN = re.compile(r"-1\.\d+e\+289")
_LIST_TOKEN = "#{Token["  # noqa: S105 - how CDK writes a list that only a deploy knows


@overload
def seconds(prop: str, value: Time) -> float | timedelta: ...
@overload
def seconds(prop: str, value: None) -> None: ...
@overload
def seconds(prop: str, value: Time | None) -> float | timedelta | None: ...
def seconds(prop: str, value: Time | None) -> float | timedelta | None:
    """Return a time as seconds; a `timedelta` as it is.

    Raises
    ------
    InvalidInputError
        For a Duration that comes from a token in another unit than seconds.
    """
    if not isinstance(value, Duration):
        return value
    hint = f"{prop}: the Duration comes from a token in another unit; write Duration.seconds(token)"
    read: float = _once(value, lambda duration: duration.to_seconds(), hint)
    return read


def gigabytes(prop: str, value: Size | int | None) -> int | None:
    """Return a size as the whole gigabytes in which SageMaker takes it.

    Raises
    ------
    InvalidInputError
        For a Size that is no whole number of GiB, or comes from a token in another unit.
    """
    if not isinstance(value, Size):
        return value
    hint = f"{prop}: a whole number of GiB is needed, and a token only in Size.gibibytes(token)"
    return _once(value, lambda size: int(size.to_gibibytes()), hint)


def role_arn(role: Role) -> str:
    """Return the ARN of a role given as a construct or as text."""
    if isinstance(role, str):
        return role
    return _once(role, lambda given: given.attr_arn if isinstance(given, CfnRole) else given.role_ref.role_arn)


def key_arn(key: Key | None) -> str | None:
    """Return the ARN of a KMS key given as a construct, or the text as it is."""
    return key if key is None or isinstance(key, str) else _once(key, lambda given: given.key_ref.key_arn)


def definition_text(definition: Mapping[str, Any]) -> str:
    """Return a state machine definition as text in which CDK resolves every token, numbers included.

    Raises
    ------
    UnresolvedListError
        For a list token, whose members a text cannot hold.
    InvalidInputError
        For a value that is no JSON, such as an ``IResolvable``.
    """
    try:
        text = json.dumps(definition, separators=(",", ":"))
    except TypeError as error:
        raise InvalidInputError(
            f"request: plain JSON is needed ({error}); turn a CDK token into text with Token.as_string"
        ) from error
    if _LIST_TOKEN in text:
        raise UnresolvedListError("request_overrides")
    # CDK finds text tokens in text, but a number token only where it is a value of its own.
    return _NUMBER_TOKEN.sub(lambda match: Token.as_string(Tokenization.reverse_number(float(match[0]))), text)


def _once(value: Any, read: Callable[[Any], _T], hint: str = "") -> _T:
    if value not in _seen:
        try:
            _seen[value] = read(value)
        except RuntimeError as error:
            raise InvalidInputError(hint or str(error)) from error
    found: _T = _seen[value]
    return found
