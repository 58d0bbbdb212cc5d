"""Islands: sub-populations with an archive and a memory of recent failures each."""

import math
from collections import deque
from collections.abc import Callable, Collection, Container, Mapping

import numpy as np

from evolve.archives import Archive, Insertion, open_archive
from evolve.configuration import RunConfig
from evolve.credit.bandit import Arm
from evolve.credit.operators import IN_THE_PROGRAM, REPAIR, Operator, RepairCandidate, open_operator
from evolve.extensions import Extensions
from evolve.lineage import Lineage
from evolve.problem import Problem
from evolve.proposal import Individual
from evolve.selection import ArchiveView, Select, Selected, SelectionParams, draw_selection, open_selection

REPAIRABLE = 4


class Island:
    """One sub-population.

    Args:
        extensions: resolves the names of archive and selections.

    Attributes:
        config: what holds on it.
        arm: how it does, as a bandit over islands sees it.
        evaluated: candidates of this island that were evaluated.
        repairable: its latest failures that lie in the program and were not repaired yet, if it is to repair any.
        best: its highest fitness since its start or last reset.
        since_best: evaluations since then.
    """

    def __init__(
        self, number: int, problem: Problem, config: RunConfig, lineage: Lineage, extensions: Extensions | None = None
    ) -> None:
        config.selection_options.check_objectives([objective.name for objective in problem.objectives])
        self.number = number
        self.config = config
        self._extensions = extensions or Extensions()
        self._selections: dict[str, Select] = {}
        self._operators: dict[str, Operator] = {}
        self.archive: Archive = open_archive(problem, config.archive, config.seed, self._extensions)
        self.failures: deque[Individual] = deque(maxlen=config.prompt.failures)
        self.repairable: deque[RepairCandidate] = deque(maxlen=REPAIRABLE if config.operators.get(REPAIR) else 0)
        self.arm = Arm()
        self.evaluated = 0
        self.best = -math.inf
        self.since_best = 0
        self._problem = problem
        self._lineage = lineage
        self._view = self._open_view()

    def count(
        self, individual: Individual, origin: Individual | None = None, banned: Container[str] = frozenset()
    ) -> None:
        """Take note of an evaluated candidate of this island, and of the nearest ancestor that could be scored."""
        self.evaluated += 1
        self.since_best += 1
        if individual.candidate_id in banned:
            return
        if individual.fitness is None:
            origin = None if origin is not None and origin.candidate_id in banned else origin
            self.failures.append(individual)
            if individual.evaluation.outcome in IN_THE_PROGRAM:
                self.repairable.append(RepairCandidate(failure=individual, origin=origin))
        else:
            self.credit(individual.fitness)

    def insert(self, individual: Individual, insertion: Insertion) -> None:
        """Do what the archive decided about an individual."""
        self.archive.apply(individual, insertion)
        if insertion.kept and individual.fitness is not None:
            self.credit(individual.fitness)

    def remove(self, candidate_ids: Collection[str]) -> list[Individual]:
        """Remove members; the island then stands where the others have brought it."""
        removed = [self.archive.members.get(candidate_id) for candidate_id in candidate_ids]
        for candidate_id in candidate_ids:
            self.archive.remove(candidate_id)
        best = self.archive.members.best()
        self.best = -math.inf if not best or best[0].fitness is None else best[0].fitness
        return removed

    def forget(self, banned: Container[str]) -> None:
        """Show no failure that is banned any more, nor repair it, nor show a banned origin beside another's repair."""
        failures = [one for one in self.failures if one.candidate_id not in banned]
        self.failures.clear()
        self.failures.extend(failures)
        broken = [one.without(banned) for one in self.repairable if one.failure.candidate_id not in banned]
        self.repairable.clear()
        self.repairable.extend(broken)

    def credit(self, fitness: float) -> None:
        """Take note of a fitness that the island now has."""
        if fitness > self.best:
            self.best, self.since_best = fitness, 0

    def fill(self, loaded: Callable[[Individual], Individual]) -> None:
        """Put loaded failures in the place of those that a replay left without their texts."""
        failures = [loaded(failure) for failure in self.failures]
        self.failures.clear()
        self.failures.extend(failures)
        repairable = [broken.filled(loaded) for broken in self.repairable]
        self.repairable.clear()
        self.repairable.extend(repairable)

    def repaired(self, candidate_id: str) -> None:
        """A failure is being repaired: each is once."""
        rest = [broken for broken in self.repairable if broken.failure.candidate_id != candidate_id]
        self.repairable.clear()
        self.repairable.extend(rest)

    def configure(self, config: RunConfig) -> None:
        """Let another configuration hold, of the same archive and prompts."""
        self.config = config
        self.repairable = deque(self.repairable, maxlen=REPAIRABLE if config.operators.get(REPAIR) else 0)

    def clear(self) -> None:
        """Forget the archive."""
        self.archive = open_archive(self._problem, self.config.archive, self.config.seed, self._extensions)
        self._view = self._open_view()
        self.best, self.since_best = -math.inf, 0

    def select(
        self, shares: Mapping[str, float], params: SelectionParams, rng: np.random.Generator
    ) -> tuple[str, Selected]:
        """Choose one parent; the name of the selection that did.

        Raises:
            ExtensionError: a selection of an extension failed.
        """
        name = draw_selection(shares, rng)
        if name not in self._selections:
            self._selections[name] = open_selection(name, self._extensions)
        return name, self._selections[name](self._view, rng, params)

    def operator(self, name: str) -> Operator:
        """The operator of a name.

        Raises:
            ExtensionError: what the name stands for is not an operator.
        """
        if name not in self._operators:
            self._operators[name] = open_operator(name, self._extensions)
        return self._operators[name]

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

    def _open_view(self) -> ArchiveView:
        problem = self._problem
        return ArchiveView(self.archive.members, self._lineage, problem.objective_names, problem.reference_point)
