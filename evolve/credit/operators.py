"""Operators: how a proposal makes children, how often each is asked for, and how each has done of late."""

import math
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evolve.credit.policy_credit import PolicyCredit
from evolve.errors import ConfigurationError, ExtensionError
from evolve.evaluation import Outcome
from evolve.extensions import ExtensionKind, Extensions, guarded
from evolve.proposal import Individual

MUTATE, CROSSOVER, REPAIR, SIMPLIFY = "mutate", "crossover", "repair", "simplify"
# In place of the operator that was drawn: of tuners, and of proposals that write a prompt.
TUNE, WRITE_PROMPT = "tune", "write_prompt"
FLOOR = 0.05
MEMORY = 0.98
PRIOR = 10.0
# Outcomes that are the program's own: one that a cascade stopped works, and a lost or cancelled one was not judged.
IN_THE_PROGRAM = frozenset(
    {Outcome.INVALID, Outcome.ERROR, Outcome.TIMEOUT, Outcome.MEMORY, Outcome.CRASH, Outcome.OUTPUT}
)

_COUNT = "$count"

Kin = tuple[Individual, str]  # with its role in the lineage


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """How a proposal makes children of its parents.

    Attributes:
        request: what a prompt asks for, with `$count` for how many programs; empty: the built-in words. The syntax
            mutator and bundled policies do not read it: they mutate.
        parents: 1, or 2 where a second parent is selected and shown.
    """

    request: str = ""
    parents: int = 1

    def __post_init__(self) -> None:
        if self.request and _COUNT not in self.request:
            raise ConfigurationError(f"the request of an operator needs {_COUNT}, for how many programs it asks")
        if self.parents not in {1, 2}:
            raise ConfigurationError("an operator has 1 or 2 parents")

    def policy_request(self, count: str) -> str:
        """The request for so many programs, in words."""
        return self.request.replace(_COUNT, count)


MUTATION, RECOMBINATION = Operator(), Operator(parents=2)


def open_operator(name: str, extensions: Extensions) -> Operator:
    """The operator of a name.

    Raises:
        MissingExtensionError, ExtensionError: it names an extension that is not there, or is not an operator.
    """
    extension, found = extensions.resolve(ExtensionKind.OPERATOR, name)
    if not isinstance(found, Operator):
        with guarded(extension, "could not be made"):
            found = found()
    if not isinstance(found, Operator) or not (found.request or extension.built_in):
        raise ExtensionError(
            f"{extension} breaks the contract of operators:"
            " it is not an evolve.credit.operators.Operator with a request"
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairCandidate:
    """A failed individual that may be repaired once.

    Attributes:
        origin: the nearest of those that it descends from that could be scored; None where there is none.
    """

    failure: Individual
    origin: Individual | None = None

    def filled(self, loaded: Callable[[Individual], Individual]) -> "RepairCandidate":
        """The same with loaded individuals in the place of those that a replay left without their texts."""
        origin = loaded(self.origin) if self.origin is not None else None
        return RepairCandidate(failure=loaded(self.failure), origin=origin)

    def without(self, banned: Container[str]) -> "RepairCandidate":
        """The same without an origin that is banned."""
        kept = self.origin is None or self.origin.candidate_id not in banned
        return self if kept else RepairCandidate(failure=self.failure)


class Credit:
    """How often the proposals of each operator found something better: counts that fade by `MEMORY` a proposal."""

    def __init__(self) -> None:
        self.tried: dict[str, float] = {}
        self.won: dict[str, float] = {}

    def settle(self, operator: str, won: bool) -> None:
        """Take note of a proposal of which all is known."""
        for counts in (self.tried, self.won):
            for name in counts:
                counts[name] *= MEMORY
        self.tried[operator] = self.tried.get(operator, 0.0) + 1.0
        self.won[operator] = self.won.get(operator, 0.0) + float(won)

    def rate(self, operator: str) -> float:
        """Share of its proposals that found something better, in (0, 1).

        Drawn towards the rate of all operators together as by `PRIOR` further proposals of that rate, so that an
        operator of which little is known counts as an average one.
        """
        tried, won = math.fsum(self.tried.values()), math.fsum(self.won.values())
        together = (won + 1.0) / (tried + 2.0)
        return (self.won.get(operator, 0.0) + PRIOR * together) / (self.tried.get(operator, 0.0) + PRIOR)


def probabilities(shares: Mapping[str, float], possible: Collection[str], credit: Credit | None) -> dict[str, float]:
    """With which probability each operator is asked for.

    By shares, or by probability matching (Goldberg, 1990; Thierens, 2005): `FLOOR` for each, and the rest in proportion
    to its share times its rate of success. What is not possible now leaves its part to the others; where nothing is
    left, programs are mutated.

    Args:
        credit: None: by shares alone.
    """
    largest = max(shares.values(), default=0.0)
    weighed = {name: shares[name] / largest for name in sorted(shares) if shares[name] > 0 and name in possible}
    if not weighed:
        return {MUTATE: 1.0}
    if credit is not None:
        weighed = {name: share * credit.rate(name) for name, share in weighed.items()}
    total = math.fsum(weighed.values())
    floor = 0.0 if credit is None else FLOOR
    spare = 1.0 - floor * len(weighed)
    return {name: floor + spare * share / total for name, share in weighed.items()}


def draw_operator(chances: Mapping[str, float], rng: np.random.Generator) -> str:
    """An operator, drawn by these probabilities; nothing is drawn where there is but one."""
    names = list(chances)
    if len(names) == 1:
        return names[0]
    chance = np.array(list(chances.values()))
    return names[int(rng.choice(len(names), p=chance / chance.sum()))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A proposal of which not all is known yet.

    Attributes:
        weights: those under which its children are compared; empty: by fitness.
        threshold: what a child has to be better than: the best of the parents, or of a failed one its origin.
        origin: the nearest of those that its children descend from that could be scored.
        awaited: children that await their evaluation.
        closed: whether its policy has said its last word.
    """

    operator: str
    policy: str = ""
    weights: tuple[float, ...]
    threshold: float
    origin: Individual | None
    awaited: int = 0
    closed: bool = False
    won: bool = False


class Trials:
    """Follows proposals until all of their children are known; a fold over the events of a run."""

    def __init__(self) -> None:
        self.credit = Credit()
        self.policy_credit = PolicyCredit()
        self.open: dict[int, Trial] = {}

    def begin(self, number: int, operator: str, policy: str, weights: Sequence[float], kin: Sequence[Kin]) -> None:
        """Follow a proposal.

        Args:
            number, operator, policy, weights: of it.
            kin: those that its children descend from, the parent first.
        """
        drawn = tuple(weights)
        origin = next((one for one, _ in kin if one.fitness is not None), None)
        parents = [one for one, role in kin if role != "inspiration" and one.fitness is not None]
        rivals = parents or ([origin] if origin is not None else [])
        threshold = max((_worth(rival, drawn) for rival in rivals), default=-math.inf)
        self.open[number] = Trial(operator=operator, policy=policy, weights=drawn, threshold=threshold, origin=origin)

    def await_children(self, number: int, count: int) -> None:
        """So many more children of a proposal await their evaluation, or fewer."""
        if trial := self.open.get(number):
            self._put(number, replace(trial, awaited=trial.awaited + count))

    def close(self, number: int) -> None:
        """The policy has said its last word on a proposal."""
        if trial := self.open.get(number):
            self._put(number, replace(trial, closed=True))

    def forget(self, number: int) -> None:
        """Its policy was never asked: it says nothing of anything."""
        if trial := self.open.pop(number, None):
            self.policy_credit.forget(trial.policy)

    def tell(self, number: int, child: Individual | None) -> Individual | None:
        """A child was evaluated, or let go (None); its origin."""
        trial = self.open.get(number)
        if trial is None:
            return None
        better = child is not None and child.fitness is not None and _worth(child, trial.weights) > trial.threshold
        self._put(number, replace(trial, awaited=trial.awaited - 1, won=trial.won or better))
        return trial.origin

    def fill(self, loaded: Callable[[Individual], Individual]) -> None:
        """Put loaded individuals in the place of those that a replay left without their texts."""
        for number, trial in self.open.items():
            if trial.origin is not None:
                self.open[number] = replace(trial, origin=loaded(trial.origin))

    def _put(self, number: int, trial: Trial) -> None:
        self.open[number] = trial
        if trial.closed and not trial.awaited:
            del self.open[number]
            self.credit.settle(trial.operator, trial.won)
            self.policy_credit.settle(trial.policy, trial.won)


def _worth(individual: Individual, weights: Sequence[float]) -> float:
    if weights:
        return math.fsum(weight * reward for weight, reward in zip(weights, individual.rewards, strict=True))
    return -math.inf if individual.fitness is None else individual.fitness
