"""What the proposals of each policy bring and cost of late, and which policy is the better buy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from evolve.credit.bandit import Arm, choose, reasons
from evolve.money import Money

MEMORY = 0.98
CHEAPEST = 0.1
_slow = partial(Arm, decay=MEMORY)  # what a proposal costs changes within a run


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRecord:
    """What the proposals of one policy bring and cost.

    Attributes:
        gains: 1 for each that found something better, else 0; of those of which all is known.
        tokens, money: what each took that was answered; money where that is known.
    """

    gains: Arm = field(default_factory=Arm)
    tokens: Arm = field(default_factory=_slow)
    money: Arm = field(default_factory=_slow)


class PolicyCredit:
    """Follows the proposals of all policies; a fold over the events of a run."""

    def __init__(self) -> None:
        self.by_policy: dict[str, PolicyRecord] = {}

    def ask(self, policy: str) -> None:
        """A proposal is put to a policy."""
        self._record(policy).gains.visits += 1

    def forget(self, policy: str) -> None:
        """A proposal was given up before it was asked."""
        self._record(policy).gains.visits -= 1

    def pay(self, policy: str, tokens: float, cost: Money | None) -> None:
        """A proposal was answered; what that took."""
        earning = self._record(policy)
        earning.tokens.learn(tokens)
        if cost is not None:
            earning.money.learn(float(cost.amount))

    def settle(self, policy: str, won: bool) -> None:
        """All is known of a proposal, and whether it found something better."""
        self._record(policy).gains.learn(float(won))

    def of(self, policy: str) -> PolicyRecord:
        """What the proposals of a policy bring and cost."""
        return self.by_policy.get(policy) or PolicyRecord()

    def best_buy(
        self, policies: Sequence[str], weights: Sequence[float], *, priced: bool
    ) -> tuple[int, dict[str, float]]:
        """Place of the policy that promises most for what it costs, and what spoke for it.

        The rule of fractional KUBE (Tran-Thanh et al., 2012): the upper confidence bound of the mean gain, here that of
        KL-UCB, over the mean cost, times the weight. Costs count in shares of their mean over the policies, and none as
        less than `CHEAPEST`, so that one that costs nothing is not asked for ever whatever it brings.

        Args:
            policies: names of those to choose from.
            weights: of each.
            priced: whether money is what it costs; else tokens.
        """
        policy_credit = [self.of(policy) for policy in policies]
        costs = [earning.money if priced else earning.tokens for earning in policy_credit]
        known = [cost.mean for cost in costs if cost.weight]
        usual = math.fsum(known) / len(known) if known else 0.0
        shares = [cost.mean / usual if cost.weight and usual else 1.0 for cost in costs]
        prices = [max(CHEAPEST, share) / weight for share, weight in zip(shares, weights, strict=True)]
        gains = [earning.gains for earning in policy_credit]
        place = choose(gains, prices)
        return place, reasons(gains, place, prices)

    def _record(self, policy: str) -> PolicyRecord:
        return self.by_policy.setdefault(policy, PolicyRecord())
