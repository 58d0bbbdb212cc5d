"""Money as events and records tell it: exact decimals in texts."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

from evolve.money import FREE, Money, shared_currency
from evolve.policies import is_free


def added(total: str | None, cost: Money | None) -> str | None:
    """A sum of money with one more cost; None: some of it is not known."""
    return None if total is None or cost is None else str(Money.read(total) + cost)


def total(costs: Iterable[str | None]) -> str | None:
    """A sum of money; None: some of it is not known, or it is in several currencies."""
    found = list(costs)
    money = [Money.read(cost) for cost in found if cost is not None]
    if len(money) < len(found) or len({one.currency for one in money if one.currency}) > 1:
        return None
    return str(sum(money, FREE))


def money_share(cost: str | None, whole: int) -> str | None:
    """An amount of money for each of so many, to four digits; None: it is not known, or there is none."""
    if cost is None or not whole:
        return None
    money = Money.read(cost)
    each = Context(prec=4).divide(money.amount, Decimal(whole))
    return str(Money(amount=each, currency=money.currency))


def currency_of(policies: Sequence[Mapping[str, Any]]) -> str | None:
    """The currency of a run by the descriptions of its policies; empty: they cost nothing; None: nobody knows."""
    return shared_currency(
        "" if is_free(str(policy.get("kind"))) else (policy.get("price") or {}).get("currency") for policy in policies
    )
