"""The guardrails over a stack, written down for the launcher: it refuses by them at run time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsii
from aws_cdk import IStringProducer, Lazy
from constructs import IValidation

from constructs_lib.model.approvals import approvals

if TYPE_CHECKING:
    from aws_cdk import IResolveContext
    from constructs import IConstruct

__all__ = ["ApprovedTypes"]

# A Lambda function's variables may have 4 KB together; the launcher's others need some hundred characters.
_MOST = 3000


@jsii.implements(IStringProducer, IValidation)
class ApprovedTypes:
    """What the guardrails over a stack approve, known once all are declared.

    Parameters
    ----------
    root : IConstruct
        The app.
    path : str
        The stack's path.
    """

    def __init__(self, root: IConstruct, path: str) -> None:
        self._root, self._path = root, path

    def variable(self) -> str:
        """Return the value of the launcher's variable, resolved at synth; without guardrails there is none."""
        return Lazy.uncached_string(self)

    def produce(self, context: IResolveContext) -> str | None:  # noqa: ARG002 - the interface's signature
        """Return the patterns by guardrail as JSON."""
        over = approvals(self._root).over(self._path)
        return json.dumps(over, separators=(",", ":")) if over else None

    def validate(self) -> list[str]:
        """Return what Lambda would refuse, for CDK's synth."""
        over = approvals(self._root).over(self._path)
        size = len(json.dumps(over))
        if size <= _MOST:
            return []
        words = (
            f"the lists of the guardrails {', '.join(over)} need {size:,} characters in the launcher's environment, "
            f"{_MOST:,} fit; give them compress=True, or binds_scope=False where they do not mean this stack's jobs"
        )
        return [words]
