"""Names and ARNs of training plans: they follow from the declared identity and the generation, from nothing else."""

from __future__ import annotations

import re

from constructs_lib.model.errors import InvalidInputError

__all__ = ["PLAN_NAME_MAX", "check_generation", "plan_arn", "plan_name"]

PLAN_NAME_MAX = 64
_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*")


def plan_name(identity: str, generation: int = 1) -> str:
    """Return the name of a training plan: the identity, with ``-N`` from generation 2 on.

    Parameters
    ----------
    identity : str
        The declared ``training_plan_name``: letters, digits and inner hyphens.
    generation : int
        How many times this identity was bought on purpose, counting this one; from 1.

    Raises
    ------
    InvalidInputError
        If the generation is no whole number from 1 on, or the name is too long or holds other characters.

    Examples
    --------
    >>> plan_name("nightly"), plan_name("nightly", 2)
    ('nightly', 'nightly-2')

    Notes
    -----
    Source: botocore shape ``TrainingPlanName``.
    """
    check_generation(generation)
    if not isinstance(identity, str) or not _NAME.fullmatch(identity):
        raise InvalidInputError(
            f"training_plan_name {identity!r}: letters, digits and hyphens between them are allowed, such as 'nightly'"
        )
    name = identity if generation == 1 else f"{identity}-{generation}"
    if len(name) > PLAN_NAME_MAX:
        raise InvalidInputError(
            f"training_plan_name {identity!r}: with the suffix of generation {generation} it has {len(name)} "
            f"characters, at most {PLAN_NAME_MAX} are allowed; choose a shorter name"
        )
    return name


def check_generation(generation: int) -> None:
    """Refuse what is no generation.

    Raises
    ------
    InvalidInputError
        If it is no whole number from 1 on.
    """
    if not isinstance(generation, int) or isinstance(generation, bool) or generation < 1:
        raise InvalidInputError(f"generation {generation!r}: a whole number from 1 on is needed")


def plan_arn(name: str, *, account: str, region: str, partition: str = "aws") -> str:
    """Return the ARN that follows from a plan's name.

    Examples
    --------
    >>> plan_arn("nightly", account="111122223333", region="us-west-2")
    'arn:aws:sagemaker:us-west-2:111122223333:training-plan/nightly'
    """
    return f"arn:{partition}:sagemaker:{region}:{account}:training-plan/{name}"
