"""Islands: sub-populations with an archive and a memory of recent failures each."""

import math
from collections import deque
from collections.abc import Mapping

import numpy as np

from evolve.archives import Archive, open_archive
from evolve.bandit import Arm
from evolve.configuration import RunConfig
from evolve.problem import Problem
from evolve.proposal import Individual
from evolve.selection import REGISTRY, Chosen, draw_selection


class Island:
    """One sub-population.

    Attributes:
        arm: how it does, as a bandit over islands sees it.
        evaluated: candidates of this island that were evaluated.
        best: its highest fitness since its start or last reset.
        since_best: evaluations since then.
    """

    def __init__(self, number: int, problem: Problem, config: RunConfig) -> None:
        self.number = number
        self.archive: Archive = open_archive(problem, config.archive, config.seed)
        self.failures: deque[Individual] = deque(maxlen=config.prompt.failures)
        self.arm = Arm()
        self.evaluated = 0
        self.best = -math.inf
        self.since_best = 0
        self._problem = problem
        self._config = config

    def count(self, individual: Individual) -> None:
        """Take note of an evaluated candidate of this island."""
        self.evaluated += 1
        self.since_best += 1
        if individual.fitness is None:
            self.failures.append(individual)
        else:
            self.credit(individual.fitness)

    def credit(self, fitness: float) -> None:
        """Take note of a fitness that the island now has."""
        if fitness > self.best:
            self.best, self.since_best = fitness, 0

    def clear(self) -> None:
        """Forget the archive."""
        self.archive = open_archive(self._problem, self._config.archive, self._config.seed)
        self.best, self.since_best = -math.inf, 0

    def select(self, shares: Mapping[str, float], alpha: float, rng: np.random.Generator) -> tuple[str, Chosen]:
        """Choose one parent; the name of the selection that did."""
        name = draw_selection(shares, rng)
        return name, REGISTRY[name](self.archive.members, rng, alpha)

    def inspire(self, parent: Individual, top: int, diverse: int, rng: np.random.Generator) -> list[Individual]:
        """Further programs for a prompt: the island's best, then others drawn at random, all different."""
        members = self.archive.members
        known = {parent.candidate_id}
        chosen = [member for member in members.best(top + 1) if member.candidate_id not in known][:top]
        known |= {member.candidate_id for member in chosen}
        for place in rng.integers(len(members), size=2 * diverse) if diverse else []:
            member = members[int(place)]
            if len(chosen) < top + diverse and member.candidate_id not in known:
                known.add(member.candidate_id)
                chosen.append(member)
        return chosen
