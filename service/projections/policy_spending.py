"""What each policy of a run had spent after each proposal that was paid for."""

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.money import Money
from evolve.payloads import Bill
from service.projections.money import added

_BYTES_OF_A_SUM = 80


class PolicySpending:
    """Sums of tokens and money by policy, caught up with as a run goes on."""

    def __init__(self) -> None:
        self._paid: dict[str, array[int]] = {}
        self._tokens: dict[str, array[int]] = {}
        self._money: dict[str, list[str | None]] = {}

    @property
    def size(self) -> int:
        """Bytes that they take, about."""
        return sum(len(sums) * (2 * 8 + _BYTES_OF_A_SUM) for sums in self._money.values())

    def pay(self, place: int, bills: Sequence[Bill], asked: str) -> None:
        """Count what a proposal cost.

        Args:
            place: how many proposals were paid for before it.
            asked: the policy that it was asked of, for bills that name none.
        """
        for bill in bills:
            name = bill.policy or asked
            paid = self._paid.setdefault(name, array("q"))
            tokens, money = self._tokens.setdefault(name, array("q", [0])), self._money.setdefault(name, ["0"])
            paid.append(place)
            tokens.append(tokens[-1] + bill.usage.input + bill.usage.output)
            money.append(added(money[-1], bill.cost))

    def tokens(self, name: str, counts: NDArray[np.intp]) -> list[int]:
        """What a policy had read and written after each of so many proposals that were paid for."""
        if name not in self._paid:
            return [0] * len(counts)
        sums = self._tokens[name]
        return [sums[at] for at in self._reached(name, counts)]

    def money(self, name: str, counts: NDArray[np.intp]) -> list[float | None]:
        """What a policy had cost after each of so many proposals that were paid for; None: some of it is not known."""
        if name not in self._paid:
            return [0.0] * len(counts)
        sums = [None if cost is None else float(Money.read(cost).amount) for cost in self._money[name]]
        return [sums[at] for at in self._reached(name, counts)]

    def _reached(self, name: str, counts: NDArray[np.intp]) -> list[int]:
        found: list[int] = np.searchsorted(np.array(self._paid[name]), counts, side="left").tolist()
        return found

    def state(self) -> list[Any]:
        """What `restore` takes."""
        return [list(found.items()) for found in (self._paid, self._tokens, self._money)]

    def restore(self, state: Sequence[Sequence[tuple[str, Any]]]) -> None:
        """Become what another was."""
        self._paid, self._tokens, self._money = (dict(found) for found in state)
