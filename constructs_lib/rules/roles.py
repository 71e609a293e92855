"""What a role may do, as far as the file that declares it says."""

from __future__ import annotations

from typing import Any

from constructs_lib.model import InvalidInputError
from constructs_lib.rules.policies.evaluator import Policies, Request, Verdict, evaluate
from constructs_lib.rules.subjects import Subject
from constructs_lib.rules.values import UNKNOWN, arn, items, mapping

__all__ = ["allowed"]

# No statement names this place, so a Deny for one region does not count, and Allows are widened to it.
_SOMEWHERE = "arn:aws:sagemaker:any-region-1:000000000000"


def allowed(role: Subject, action: str, kind: str) -> bool | None:
    """Tell whether a role's statements allow a SageMaker action on some resource of a kind; ``None`` if that is open.

    Parameters
    ----------
    role : Subject
        Of kind ``role``. When more may be attached elsewhere, a missing permission is open, not missing.
    action, kind : str
        Such as ``StopTrainingJob`` and ``training-job``.
    """
    statements = [_widened(statement) for statement in items(role.data.get("Statements"))]
    asked = Request(action=f"sagemaker:{action}", resource=f"{_SOMEWHERE}:{kind}/x")
    document = {"Version": "2012-10-17", "Statement": statements}
    try:
        verdict = evaluate(asked, Policies(identity=(document,))).verdict if statements else Verdict.NOT_ALLOWED
    except InvalidInputError:
        return None
    if verdict is Verdict.UNVERIFIED or (verdict.is_refusal and role.data.get("Complete") is not True):
        return None
    return verdict is Verdict.ALLOWED


def _widened(statement: Any) -> Any:
    """Return an Allow whose resources keep their kind only: which region, account and name is not asked here."""
    given = mapping(statement)
    if given.get("Effect") != "Allow" or "Resource" not in given:
        return statement
    named = given["Resource"] if isinstance(given["Resource"], list) else [given["Resource"]]
    return {**given, "Resource": [_kind_only(resource) for resource in named]}


def _kind_only(resource: Any) -> Any:
    parsed = arn(resource)
    if parsed is None or UNKNOWN in parsed.service + parsed.kind or "*" in parsed.service + parsed.kind:
        return resource
    return f"arn:*:{parsed.service}:*:*:{parsed.kind}/*"
