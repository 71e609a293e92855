"""The findings that a repository already knows: only new ones count."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constructs_lib.model import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from constructs_lib.rules.findings import Finding

__all__ = ["Baseline"]

_KEYS = ("rule", "file", "resource", "path")


@dataclass(slots=True)
class Baseline:
    """Known findings, each told by rule, file, resource and path; lines may move without making a finding new."""

    known: Counter[tuple[str, ...]] = field(default_factory=Counter)

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Baseline:
        """Return a baseline that knows these findings."""
        return cls(Counter(_key(finding) for finding in findings))

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """Read a baseline file.

        Raises
        ------
        InvalidInputError
            If the file is not there or is no baseline.
        """
        try:
            rows = json.loads(file.read_text(encoding="utf-8"))["known"]
            return cls(Counter(tuple(row[key] or "" for key in _KEYS) for row in rows))
        except OSError as error:
            reason = error.strerror or str(error)
            raise InvalidInputError(f"{file}: {reason}; write it with --update-baseline") from error
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInputError(f"{file}: not a baseline; write it anew with --update-baseline") from error

    def write(self, file: Path) -> None:
        """Write the baseline, sorted, so that a change of it reads well in review."""
        rows = [dict(zip(_KEYS, key, strict=True)) for key in sorted(self.known.elements())]
        file.write_text(json.dumps({"known": rows}, indent=2) + "\n", encoding="utf-8")

    def without_known(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings that the baseline does not hold; of equal ones, as many as it holds are known."""
        left = self.known.copy()
        new = []
        for finding in findings:
            if left[_key(finding)] > 0:
                left[_key(finding)] -= 1
            else:
                new.append(finding)
        return new


def _key(finding: Finding) -> tuple[str, ...]:
    return (finding.rule, finding.file or "", finding.resource or "", finding.path)
