"""Strategies: which parent a proposal starts from. All of them spend the same budget in the same accounts."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from evolve.configuration import BASELINES, RunConfig
from evolve.credit.bandit import choose, reasons
from evolve.credit.operators import MUTATE, REPAIR, Credit, draw_operator, probabilities
from evolve.errors import ExtensionError
from evolve.extensions import Extension, ExtensionKind, Extensions, guarded, is_reference
from evolve.problem import Problem
from evolve.proposal import Individual
from evolve.search.islands import Island
from evolve.selection import Selected, SelectionParams, brief, briefly

_MATINGS = 4
PRIORITY = "priority"  # the selection of a parent that a person gave priority
_BESIDE_PARENT = ("island", "operator")

Rationale = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalPlan:
    """What a strategy decided for one proposal; the fields are those of `Proposal`."""

    island: int
    operator: str
    probability: float = 1.0
    parent: Individual
    second_parent: Individual | None = None
    inspirations: tuple[Individual, ...] = ()
    failures: tuple[Individual, ...] = ()
    selection: str = ""
    weights: tuple[float, ...] = ()
    rationale: Rationale = field(default_factory=dict)


class Strategy(Protocol):
    """Decides where proposals start. Stateless: what it needs of the past stands in the islands."""

    def plan(
        self, number: int, islands: Sequence[Island], latest: Individual, rng: np.random.Generator
    ) -> ProposalPlan:
        """Plan the proposal `number`.

        Args:
            latest: the individual that was evaluated last, a failed one included.
        """


class Islands:
    """Evolution: parents are selected within islands that take turns; prompts show inspirations and failures.

    Args:
        credit: how the operators of this run have done.
    """

    def __init__(self, problem: Problem, config: RunConfig, credit: Credit) -> None:
        self._default = {"dirichlet" if len(problem.objectives) > 1 else "power_law": 1.0}
        self._credit = credit if config.operator_choice == "adaptive" else None

    def _turn(self, number: int, islands: Sequence[Island]) -> tuple[int, Rationale]:
        """Which island the next proposal is made on, and rationale where that was chosen."""
        if islands[0].config.island_choice != "bandit" or len(islands) == 1:
            return number % len(islands), {}
        arms = [island.arm for island in islands]
        place = choose(arms)
        return place, {"island": briefly(reasons(arms, place))}

    def plan(
        self, number: int, islands: Sequence[Island], latest: Individual, rng: np.random.Generator
    ) -> ProposalPlan:
        """Draw an operator, and what it starts from, on the island whose turn it is."""
        del latest
        place, rationale = self._turn(number, islands)
        island = islands[place]
        shares = island.config.operators or {MUTATE: 1.0}
        chances = probabilities(shares, _possible(island, shares), self._credit)
        operator = draw_operator(chances, rng)
        if self._credit is not None and len(chances) > 1:
            rate = self._credit.rate(operator)
            rationale = {**rationale, "operator": briefly({"share": float(shares[operator]), "rate": rate})}
        start = self._repair if operator == REPAIR else self._select
        plan = start(island, operator, rng)
        return replace(
            plan,
            probability=chances[operator],
            rationale={**plan.rationale, **rationale} if rationale else plan.rationale,
        )

    def _select(self, island: Island, operator: str, rng: np.random.Generator) -> ProposalPlan:
        selection, chosen = self._choose(island, rng)
        parent = island.archive.members[chosen.place]
        several = island.operator(operator).parents > 1
        second_parent, rationale = self._mate(island, parent, rng) if several else (None, {})
        return ProposalPlan(
            island=island.number,
            operator=operator,
            parent=parent,
            second_parent=second_parent,
            inspirations=self._inspirations(island, parent, second_parent, rng),
            failures=tuple(island.failures),
            selection=selection,
            weights=chosen.weights,
            rationale={**chosen.rationale, "second_parent": rationale} if rationale else chosen.rationale,
        )

    def _choose(self, island: Island, rng: np.random.Generator) -> tuple[str, Selected]:
        return island.select(island.config.selection or self._default, SelectionParams.of(island.config), rng)

    def _repair(self, island: Island, operator: str, rng: np.random.Generator) -> ProposalPlan:
        """Start from one of the latest failures; what worked before it comes first among the inspirations."""
        broken = island.repairable[int(rng.integers(len(island.repairable)))]
        origin = (broken.origin,) if broken.origin is not None else ()
        return ProposalPlan(
            island=island.number,
            operator=operator,
            parent=broken.failure,
            inspirations=(*origin, *self._inspirations(island, broken.failure, broken.origin, rng)),
            failures=tuple(one for one in island.failures if one.candidate_id != broken.failure.candidate_id),
        )

    def _mate(self, island: Island, parent: Individual, rng: np.random.Generator) -> tuple[Individual, Rationale]:
        """A second parent, selected as the first was; any other member where selection insists on the first."""
        members = island.archive.members
        for _ in range(_MATINGS):
            selection, chosen = self._choose(island, rng)
            if members[chosen.place].candidate_id != parent.candidate_id:
                weights = {"weights": [brief(weight) for weight in chosen.weights]} if chosen.weights else {}
                return members[chosen.place], {"selection": selection, **weights, **chosen.rationale}
        drawn = members[int(rng.integers(len(members) - 1))]
        other = drawn if drawn.candidate_id != parent.candidate_id else members[len(members) - 1]
        return other, {"selection": "", "probability": brief(1 / (len(members) - 1))}

    def _inspirations(
        self, island: Island, parent: Individual, shown: Individual | None, rng: np.random.Generator
    ) -> tuple[Individual, ...]:
        """Inspirations beside a parent and what the prompt shows with it."""
        wanted = island.config.inspirations
        drawn = island.inspire(parent, wanted.top, wanted.diverse, rng)
        return tuple(one for one in drawn if shown is None or one.candidate_id != shown.candidate_id)


def _possible(island: Island, names: Iterable[str]) -> Collection[str]:
    """Those of these operators that an island has something for."""
    held = len(island.archive.members)
    enough = {name for name in names if island.operator(name).parents <= held}
    return enough if island.repairable else enough - {REPAIR}


class BestOfN:
    """Baseline: independent samples from the seeds, in turn; nothing that was found is ever shown."""

    def __init__(self, seeds: Sequence[Individual]) -> None:
        self._seeds = seeds

    def plan(
        self, number: int, islands: Sequence[Island], latest: Individual, rng: np.random.Generator
    ) -> ProposalPlan:
        """Start from a seed again."""
        del islands, latest, rng
        return ProposalPlan(island=0, operator="sample", parent=self._seeds[number % len(self._seeds)])


class Sequential:
    """Baseline: revise the last program, with its failure when it failed."""

    def plan(
        self, number: int, islands: Sequence[Island], latest: Individual, rng: np.random.Generator
    ) -> ProposalPlan:
        """Revise what was evaluated last."""
        del number, islands, rng
        return ProposalPlan(island=0, operator="revise", parent=latest)


def prioritize(plan: ProposalPlan, individual: Individual) -> ProposalPlan:
    """A plan that starts from a candidate with a priority, in place of the parent that was selected."""
    parents = [one for one in (plan.second_parent, plan.parent) if one and one.candidate_id != individual.candidate_id]
    return replace(
        plan,
        parent=individual,
        second_parent=parents[0] if plan.second_parent is not None else None,
        inspirations=tuple(one for one in plan.inspirations if one.candidate_id != individual.candidate_id),
        selection=PRIORITY,
        weights=(),
        rationale={name: told for name, told in plan.rationale.items() if name in _BESIDE_PARENT},
    )


class StrategyFactory(Protocol):
    """Makes the strategy of a run; a class whose constructor takes these is one."""

    def __call__(self, problem: Problem, config: RunConfig, seeds: Sequence[Individual], credit: Credit, /) -> Strategy:
        """Make it.

        Args:
            problem: that is searched on.
            config: of the run.
            seeds: the seeds that were evaluated with success; filled before the first plan is asked for.
            credit: how the operators of this run have done.
        """


def open_islands(problem: Problem, config: RunConfig, seeds: Sequence[Individual], credit: Credit) -> Strategy:
    """Evolution on islands."""
    del seeds
    return Islands(problem, config, credit)


def open_best_of_n(problem: Problem, config: RunConfig, seeds: Sequence[Individual], credit: Credit) -> Strategy:
    """Independent samples."""
    del problem, config, credit
    return BestOfN(seeds)


def open_sequential(problem: Problem, config: RunConfig, seeds: Sequence[Individual], credit: Credit) -> Strategy:
    """Revision of the last program."""
    del problem, config, seeds, credit
    return Sequential()


def open_strategy(
    problem: Problem, config: RunConfig, seeds: Sequence[Individual], credit: Credit, extensions: Extensions
) -> Strategy:
    """The strategy a configuration names; the arguments are those of `StrategyFactory`.

    Raises:
        MissingExtensionError, ExtensionError: it names an extension that is not there, or cannot be made.
    """
    extension, make = extensions.resolve(ExtensionKind.STRATEGY, config.strategy)
    if extension.built_in:
        strategy: Strategy = make(problem, config, seeds, credit)
        return strategy
    with guarded(extension, "could not be made"):
        made = make(problem, config, seeds, credit)
    return GuardedStrategy(extension, made, seeds)


class GuardedStrategy:
    """A strategy of an extension, held to the contract of `Strategy`.

    Args:
        extension: names it in errors.
        strategy: the strategy itself.
        seeds: of the run.
    """

    def __init__(self, extension: Extension, strategy: Strategy, seeds: Sequence[Individual]) -> None:
        self._extension, self._strategy, self._seeds = extension, strategy, seeds

    def plan(
        self, number: int, islands: Sequence[Island], latest: Individual, rng: np.random.Generator
    ) -> ProposalPlan:
        """Plan a proposal.

        Raises:
            ExtensionError: the strategy raised something, or planned with what the run does not hold.
        """
        with guarded(self._extension):
            plan: object = self._strategy.plan(number, islands, latest, rng)
        if not isinstance(plan, ProposalPlan):
            raise self._broken(f"plan returned a value of type {type(plan).__name__}, not a Plan")
        if plan.island not in range(len(islands)):
            raise self._broken(f"it planned on the island {plan.island!r:.40} of {len(islands)}")
        if not (str(plan.operator).isidentifier() or is_reference(str(plan.operator))):
            raise self._broken(f"its operator is {plan.operator!r:.40}: it must be a word, or a reference")
        held = {latest.candidate_id, *(seed.candidate_id for seed in self._seeds)}
        for island in islands:
            held |= {member.candidate_id for member in island.archive.members}
            held |= {failure.candidate_id for failure in island.failures}
            held |= {broken.failure.candidate_id for broken in island.repairable}
        shown: tuple[object, ...] = (
            plan.parent,
            *filter(None, [plan.second_parent]),
            *plan.inspirations,
            *plan.failures,
        )
        if any(not isinstance(one, Individual) or one.candidate_id not in held for one in shown):
            raise self._broken("it planned with an individual that no island holds")
        try:
            rationale = json.loads(json.dumps(dict(plan.rationale), allow_nan=False))
            weights = tuple(float(weight) for weight in plan.weights)
            return replace(plan, rationale=rationale, weights=weights, probability=float(plan.probability))
        except (TypeError, ValueError) as error:
            raise self._broken(f"its rationale, weights or probability are no plain numbers: {error}") from error

    def _broken(self, what: str) -> ExtensionError:
        return ExtensionError(f"{self._extension} breaks the contract of strategies: {what}")


def island_count(config: RunConfig) -> int:
    """Islands a run keeps: the baselines have one."""
    return 1 if config.strategy in BASELINES else config.islands
