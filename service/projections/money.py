"""Money as events and records tell it: exact decimals in texts."""

from collections.abc import Mapping, Sequence
from typing import Any

from evolve.money import Money, shared_currency

_COSTLESS = frozenset({"syntax", "bundled"})


def added(total: str | None, cost: str | None) -> str | None:
    """A sum of money with one more cost; None: some of it is not known."""
    return None if total is None or cost is None else str(Money.read(total) + Money.read(cost))


def currency_of(policies: Sequence[Mapping[str, Any]]) -> str | None:
    """The currency of a run by the descriptions of its policies; empty: they cost nothing; None: nobody knows."""
    return shared_currency(
        "" if policy.get("kind") in _COSTLESS else (policy.get("price") or {}).get("currency") for policy in policies
    )
