"""Purchase keys: what may be bought, until when, and where. A key left in cdk.json buys nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.plan_names import check_generation

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PURCHASE_CONTEXT", "PurchaseKey", "allows", "purchase_label", "read_keys"]

PURCHASE_CONTEXT = "@gpu-capacity/purchase"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_KEY = re.compile(
    r"(?P<identity>[A-Za-z0-9](?:-*[A-Za-z0-9])*)#(?P<generation>[1-9][0-9]*)"
    rf"(?:\+(?P<extend_until>{_DATE}))?@(?P<last_day>{_DATE})@(?P<account>[0-9]{{12}})/(?P<region>[a-z]{{2}}(?:-[a-z]+)+-[0-9])"
)


def purchase_label(generation: int, extend_until: date | None = None) -> str:
    """Return what one purchase of an identity is called: its generation, for an extension with the day it reaches.

    Examples
    --------
    >>> purchase_label(1), purchase_label(1, date(2027, 2, 12))
    ('1', '1+2027-02-12')
    """
    check_generation(generation)
    return str(generation) if extend_until is None else f"{generation}+{extend_until}"


@dataclass(frozen=True, slots=True)
class PurchaseKey:
    """One key: it allows one purchase, of one identity and generation, until a day, in one account and region.

    Parameters
    ----------
    identity : str
        The declared ``training_plan_name``.
    generation : int
    last_day : date
        The last day, in UTC, on which the key opens anything.
    account, region : str
    extend_until : date, optional
        For an extension: the day, in UTC, of the end it is to reach. Such a key buys no plan, and no other extension.

    Examples
    --------
    >>> key = PurchaseKey.parse("nightly#1@2026-12-10@111122223333/us-west-2")
    >>> key.last_day, str(key)
    (datetime.date(2026, 12, 10), 'nightly#1@2026-12-10@111122223333/us-west-2')
    >>> PurchaseKey.parse("nightly#1+2027-02-12@2026-12-10@111122223333/us-west-2").extend_until
    datetime.date(2027, 2, 12)
    """

    identity: str
    generation: int
    last_day: date
    account: str
    region: str
    extend_until: date | None = None

    @classmethod
    def parse(cls, text: str) -> PurchaseKey:
        """Read a key.

        Raises
        ------
        InvalidInputError
            If a part is missing or malformed: such a key buys nothing.
        """
        parts = _KEY.fullmatch(text.strip())
        try:
            if parts:
                until = parts["extend_until"]
                return cls(
                    parts["identity"],
                    int(parts["generation"]),
                    date.fromisoformat(parts["last_day"]),
                    parts["account"],
                    parts["region"],
                    date.fromisoformat(until) if until else None,
                )
        except ValueError:  # no such day
            pass
        raise InvalidInputError(
            f"purchase key {text!r} buys nothing: write name#generation@last-day@account/region, "
            "such as nightly#1@2026-12-10@111122223333/us-west-2"
        )

    def __str__(self) -> str:
        what = f"{self.identity}#{purchase_label(self.generation, self.extend_until)}"
        return f"{what}@{self.last_day}@{self.account}/{self.region}"

    def refusal(self, identity: str, label: str, *, account: str, region: str, today: date) -> str | None:
        """Return why this key does not allow a purchase, or ``None`` if it does."""
        if (self.identity, purchase_label(self.generation, self.extend_until)) != (identity, label):
            return f"key {self} is for another purchase than {identity}#{label}"
        if (self.account, self.region) != (account, region):
            return f"key {self} is for another place than {account}/{region}"
        return f"key {self} ended on {self.last_day}" if today > self.last_day else None


def read_keys(text: str) -> Iterator[PurchaseKey | str]:
    """Yield the keys in a context value, separated by commas; what is no key comes as words that say so.

    Examples
    --------
    >>> [str(key) for key in read_keys("a#1@2026-12-10@111122223333/us-west-2, b#1")][0]
    'a#1@2026-12-10@111122223333/us-west-2'
    """
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            yield PurchaseKey.parse(part)
        except InvalidInputError as error:
            yield str(error)


def allows(text: str, identity: str, label: str, *, account: str, region: str, today: date) -> str | None:
    """Tell whether the keys in a context value allow a purchase.

    Parameters
    ----------
    text : str
        The value of `PURCHASE_CONTEXT`.
    identity, label : str
        What is to be bought: the declared name, and its `purchase_label`.
    account, region : str
        Where.
    today : date
        In UTC.

    Returns
    -------
    str or None
        ``None`` if a key allows it, else why none does.

    Examples
    --------
    >>> here = {"account": "111122223333", "region": "us-west-2", "today": date(2026, 12, 1)}
    >>> allows("nightly#1@2026-12-10@111122223333/us-west-2", "nightly", "1", **here) is None
    True
    >>> allows("", "nightly", "1", **here)
    'no purchase key is given'
    """
    reasons = []
    for key in read_keys(text):
        reason = (
            key if isinstance(key, str) else key.refusal(identity, label, account=account, region=region, today=today)
        )
        if reason is None:
            return None
        reasons.append(reason)
    return "; ".join(reasons) or "no purchase key is given"
