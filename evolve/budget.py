"""Budgets: what a run has used, what it may still ask for, and which limit ended it."""

import math
from dataclasses import dataclass, replace

from evolve.configuration import BudgetConfig
from evolve.errors import ConfigurationError
from evolve.money import FREE, Money, read_money
from evolve.proposal import Usage


@dataclass(slots=True, kw_only=True)
class Account:
    """What a run has used so far; a fold of its events.

    Attributes:
        evaluations: candidates evaluated, whatever the outcome, cancelled ones excepted.
        money: what the policies cost; None: some of it is not known.
        since_best: evaluations since the best improved.
        barren: proposals in a row that brought no candidate to evaluate.
    """

    evaluations: int = 0
    answers: int = 0
    tokens: int = 0
    money: Money | None = FREE
    since_best: int = 0
    barren: int = 0

    def spend(self, usage: Usage, cost: Money | None) -> None:
        """Add what a completion took."""
        self.tokens += usage.total
        self.money = None if self.money is None or cost is None else self.money + cost


EXHAUSTED_AFTER = 100
SHARE_IN_FLIGHT = 10
_FRACTIONAL = frozenset({"wall_seconds", "target"})


def extended(budget: BudgetConfig, key: str, value: object) -> BudgetConfig:
    """A budget in which one key has another value; None: no limit.

    Raises:
        ConfigurationError: there is no such key, or it cannot have this value.
    """
    keys = tuple(BudgetConfig.__dataclass_fields__)
    if key not in keys:
        raise ConfigurationError(f"budget.{key[:40]} is unknown: choose one of {', '.join(keys)}")
    if key == "money" and value is not None:
        return replace(budget, money=read_money(value))
    if value is not None and not _fits(key, value):
        what = "a finite number" if key in _FRACTIONAL else "a whole number"
        raise ConfigurationError(f"budget.{key} must be {what}, or nothing for no limit")
    # The check of the type stands above; a mapping cannot tell mypy which key it holds.
    return replace(budget, **{key: value})  # type: ignore[arg-type]


def check_money(budget: BudgetConfig, currency: str | None) -> None:
    """Refuse a limit of money that could not be held.

    Args:
        currency: that of the prices of the run's policies; empty: they cost nothing; None: that is not known.

    Raises:
        ConfigurationError: the cost is not known, or the limit names another currency.
    """
    limit = budget.money
    if limit is None:
        return
    if currency is None:
        raise ConfigurationError(
            "budget.money cannot be held, for what the policy costs is not known: give the policy a price in its file,"
            " or limit budget.tokens"
        )
    if limit.currency and currency and limit.currency != currency:
        raise ConfigurationError(f"budget.money is in {limit.currency} and the policy's price in {currency}: name one")


def _fits(key: str, value: object) -> bool:
    if isinstance(value, float):
        return key in _FRACTIONAL and math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def ended_by(budget: BudgetConfig, used: Account, best: float | None, elapsed_seconds: float) -> str | None:
    """The reason to end a run, or None while it may go on.

    `exhausted`: a hundred proposals in a row brought nothing new.
    """
    if best is not None and budget.target is not None and best >= budget.target:
        return "target"
    spent = {
        "evaluations": used.evaluations,
        "answers": used.answers,
        "tokens": used.tokens,
        "money": used.money.amount if used.money is not None else 0,
        "wall_seconds": elapsed_seconds,
        "patience": used.since_best,
    }
    for key, amount in spent.items():
        limit = budget.money.amount if key == "money" and budget.money is not None else getattr(budget, key)
        if limit is not None and amount >= limit:
            return key
    return "exhausted" if used.barren >= EXHAUSTED_AFTER else None


def room(budget: BudgetConfig, used: Account, outstanding: int, pending: int) -> int | None:
    """How many more answers may be asked for; None: no limit.

    Args:
        outstanding: answers asked for that have not come yet.
        pending: candidates that wait for their evaluation.
    """
    rooms = []
    if budget.evaluations is not None:
        rooms.append(budget.evaluations - used.evaluations - pending - outstanding)
    if budget.answers is not None:
        rooms.append(budget.answers - used.answers - outstanding)
    return min(rooms) if rooms else None


def expected(budget: BudgetConfig, used: Account, free: int | None) -> int | None:
    """How many more answers a run is likely to get; None: nothing tells.

    Tokens and money count as the answers they pay for at what an answer has cost so far.

    Args:
        free: what `room` says with nothing asked for.
    """
    counts = [] if free is None else [free]
    if used.answers:
        if budget.tokens is not None and used.tokens:
            counts.append((budget.tokens - used.tokens) * used.answers // used.tokens)
        if budget.money is not None and used.money is not None and used.money.amount:
            left = budget.money.amount - used.money.amount
            counts.append(int(left * used.answers / used.money.amount))
    return max(min(counts), 0) if counts else None


def paced(remaining: int, outstanding: int, call: int, minimum: int = 1) -> int:
    """How many answers to ask for now, so that later ones can know of earlier ones.

    An answer knows only what was told before it was asked for. A slow policy with a call for each of many places would
    give out a small budget before the first answer came, and every child would descend from the seed. So at most a
    tenth of what remains is outstanding; the share follows what remains, whatever the latency. Candidates that wait
    for the evaluator are not outstanding: a policy that answers at once keeps the workers as busy as without this.

    It waits until half a call fits, for answers come one by one and a call for each would read the prompt as often.
    With nothing outstanding it is never 0, so that a run cannot stall.

    Args:
        remaining: answers the run will still get, those asked for among them.
        outstanding: answers asked for that have not come yet.
        call: answers of a full call.
        minimum: answers that may always be outstanding.
    """
    share = max(math.ceil(remaining / SHARE_IN_FLIGHT), minimum, 1)
    gap = share - outstanding
    return gap if 2 * gap >= min(share, call) else 0


def plain(limit: float | Money | None) -> float | str | None:
    """A limit as an event tells it."""
    return str(limit) if isinstance(limit, Money) else limit
