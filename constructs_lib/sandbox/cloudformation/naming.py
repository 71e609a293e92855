"""The names CloudFormation gives: stacks, change sets, and resources whose template names none."""

from __future__ import annotations

import re
import secrets
import string
import uuid

__all__ = ["change_set_id", "generated_name", "random_suffix", "stack_id"]

_SUFFIX = 12


def random_suffix(length: int = _SUFFIX) -> str:
    """Return random letters and digits as CloudFormation appends them."""
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(length))


def generated_name(*parts: str, limit: int, lower: bool = False, extra: str = "") -> str:
    """Return ``part-part-random`` within a length.

    Parameters
    ----------
    parts
        Usually stack name and logical ID; the longest is cut first.
    limit
        Most characters the service accepts.
    lower
        Whether the service accepts small letters only.
    extra
        Characters beside letters, digits and ``-`` that the service accepts.
    """
    allowed = re.compile(f"[^A-Za-z0-9{re.escape(extra)}-]")
    kept = [allowed.sub("", part) for part in parts]
    while len("-".join([*kept, ""])) + _SUFFIX > limit:
        longest = max(range(len(kept)), key=lambda index: len(kept[index]))
        kept[longest] = kept[longest][:-1]
    name = "-".join([*(part for part in kept if part), random_suffix()])
    return name.lower() if lower else name


def stack_id(account: str, region: str, name: str) -> str:
    """Return a new stack ARN."""
    return f"arn:aws:cloudformation:{region}:{account}:stack/{name}/{uuid.uuid4()}"


def change_set_id(account: str, region: str, name: str) -> str:
    """Return a new change set ARN."""
    return f"arn:aws:cloudformation:{region}:{account}:changeSet/{name}/{uuid.uuid4()}"
