"""Strategies: which parent a proposal starts from. All of them spend the same budget in the same accounts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evolve.bandit import choose
from evolve.configuration import RunConfig
from evolve.islands import Island
from evolve.problem import Problem
from evolve.proposal import Individual


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a strategy decided for one proposal."""

    island: int
    operator: str
    parent: Individual
    inspirations: tuple[Individual, ...] = ()
    failures: tuple[Individual, ...] = ()
    selection: str = ""
    weights: tuple[float, ...] = ()


class Strategy(Protocol):
    """Decides where proposals start. Stateless: what it needs of the past stands in the islands."""

    def plan(self, number: int, islands: Sequence[Island], latest: Individual, rng: np.random.Generator) -> Plan:
        """Plan the proposal `number`.

        Args:
            latest: the individual that was evaluated last, a failed one included.
        """


class Islands:
    """Evolution: parents are selected within islands that take turns; prompts show inspirations and failures."""

    def __init__(self, problem: Problem, config: RunConfig) -> None:
        default = "dirichlet" if len(problem.objectives) > 1 else "power_law"
        self._shares: Mapping[str, float] = config.selection or {default: 1.0}
        self._config = config

    def _turn(self, number: int, islands: Sequence[Island]) -> int:
        """Which island the next proposal is made on."""
        if self._config.island_choice == "bandit":
            return choose([island.arm for island in islands])
        return number % len(islands)

    def plan(self, number: int, islands: Sequence[Island], latest: Individual, rng: np.random.Generator) -> Plan:
        """Select a parent on the island whose turn it is."""
        del latest
        island = islands[self._turn(number, islands)]
        selection, chosen = island.select(self._shares, self._config.alpha, rng)
        parent = island.archive.members[chosen.place]
        shown = self._config.inspirations
        return Plan(
            island=island.number,
            operator="mutate",
            parent=parent,
            inspirations=tuple(island.inspire(parent, shown.top, shown.diverse, rng)),
            failures=tuple(island.failures),
            selection=selection,
            weights=chosen.weights,
        )


class BestOfN:
    """Baseline: independent samples from the seeds, in turn; nothing that was found is ever shown."""

    def __init__(self, seeds: Sequence[Individual]) -> None:
        self._seeds = seeds

    def plan(self, number: int, islands: Sequence[Island], latest: Individual, rng: np.random.Generator) -> Plan:
        """Start from a seed again."""
        del islands, latest, rng
        return Plan(island=0, operator="sample", parent=self._seeds[number % len(self._seeds)])


class Sequential:
    """Baseline: revise the last program, with its failure when it failed."""

    def plan(self, number: int, islands: Sequence[Island], latest: Individual, rng: np.random.Generator) -> Plan:
        """Revise what was evaluated last."""
        del number, islands, rng
        return Plan(island=0, operator="revise", parent=latest)


def open_strategy(problem: Problem, config: RunConfig, seeds: Sequence[Individual]) -> Strategy:
    """The strategy a configuration names.

    Args:
        seeds: the seeds that were evaluated with success; filled before the first plan is asked for.
    """
    if config.strategy == "best_of_n":
        return BestOfN(seeds)
    return Sequential() if config.strategy == "sequential" else Islands(problem, config)


def island_count(config: RunConfig) -> int:
    """Islands a run keeps: the baselines have one."""
    return config.islands if config.strategy == "islands" else 1
