"""What an error of a call that creates or buys something proves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from constructs_lib.facts.calls import call_errors
from constructs_lib.model import FailureClass, classify

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Outcome", "is_absent", "outcome_of", "words_of"]

_ABSENT = "ResourceNotFound"
# Many Describe and Stop calls answer with a ValidationException in these words for a name that does not exist.
_ABSENT_IN_WORDS = ("not found", "could not find", "does not exist")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an error proves.

    ``kind`` is ``exists`` (the name is taken), ``refused`` or ``throttled`` (either way nothing was created), or
    ``unclear``: no answer, an answer of 5xx, or a code that proves nothing.
    """

    kind: str
    cause: str
    failure: FailureClass


def outcome_of(error: BotoCoreError | ClientError) -> Outcome:
    """Return what an error proves; its cause is AWS's code and words."""
    if isinstance(error, ParamValidationError):
        return Outcome("refused", f"ParamValidationError: {error}", FailureClass.CONFIG)
    if not isinstance(error, ClientError):
        return Outcome("unclear", f"no answer ({error})", FailureClass.TRANSIENT)
    answer: Mapping[str, Any] = error.response
    cause, status = words_of(error), answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
    known = call_errors().get(answer["Error"]["Code"])
    if known is None or status >= 500:
        return Outcome("unclear", f"{status} {cause}", FailureClass.TRANSIENT)
    failure = classify(cause)
    if failure is FailureClass.UNKNOWN and known.failure_class:
        failure = FailureClass(known.failure_class)
    return Outcome(known.outcome, cause, failure)


def is_absent(error: BotoCoreError | ClientError) -> bool:
    """Tell whether an error says that there is nothing of that name."""
    if not isinstance(error, ClientError):
        return False
    found = error.response["Error"]
    message = found.get("Message", "").lower()
    in_words = found["Code"] == "ValidationException" and any(words in message for words in _ABSENT_IN_WORDS)
    return found["Code"] == _ABSENT or in_words


def words_of(error: BotoCoreError | ClientError) -> str:
    """Return AWS's code and words, or the SDK's words."""
    if not isinstance(error, ClientError):
        return str(error)
    found = error.response["Error"]
    return f"{found['Code']}: {found.get('Message', '')}"
