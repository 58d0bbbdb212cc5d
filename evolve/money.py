"""Money: exact decimals with their currency, and what tokens cost; never a float, so that sums are exact."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from typing import Self

from evolve.errors import ConfigurationError

# Beyond every sum that a run can come to: whatever does not fit is an error, and nothing is rounded.
_EXACT = Context(prec=200, traps=[Inexact, InvalidOperation, Overflow])
_TOKENS_OF_A_PRICE = 6  # as a power of ten
_AMOUNT = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?", re.ASCII)
_WRITTEN = re.compile(r"([0-9]{1,60}(?:\.[0-9]{1,60})?)(?: ([A-Z]{3}))?", re.ASCII)
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """An amount of money.

    Attributes:
        currency: three capitals, as ISO 4217 has them; empty: none is named, as of nothing at all.
    """

    amount: Decimal = Decimal(0)
    currency: str = ""

    @classmethod
    def read(cls, text: str) -> Self:
        """Read what `str` of one gave, as `0.0125 USD`, or an amount alone.

        Raises:
            ConfigurationError: the text is not an amount of money.
        """
        found = _WRITTEN.fullmatch(text)
        if found is None:
            raise ConfigurationError(
                f"{text[:40]!r} is not an amount of money: write an amount such as 2.50, or 2.50 USD"
            )
        return cls(amount=Decimal(found[1]), currency=found[2] or "")

    def __add__(self, other: "Money") -> "Money":
        """The exact sum; of two currencies there is none.

        Raises:
            ConfigurationError: both name a currency, and not the same one.
        """
        if self.currency and other.currency and self.currency != other.currency:
            raise ConfigurationError(f"{self.currency} and {other.currency} cannot be added: name one currency")
        return Money(amount=_EXACT.add(self.amount, other.amount), currency=self.currency or other.currency)

    def __str__(self) -> str:
        """A plain decimal without zeros at its end, and the currency."""
        return f"{plain(self.amount)} {self.currency}".rstrip()


FREE = Money()


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a million tokens of a policy cost: those it reads, those of them that a cache held, those it writes."""

    input: Decimal
    cached: Decimal
    output: Decimal
    currency: str

    def of(self, given: int, cached: int, written: int) -> Money:
        """The cost of a completion.

        Args:
            given: tokens read, those from a cache included.
            cached: tokens read from a cache.
            written: tokens written.
        """
        parts = ((given - cached, self.input), (cached, self.cached), (written, self.output))
        total = Decimal(0)
        for tokens, price in parts:
            total = _EXACT.add(total, _EXACT.multiply(tokens, price))
        return Money(amount=total.scaleb(-_TOKENS_OF_A_PRICE, _EXACT), currency=self.currency)


def read_amount(value: object) -> Decimal:
    """An amount as people write it, in a text or as a number; of a float, what it was written as.

    Raises:
        ConfigurationError: it is no plain decimal.
    """
    text = format(Decimal(repr(value)), "f") if isinstance(value, float) else str(value).strip()
    if isinstance(value, bool) or _AMOUNT.fullmatch(text) is None:
        raise ConfigurationError(
            f"{str(value)[:40]!r} is not an amount: write a plain decimal of at most 12 digits before and after the"
            " point, such as 0.15"
        )
    return Decimal(text)


def read_money(value: object) -> Money:
    """Money as people write it: an amount, in a text or as a number, with its currency behind it or without.

    Raises:
        ConfigurationError: it is no such thing.
    """
    if isinstance(value, Money):
        return value
    amount, blank, currency = value.strip().partition(" ") if isinstance(value, str) else (value, "", "")
    return Money(amount=read_amount(amount), currency=read_currency(currency) if blank else "")


def read_currency(text: str) -> str:
    """The code of a currency.

    Raises:
        ConfigurationError: it is none.
    """
    if _CURRENCY.fullmatch(text) is None:
        raise ConfigurationError(f"{text[:40]!r} is not a currency: write three capitals, such as USD")
    return text


def shared_currency(currencies: Iterable[str | None]) -> str | None:
    """The currency of a run by those of its policies; empty: they cost nothing; None: what they cost is not known.

    Raises:
        ConfigurationError: two policies are priced in different currencies.
    """
    known = list(currencies)
    named = sorted({currency for currency in known if currency})
    if len(named) > 1:
        raise ConfigurationError(f"the policies of a run share one currency: these are priced in {' and '.join(named)}")
    return None if None in known else "".join(named)


def plain(amount: Decimal) -> str:
    """An amount in digits, without zeros at its end."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
