"""When a run ends, how much goes on at once, and in which order it is told."""

import math
from dataclasses import dataclass

from evolve.configuration.checks import at_least, within
from evolve.errors import ConfigurationError
from evolve.money import Money
from evolve.problem import MAX_MAGNITUDE

# Far beyond any use: what is larger is a slip, and would fill the memory before the first candidate.
MAX_IN_ORDER = 100_000
MAX_CALLS = 10_000
MAX_EVALUATIONS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetConfig:
    """Limits of a run. It ends at the first of them. None: no such limit.

    Attributes:
        evaluations: candidates evaluated, seeds included.
        answers: answers taken from policies, duplicates and rejected ones included.
        tokens: input and output tokens of the policies.
        money: what the policies cost, in the currency of their prices; one that is named here must be the same.
        wall_seconds: time the run was at work, waiting for a policy included.
        target: fitness at which the run ends (`target` of an objective does so for that objective).
        patience: evaluations without a better best.
    """

    evaluations: int | None = 200
    answers: int | None = None
    tokens: int | None = None
    money: Money | None = None
    wall_seconds: float | None = None
    target: float | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        for name in ("evaluations", "answers", "tokens", "patience"):
            at_least(f"budget.{name}", getattr(self, name), 1)
        if self.money is not None and not self.money.amount > 0:
            raise ConfigurationError("budget.money must be above 0")
        if self.wall_seconds is not None and not 0 < self.wall_seconds <= MAX_MAGNITUDE:
            raise ConfigurationError("budget.wall_seconds must be a finite number above 0")
        if self.target is not None and not math.isfinite(self.target):
            raise ConfigurationError("budget.target must be a finite number")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeterministicConfig:
    """Tells results in proposal order, so a run is repeatable bit for bit.

    Attributes:
        window: `ask(n)` waits for `tell(n - window)`; 0: not deterministic. Independent of the number of workers.
    """

    window: int = 0

    def __post_init__(self) -> None:
        within("deterministic.window", self.window, 0, MAX_IN_ORDER)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyConfig:
    """Limits of concurrent work. 0: as many as the policy allows, or as the machine has cores."""

    policy: int = 0
    evaluations: int = 0

    def __post_init__(self) -> None:
        within("concurrency.policy", self.policy, 0, MAX_CALLS)
        within("concurrency.evaluations", self.evaluations, 0, MAX_EVALUATIONS)
