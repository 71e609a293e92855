"""What an hour of an instance costs, as somebody said on some day: never guessed, never fetched here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.price import Money

__all__ = ["PriceBook"]

_FIX = 'write {"currency": "USD", "as_of": "2026-11-29", "source": "...", "per_hour": {"ml.g5.xlarge": "1.408"}}'


@dataclass(frozen=True, slots=True)
class PriceBook:
    """On-demand prices of instance types, with their day and source.

    Parameters
    ----------
    per_hour : mapping of str to str
        The price of one instance hour by ``ml.`` type, as plain digits in text.
    currency : str
        A code of three letters, such as ``USD``.
    as_of : str
        The day of the prices; every record that uses them says it.
    source : str
        Where they come from.

    Raises
    ------
    InvalidInputError
        If a price is no plain amount as text, or something is missing.

    Examples
    --------
    >>> book = PriceBook({"ml.g5.xlarge": "1.408"}, "USD", "2026-11-29", "the team's price list")
    >>> book.rate("ml.g5.xlarge"), book.rate("ml.p5.48xlarge")
    (Decimal('1.408'), None)
    """

    per_hour: Mapping[str, str]
    currency: str
    as_of: str
    source: str
    _rates: Mapping[str, Decimal] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.per_hour, Mapping):
            raise InvalidInputError(f"price book: per_hour is {self.per_hour!r}; {_FIX}")
        for name in ("as_of", "source"):
            if not isinstance(value := getattr(self, name), str) or not value:
                raise InvalidInputError(f"price book: {name} is {value!r}; say it in words, for the records name it")
        rates = {}
        for instance_type, amount in self.per_hour.items():
            try:
                rates[instance_type] = Money.of(amount, self.currency).amount
            except InvalidInputError as error:
                raise InvalidInputError(f"price book, {instance_type}: {error}") from None
        object.__setattr__(self, "per_hour", MappingProxyType(dict(self.per_hour)))
        object.__setattr__(self, "_rates", rates)

    @classmethod
    def from_file(cls, path: str | Path) -> PriceBook:
        """Read a price book from a JSON file.

        Raises
        ------
        InvalidInputError
            If the file is missing, is no JSON, or lacks something.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"price book {path}: it cannot be read ({error}); {_FIX}") from None
        return cls.from_payload(data, f"price book {path}")

    @classmethod
    def from_payload(cls, data: Any, name: str = "prices") -> PriceBook:
        """Read what `to_payload` wrote."""
        wanted = {"per_hour", "currency", "as_of", "source"}
        if not isinstance(data, dict) or set(data) != wanted:
            given = ", ".join(sorted(data)) if isinstance(data, dict) else repr(data)
            raise InvalidInputError(
                f"{name}: it has {given or 'nothing'}, {', '.join(sorted(wanted))} are needed; {_FIX}"
            )
        return cls(**data)

    def to_payload(self, types: Iterable[str]) -> dict[str, Any]:
        """Return plain data with the prices of these types only, as far as they are known."""
        known = {name: self.per_hour[name] for name in dict.fromkeys(types) if name in self.per_hour}
        return {"currency": self.currency, "as_of": self.as_of, "source": self.source, "per_hour": known}

    def cost(self, instance_type: str, instance_hours: Decimal) -> Money | None:
        """Return what some instance hours cost, rounded to a ten-thousandth, or ``None`` if nobody said the price.

        Examples
        --------
        >>> str(PriceBook({"ml.g5.xlarge": "1.408"}, "USD", "2026-11-29", "us").cost("ml.g5.xlarge", Decimal(10)))
        '14.0800 USD'
        """
        rate = self.rate(instance_type)
        return None if rate is None else Money(rate * instance_hours, self.currency).per(Decimal(1))

    def rate(self, instance_type: str) -> Decimal | None:
        """Return the price of one instance hour, or ``None`` if nobody said it."""
        return self._rates.get(instance_type)
