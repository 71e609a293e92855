"""How the sandbox behaves where nobody knows how AWS does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.facts import unknowns

from .errors import SandboxError

if TYPE_CHECKING:
    from .faults import Faults

__all__ = ["reading"]


def reading(faults: Faults, name: str) -> str:
    """Return the reading of an open question that is in force.

    Parameters
    ----------
    faults
        Holds the switches; ``faults.switch(name, value)`` chooses a reading.
    name
        The id of a row of ``facts/unknowns.json``, such as ``sagemaker.kms-on-nvme``.

    Raises
    ------
    SandboxError
        If the switch was set to a word that is no reading of the question.
    """
    unknown = unknowns()[name]
    value = faults.state(name, unknown.default)
    if value not in unknown.readings:
        raise SandboxError(f"switch {name} = {value!r} is not known: use one of {', '.join(unknown.readings)}")
    return value
