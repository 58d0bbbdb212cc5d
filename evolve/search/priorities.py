"""Priorities: candidates that a person has the next proposals start from, as a fold of a run's events."""

from collections.abc import Callable, Container
from dataclasses import dataclass, replace

from evolve.change_events import PriorityGiven
from evolve.errors import ConfigurationError
from evolve.evaluation import Evaluation, Outcome
from evolve.lineage import Lineage
from evolve.proposal import Individual
from evolve.search.unloaded import UNLOADED

MAX_PRIORITY_PROPOSALS = 10_000


@dataclass(slots=True, kw_only=True)
class StandingPriority:
    """A priority that is not used up; `left`: for how many proposals more."""

    change: PriorityGiven
    individual: Individual
    left: int


class Priorities:
    """The priorities of a run, as its events tell them.

    Attributes:
        standing: those that were not lifted or used up, by candidate, the oldest first.
    """

    def __init__(self) -> None:
        self.standing: dict[str, StandingPriority] = {}

    @property
    def first(self) -> StandingPriority | None:
        """The one that the next proposal starts from; None: none stands."""
        return next(iter(self.standing.values()), None)

    def give(self, change: PriorityGiven, individual: Individual) -> None:
        """Let a priority stand, in place of an earlier one of the same candidate."""
        self.standing.pop(change.candidate_id, None)
        standing = StandingPriority(change=change, individual=individual, left=change.proposals)
        self.standing[change.candidate_id] = standing

    def lift(self, candidate_id: str) -> None:
        """Let a priority stand no longer.

        Raises:
            KeyError: the candidate has none.
        """
        del self.standing[candidate_id]

    def use(self, change_id: str) -> None:
        """Count a proposal that starts from a candidate with a priority; empty: it starts from another.

        Raises:
            KeyError: that priority does not stand.
        """
        if not change_id:
            return
        used = next((one for one in self.standing.values() if one.change.change_id == change_id), None)
        if used is None:
            raise KeyError(change_id)
        used.left -= 1
        if not used.left:
            self.lift(used.change.candidate_id)

    def forget(self, banned: Container[str]) -> None:
        """Let no priority of a banned candidate stand."""
        self.standing = {name: one for name, one in self.standing.items() if name not in banned}

    def find(self, candidate_id: str) -> Individual:
        """The individual of a candidate with a priority.

        Raises:
            KeyError: it has none.
        """
        return self.standing[candidate_id].individual

    def fill(self, loaded: Callable[[Individual], Individual]) -> None:
        """Put loaded individuals in the place of those that a replay left without their texts."""
        for standing in self.standing.values():
            standing.individual = loaded(standing.individual)


def prioritized(
    candidate_id: str, lineage: Lineage, held: Callable[[str], Individual], brought: object = None
) -> Individual:
    """The individual that a priority is about.

    A run holds few of its candidates. One that it does not hold is known by its fitness, on a replay as before it.

    Args:
        candidate_id: of it.
        lineage: of the run, which knows the candidate.
        held: finds what the state holds; raises KeyError.
        brought: the individual with its texts as storage holds it; anything else on a replay.
    """
    try:
        individual = held(candidate_id)
    except KeyError:
        evaluation = Evaluation(outcome=Outcome.OK)
        fitness = lineage.fitness(candidate_id)
        individual = Individual(
            candidate_id=candidate_id, program=UNLOADED, evaluation=evaluation, measures={}, fitness=fitness
        )
    if not isinstance(brought, Individual):
        return individual
    return replace(individual, program=brought.program, evaluation=brought.evaluation)


def check_priority(change: PriorityGiven, lineage: Lineage, banned: Container[str]) -> None:
    """Check a priority that a person gives.

    Raises:
        ConfigurationError: the candidate cannot be a parent, or the number of proposals is out of its range.
    """
    name = change.candidate_id
    if not 1 <= change.proposals <= MAX_PRIORITY_PROPOSALS:
        raise ConfigurationError(
            f"a priority stands for 1 to {MAX_PRIORITY_PROPOSALS} proposals, not {change.proposals}"
        )
    if name not in lineage:
        raise ConfigurationError(f"the candidate {name} was not evaluated in this run")
    if name in banned:
        raise ConfigurationError(f"the candidate {name} is banned: lift its ban first")
    if lineage.fitness(name) is None:
        raise ConfigurationError(f"the candidate {name} has no valid evaluation, so nothing can start from it")
