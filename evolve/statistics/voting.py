"""Votes: which answer the candidates of a run agree on, where answers can be compared.

A candidate votes once, for its answer. Which answer wins is a matter of the rule; how likely more candidates would
change the winner of the majority is told beside it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

MIN_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """The vote of one candidate.

    Attributes:
        answer: equal texts are the same answer.
        fitness: of the candidate, more is better; None: it has none.
        candidate_id: whose vote it is, or whose program it repeats.
        age: sorts candidates by when they came, such as (proposal number, position).
    """

    answer: str
    fitness: float | None
    candidate_id: str
    age: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteCount:
    """What was given for one answer.

    Attributes:
        votes: candidates that gave it.
        weight: the sum of their fitness, scaled to 0..1 from the least fit to the fittest of all that vote; where these
            are equal each counts 1, and a candidate without fitness 0.
        fitness: of its best candidate; None: none of them has one.
        candidate_id: its best candidate, of equally fit ones the oldest.
        age: of that candidate.
    """

    answer: str
    votes: int
    weight: float
    fitness: float | None
    candidate_id: str
    age: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteTable:
    """All votes of a run, counted.

    Attributes:
        tallies: in no order; of very many answers those that could win by some rule.
        votes: candidates that vote.
        answers: how many different ones there are.
    """

    tallies: Sequence[VoteCount]
    votes: int
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteResult:
    """What a rule makes of a poll.

    Attributes:
        ranking: the answers, those that the rule prefers first.
        winner: the first of them; None: nobody voted, or the rule lets none of them win.
        confidence: with the rule `majority`, how probable it is that the winner is the answer given most often, however
            many more vote: see `leads`. None: another rule, or nobody voted.
    """

    rule: str
    ranking: tuple[VoteCount, ...]
    winner: VoteCount | None
    confidence: float | None


# An answer's place by a rule, smaller is better, and whether it may win.
_Key = Callable[[VoteCount, float, float], tuple[tuple[float, ...], bool]]


def _majority(tally: VoteCount, share: float, minimum: float) -> tuple[tuple[float, ...], bool]:  # noqa: ARG001 - all rules have it
    return (-tally.votes,), True


def _weighted(tally: VoteCount, share: float, minimum: float) -> tuple[tuple[float, ...], bool]:  # noqa: ARG001 - all rules have it
    return (-tally.weight, -tally.votes), True


def _best_of_majority(tally: VoteCount, share: float, minimum: float) -> tuple[tuple[float, ...], bool]:
    kept = share >= minimum and tally.fitness is not None
    return (not kept, 0 if kept else -tally.votes), kept


RULES: Mapping[str, _Key] = MappingProxyType(
    {"majority": _majority, "weighted": _weighted, "best_of_majority": _best_of_majority}
)


def count(ballots: Iterable[Ballot]) -> VoteTable:
    """Count votes; their order is no matter."""
    given = sorted(ballots, key=lambda one: (_fitness_first(one.fitness), one.age))
    fits = [one.fitness for one in given if one.fitness is not None]
    low, high = (min(fits), max(fits)) if fits else (0.0, 0.0)
    cast: dict[str, list[Ballot]] = {}
    for one in given:
        cast.setdefault(one.answer, []).append(one)
    tallies = [
        VoteCount(
            answer=answer,
            votes=len(own),
            weight=math.fsum(_weight(one.fitness, low, high) for one in own),
            fitness=own[0].fitness,
            candidate_id=own[0].candidate_id,
            age=own[0].age,
        )
        for answer, own in cast.items()
    ]
    return VoteTable(tallies=tallies, votes=len(given), answers=len(tallies))


def decide(poll: VoteTable, rule: str = "majority", min_share: float = MIN_SHARE) -> VoteResult:
    """Rank the answers of a poll. Among equals by a rule the one with the fitter best candidate, then the older, leads.

    Args:
        poll: the votes.
        rule: `majority`: most votes (self-consistency, Wang et al. 2022, arXiv 2203.11171). `weighted`: most weight.
            `best_of_majority`: of the answers that are frequent enough the one with the fittest candidate (Di et al.
            2025, arXiv 2510.03199, with k = 1); the others follow by their votes, and none of them wins.
        min_share: share of the votes from which `best_of_majority` takes an answer for frequent.

    Raises:
        KeyError: there is no such rule.
    """
    key = RULES[rule]
    judged = [(tally, *key(tally, tally.votes / poll.votes, min_share)) for tally in poll.tallies]
    judged.sort(key=lambda one: (one[1], _fitness_first(one[0].fitness), one[0].age))
    ranking = tuple(tally for tally, _, _ in judged)
    winner = ranking[0] if judged and judged[0][2] else None
    confidence = None
    if winner is not None and rule == "majority":
        confidence = leads(winner.votes, ranking[1].votes if len(ranking) > 1 else 0)
    return VoteResult(rule=rule, ranking=ranking, winner=winner, confidence=confidence)


def leads(votes: int, others: int) -> float:
    """Posterior probability that an answer with so many votes is more frequent than the runner-up with `others`.

    The frequencies of the answers have a uniform Dirichlet prior; of the two alone the leader's share p is then
    Beta(votes + 1, others + 1), and P(p > 1/2) the stopping criterion of Adaptive-Consistency (Aggarwal et al. 2023,
    arXiv 2305.11860). For whole numbers it is a sum of binomials (Abramowitz and Stegun 1964, 26.5.24):

        P(p > 1/2) = P(Binomial(n, 1/2) <= votes) = 1 - sum over j = 0..others of C(n, j) / 2^n, n = votes + others + 1

    It looks at the runner-up alone, so with many answers about as frequent it is too high, and it takes candidates as
    independent draws, which children of the same parents are not.
    """
    n = votes + others + 1
    term = math.exp(math.lgamma(n + 1) - math.lgamma(others + 1) - math.lgamma(n - others + 1) - n * math.log(2))
    below = 0.0
    for j in range(others, -1, -1):
        below += term
        term *= j / (n - j + 1)
        if term < below * 1e-18:
            break
    return 1.0 - below


def _weight(fitness: float | None, low: float, high: float) -> float:
    if fitness is None:
        return 0.0
    return (fitness - low) / (high - low) if high > low else 1.0


def _fitness_first(fitness: float | None) -> tuple[bool, float]:
    return fitness is None, 0.0 if fitness is None else -fitness
