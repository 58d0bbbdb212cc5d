"""What asking policies came to: tokens, time, and what of their answers was lost; caught up with as a run goes on."""

import math
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evolve.event_codec import write_usage
from evolve.event_types import (
    CandidateDuplicate,
    CandidateRejected,
    ProposalAnswered,
    ProposalCreated,
    ProposalFailed,
)
from evolve.events import EventKind
from evolve.money import Money
from evolve.payloads import bills
from service.ports import LoggedEvent, RunReader
from service.projections.chains import ChainCounts
from service.projections.money import added

ASKING = (str(EventKind.PROPOSAL_CREATED), str(EventKind.PROPOSAL_FAILED))
MAX_REASONS, OTHER = 20, "other"
_READ_AT_ONCE = 1000
_NOBODY = -1


@dataclass(slots=True)
class Cost:
    """What the proposals of one operator to one policy came to.

    Attributes:
        money: what their tokens cost; None: some of it is not known.
        seconds: of each that was answered.
        finish_reasons: why completions ended, as servers said, with how many of each.
        recovered: answers that were not written as asked and made a program all the same, by kind.
    """

    proposals: int = 0
    answered: int = 0
    failed: int = 0
    answers: int = 0
    dropped: int = 0
    duplicates: int = 0
    rejected: int = 0
    tokens_input: int = 0
    tokens_cached: int = 0
    tokens_output: int = 0
    money: str | None = "0"
    seconds: "array[float]" = field(default_factory=lambda: array("f"))
    finish_reasons: Counter[str] = field(default_factory=Counter)
    recovered: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Cost") -> None:
        """Count what another holds as well."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.money = added(self.money, None if other.money is None else Money.read(other.money))
        self.seconds.extend(other.seconds)
        self.finish_reasons.update(other.finish_reasons)
        self.recovered.update(other.recovered)

    def finish(self, reasons: Iterable[str]) -> None:
        """Count why completions ended; servers that say something new each time are not told apart for ever."""
        for reason in reasons:
            known = reason in self.finish_reasons or len(self.finish_reasons) < MAX_REASONS
            self.finish_reasons[reason if known else OTHER] += 1

    @property
    def total_seconds(self) -> float:
        """So long all answered proposals took together; those that overlap count each."""
        return math.fsum(self.seconds)

    def quantile(self, share: float) -> float | None:
        """So long the answers of this share of proposals took at most; None: there was none."""
        return float(np.quantile(np.array(self.seconds), share)) if self.seconds else None


COUNTERS = ("finish_reasons", "recovered")
PLAIN = tuple(name for name in Cost.__slots__ if name not in COUNTERS)
COUNTED = tuple(name for name in PLAIN if name not in ("money", "seconds"))


class Costs:
    """What asking came to in one run, by operator and policy.

    Attributes:
        chains: those that were asked for.
    """

    def __init__(self) -> None:
        self.chains = ChainCounts()
        self._keys: list[tuple[str, str]] = []
        self._costs: list[Cost] = []
        self._of = array("i")  # by the number of the proposal
        self._repeated: list[str] = []
        self._ended: dict[int, bool] = {}  # by number, of those with something written: whether they were answered

    @property
    def size(self) -> int:
        """Bytes that they take, about."""
        seconds = sum(len(cost.seconds) * 4 for cost in self._costs)
        return len(self._of) * self._of.itemsize + seconds + self.chains.size

    def state(self) -> dict[str, Any]:
        """What `restore` takes; they must be settled."""
        costs = [
            {name: getattr(cost, name) for name in PLAIN}
            | {name: list(getattr(cost, name).items()) for name in COUNTERS}
            for cost in self._costs
        ]
        return {"keys": self._keys, "costs": costs, "of": self._of, "chains": self.chains.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what others were."""
        self._keys = [(operator, policy) for operator, policy in state["keys"]]
        self._costs = [Cost(**cost | {name: Counter(dict(cost[name])) for name in COUNTERS}) for cost in state["costs"]]
        self._of = state["of"]
        self.chains.restore(state["chains"])

    def take(self, logged: LoggedEvent) -> None:
        """Count one event; those that tell nothing of costs count nothing."""
        match logged.event.data:
            case ProposalCreated() as data:
                self._begin(data)
            case ProposalAnswered() as data:
                self._answer(data)
            case ProposalFailed() as data:
                self._count(data.proposal_number, "failed")
                self._end(data.proposal_number, answered=False, written=data.tokens is not None)
                self._spend(data)
            case CandidateRejected(proposal_number=number):
                self._count(number, "rejected")
            case CandidateDuplicate(candidate_id=candidate_id):
                self._repeated.append(candidate_id)

    def settle(self, reader: RunReader, run_id: str) -> None:
        """Find out what events do not tell: whose the duplicates are, how many completions came, and why they ended."""
        while self._repeated:
            now, self._repeated = self._repeated[:_READ_AT_ONCE], self._repeated[_READ_AT_ONCE:]
            for number in reader.proposal_numbers(now).values():
                self._count(number, "duplicates")
        ended, self._ended = self._ended, {}
        left = sorted(ended)
        while left:
            page = reader.finish_reasons(run_id, after=left[0] - 1, limit=_READ_AT_ONCE)
            for number, reasons in page:
                cost = self._cost(number)
                if cost is not None and number in ended:
                    self.chains.settle(number, len(reasons))
                    cost.finish(reasons if ended[number] else ())
            left = left[bisect_right(left, page[-1][0]) :] if page else []

    def policy_of(self, number: int) -> str:
        """The policy that a proposal was asked of; empty: none was."""
        code = self._code(number)
        return "" if code == _NOBODY else self._keys[code][1]

    def by_operator(self) -> Mapping[str, Cost]:
        """The sum of each operator, by name."""
        return self._merged(lambda key: key[0])

    def by_policy(self) -> Mapping[str, Cost]:
        """The sum of each policy, by name; programs of people were asked of none."""
        return {name: cost for name, cost in self._merged(lambda key: key[1]).items() if name}

    def _merged(self, name_of: Callable[[tuple[str, str]], str]) -> Mapping[str, Cost]:
        found: dict[str, Cost] = {}
        for key, cost in sorted(zip(self._keys, self._costs, strict=True), key=lambda pair: pair[0]):
            found.setdefault(name_of(key), Cost()).add(cost)
        return dict(sorted(found.items()))

    def _begin(self, created: ProposalCreated) -> None:
        number = created.proposal_number
        if number >= len(self._of):
            self._of.extend([_NOBODY] * (number + 1 - len(self._of)))
        self._of[number] = self._place(created.operator, created.policy)
        self.chains.begin(created)
        self._count(number, "proposals")

    def _place(self, operator: str, policy: str) -> int:
        key = (operator, policy)
        if key not in self._keys:
            self._keys.append(key)
            self._costs.append(Cost())
        return self._keys.index(key)

    def _answer(self, answered: ProposalAnswered) -> None:
        number = answered.proposal_number
        self._count(number, "answered")
        self._end(number, answered=True, written=True)
        self._spend(answered)
        self._count(number, "answers", answered.answers)
        self._count(number, "dropped", answered.dropped)
        cost = self._cost(number)
        if cost is not None:
            cost.recovered.update(answered.recovered)
        if cost is not None and answered.seconds is not None:
            cost.seconds.append(answered.seconds)

    def _end(self, number: int, *, answered: bool, written: bool) -> None:
        self.chains.end(number, written=written)
        if written:
            self._ended[number] = answered

    def _spend(self, ended: ProposalAnswered | ProposalFailed) -> None:
        """What a proposal took, each charge at whom it was paid to; one with nothing written tells nothing of it."""
        code = self._code(ended.proposal_number)
        if code == _NOBODY:
            return
        operator = self._keys[code][0]
        for bill in bills(ended):
            paid = self._costs[self._place(operator, bill.policy) if bill.policy else code]
            for name, tokens in write_usage(bill.usage).items():
                setattr(paid, f"tokens_{name}", getattr(paid, f"tokens_{name}") + tokens)
            paid.money = added(paid.money, bill.cost)

    def _count(self, number: int, name: str, by: int = 1) -> None:
        cost = self._cost(number)
        if cost is not None:
            setattr(cost, name, getattr(cost, name) + by)

    def _cost(self, number: int) -> Cost | None:
        """Of a proposal; None: nobody was asked for it, as for the seeds."""
        code = self._code(number)
        return None if code == _NOBODY else self._costs[code]

    def _code(self, number: int) -> int:
        return self._of[number] if 0 <= number < len(self._of) else _NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Costs by policy and by operator."""

    policies: Mapping[str, Cost]
    operators: Mapping[str, Cost]


def fold_costs(costs: Costs) -> Spending:
    """What is told of costs, apart from what goes on being counted."""
    return Spending(policies=costs.by_policy(), operators=costs.by_operator())
