"""What the proposals of each policy bring and cost of late, and which policy is the better buy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from evolve.credit.bandit import Arm, choose, reasons
from evolve.money import Money

TOKENS, MONEY, ANSWERS = "tokens", "money", "answers"
MEMORY = 0.98
CHEAPEST = 0.1
_slow = partial(Arm, decay=MEMORY)  # what a proposal costs changes within a run


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRecord:
    """What the proposals of one policy bring and cost.

    Attributes:
        gains: 1 for each that found something better, else 0; of those of which all is known.
        tokens, money: what each took that was answered; money where that is known.
        answers: how many each gave, one at least: each may be evaluated.
    """

    gains: Arm = field(default_factory=Arm)
    tokens: Arm = field(default_factory=_slow)
    money: Arm = field(default_factory=_slow)
    answers: Arm = field(default_factory=_slow)


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

    def pay(self, policy: str, tokens: float, cost: Money | None, answers: int) -> None:
        """A proposal was answered; what that took, and how many answers it gave."""
        earning = self._record(policy)
        earning.tokens.learn(tokens)
        earning.answers.learn(max(1, answers))
        if cost is not None:
            earning.money.learn(float(cost.amount))

    def settle(self, policy: str, won: bool) -> None:
        """All is known of a proposal, and whether it found something better."""
        self._record(policy).gains.learn(float(won))

    def of(self, policy: str) -> PolicyRecord:
        """What the proposals of a policy bring and cost."""
        return self.by_policy.get(policy) or PolicyRecord()

    def best_buy(
        self, policies: Sequence[str], weights: Sequence[float], counted: Sequence[str]
    ) -> tuple[int, dict[str, float]]:
        """Place of the policy that promises most for what it costs, and what spoke for it.

        The rule of fractional KUBE (Tran-Thanh et al., 2012): the upper confidence bound of the mean gain, here that of
        KL-UCB, over the mean cost, times the weight. What is counted is taken in shares of its mean over the policies,
        and the cost is the mean of these shares. None counts as less than `CHEAPEST`, so that one that costs nothing is
        not asked for ever whatever it brings.

        Args:
            policies: names of those to choose from.
            weights: of each.
            counted: what a proposal costs: some of `TOKENS`, `MONEY` and `ANSWERS`, at least one.
        """
        records = [self.of(policy) for policy in policies]
        shares = [_shares([getattr(record, cost) for record in records]) for cost in counted]
        costs = [math.fsum(of_policy) / len(counted) for of_policy in zip(*shares, strict=True)]
        prices = [max(CHEAPEST, cost) / weight for cost, weight in zip(costs, weights, strict=True)]
        gains = [record.gains for record in records]
        place = choose(gains, prices)
        return place, reasons(gains, place, prices)

    def _record(self, policy: str) -> PolicyRecord:
        return self.by_policy.setdefault(policy, PolicyRecord())


def _shares(costs: Sequence[Arm]) -> list[float]:
    """The mean of each over the mean of all; 1 where nothing is known."""
    known = [cost.mean for cost in costs if cost.weight]
    usual = math.fsum(known) / len(known) if known else 0.0
    return [cost.mean / usual if cost.weight and usual else 1.0 for cost in costs]
