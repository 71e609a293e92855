"""What an app is told by its context: every ``@gpu-capacity/`` key, read and validated once."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from constructs import IConstruct

__all__ = ["PREFIX", "Settings"]

PREFIX = "@gpu-capacity/"

_FORMS = {
    "image": (re.compile(r"[^\s]+"), "an image URI without spaces"),
    "data": (re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^\s]*)?"), "an s3:// prefix"),
    "training_plan_arn": (
        re.compile(r"arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:\d{12}:training-plan/[A-Za-z0-9-]{1,64}"),
        "a training plan's ARN, arn:aws:sagemaker:<region>:<account>:training-plan/<name>",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The context of an app under ``@gpu-capacity/``, from cdk.json or ``cdk -c key=value``.

    A key has the name of its field with dashes: ``@gpu-capacity/training-plan-arn``.

    Parameters
    ----------
    image : str, optional
        URI of the training image.
    data : str, optional
        ``s3://`` prefix under which training data, models and checkpoints lie.
    training_plan_arn : str, optional
        ARN of a training plan that was bought elsewhere.
    purchase : str, optional
        Purchase keys, separated by commas: ``name#generation@last-day@account/region``. A malformed one buys nothing.
    ask_again : str, optional
        Any new text lets every purchase ask again: for a fresh quote, or with an approval that was given since.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> Settings.of(cdk.App(context={"@gpu-capacity/data": "s3://bucket/research"})).data
    's3://bucket/research'
    """

    image: str | None = None
    data: str | None = None
    training_plan_arn: str | None = None
    purchase: str | None = None
    ask_again: str | None = None

    @classmethod
    def of(cls, scope: IConstruct) -> Settings:
        """Return the settings of the app that ``scope`` is in.

        Raises
        ------
        ValueError
            For a key that does not exist or a value in another form, all of them at once.
        """
        root = scope.node.root
        if root not in _read:
            _read[root] = cls._from_context(root.node.get_all_context())
        return _read[root]

    @classmethod
    def _from_context(cls, context: dict[str, Any]) -> Settings:
        given = {_field(key): value for key, value in context.items() if key.startswith(PREFIX)}
        known = [field.name for field in fields(cls)]
        problems = [
            f"{_key(name)}: there is no such key; there are {', '.join(map(_key, known))}"
            for name in given
            if name not in known
        ]
        for name, value in given.items():
            form, words = _FORMS.get(name, (None, ""))
            if form and not (isinstance(value, str) and form.fullmatch(value)):
                problems.append(f"{_key(name)}: {value!r} was given, {words} is needed")
        if problems:
            raise ValueError("context: " + "; ".join(problems))
        return cls(**given)


_read: WeakKeyDictionary[Any, Settings] = WeakKeyDictionary()


def _key(field: str) -> str:
    return PREFIX + field.replace("_", "-")


def _field(key: str) -> str:
    return key.removeprefix(PREFIX).replace("-", "_")
