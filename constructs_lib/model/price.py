"""Money, exactly: fees as AWS writes them, and the ceiling above which nothing is bought."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from constructs_lib.model.errors import InvalidInputError

__all__ = ["Money", "PriceCeiling"]

_AMOUNT = re.compile(r"[0-9]{1,15}(\.[0-9]{1,10})?")
_CURRENCY = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in a currency.

    Examples
    --------
    >>> str(Money.of("31250.00", "USD"))
    '31250.00 USD'
    """

    amount: Decimal
    currency: str

    @classmethod
    def of(cls, amount: str, currency: str) -> Money:
        """Read an amount from text, such as AWS's ``UpfrontFee``.

        Raises
        ------
        InvalidInputError
            If the text is no plain amount, or the currency no code of three letters: such a fee is never compared.
        """
        if not isinstance(amount, str) or not _AMOUNT.fullmatch(amount):
            raise InvalidInputError(f"{amount!r} is no amount: plain digits as text are needed, such as '60000.00'")
        if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
            raise InvalidInputError(f"currency {currency!r}: a code of three capital letters is needed, such as 'USD'")
        return cls(Decimal(amount), currency)

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}"

    def per(self, units: Decimal) -> Money:
        """Return this divided by a number of units, rounded to a ten-thousandth.

        Examples
        --------
        >>> str(Money.of("29900.00", "USD").per(Decimal(4 * 48)))
        '155.7292 USD'
        """
        return Money((self.amount / units).quantize(Decimal("0.0001")), self.currency)


@dataclass(frozen=True, slots=True)
class PriceCeiling:
    """The most that a purchase may cost; what costs more, or is priced in another currency, is never bought.

    Parameters
    ----------
    amount : str
        Plain digits as text, such as ``"60000"`` or ``"59999.50"``; above 0. A float is refused, since it cannot hold
        cents exactly.
    currency : str
        A code of three letters, such as ``USD``.

    Raises
    ------
    InvalidInputError
        For anything else.

    Examples
    --------
    >>> ceiling = PriceCeiling("30000", "USD")
    >>> ceiling.refusal(Money.of("29900.00", "USD")) is None
    True
    >>> ceiling.refusal(Money.of("31250.00", "USD"))
    'the fee of 31250.00 USD is above the ceiling of 30000 USD'
    """

    amount: str
    currency: str

    def __post_init__(self) -> None:
        given: Any = self.amount
        if not isinstance(given, str):
            hint = f"'{given}'" if isinstance(given, int) and not isinstance(given, bool) else "'60000'"
            raise InvalidInputError(f"price ceiling {given!r}: an amount as text is needed, such as {hint}")
        if given.startswith("-"):
            raise InvalidInputError(f"price ceiling {given!r} is negative: an amount above 0 is needed")
        if not self.money.amount > 0:
            raise InvalidInputError(f"price ceiling {given!r} buys nothing: an amount above 0 is needed")

    def __str__(self) -> str:
        return str(self.money)

    @property
    def money(self) -> Money:
        """The ceiling as money."""
        return Money.of(self.amount, self.currency)

    def refusal(self, fee: Money, name: str = "ceiling") -> str | None:
        """Return why a fee may not be paid, naming both figures, or ``None`` if it may.

        Parameters
        ----------
        fee : Money
            What is asked.
        name : str
            What the ceiling is called.
        """
        limit = self.money
        if fee.currency != limit.currency:
            return f"the fee of {fee} is in another currency than the {name} of {limit}"
        return f"the fee of {fee} is above the {name} of {limit}" if fee.amount > limit.amount else None
