"""CMA-ES over the numbers of a program (Hansen 2016, arXiv:1604.00772), of the package `cmaes`."""

import math
from collections.abc import Sequence

import numpy as np
from cmaes import CMA, SepCMA

from evolve.proposal import TuningRecord
from service.policy.syntax.source import SourceText
from service.policy.tuner.numbers import NumberSpace, TunedProgram, Vector

INITIAL_STEP = 0.1
MIN_POPULATION = 4
# Beyond it the covariance matrix is kept diagonal (Ros and Hansen 2008): a full one takes cubic time.
MAX_FULL_DIMENSIONS = 100
_TRIES = 20


class NumberOptimizer:
    """The optimizer of a tuning session: its state follows from the record of the session.

    Args:
        sources: the files of the session's base.
        record: of the session.
        answers: of a proposal: the smallest generation.

    Attributes:
        space: the numbers that it moves.
        generations: of the record that it has learned from.
        asked: whether it was asked since then.
    """

    def __init__(self, sources: Sequence[SourceText], record: TuningRecord, answers: int) -> None:
        self.space = NumberSpace(sources)
        self.generations = 0
        self._record = record
        self._answers = answers
        self._seen: set[tuple[tuple[str, str], ...]] = set()
        self._told: list[tuple[Vector, float]] = []
        self.asked = False
        self._asked: list[Vector] = []
        self._cma: CMA | SepCMA | None = None

    def learn(self, generations: Sequence[Sequence[float | None]]) -> None:
        """Learn the fitness of what further proposals brought, of a record that goes on from the one learned so far."""
        for generation in generations[self.generations :]:
            if not self.asked:
                self.ask(len(generation))
            known = zip(self._asked, generation, strict=False)
            # An answer without a fitness ranks last.
            self._told += [(point, math.inf if fitness is None else -fitness) for point, fitness in known]
            self.asked = False
            self.generations += 1
            self._advance()

    def ask(self, count: int) -> list[TunedProgram]:
        """So many new programs; fewer where hardly any number moves any more."""
        cma = self._optimizer(count)
        found: list[TunedProgram] = []
        self.asked, self._asked = True, []
        for _ in range(_TRIES + count):
            if len(found) == count:
                break
            point = np.asarray(cma.ask(), dtype=np.float64)
            numbers = slice(self.space.dimensions)
            program = self.space.program(point[numbers], (point - np.asarray(cma.mean))[numbers])
            key = tuple(program.files.items()) if program else ()
            if program is not None and key not in self._seen:
                self._seen.add(key)
                self._asked.append(point)
                found.append(program)
        return found

    def _advance(self) -> None:
        cma = self._optimizer(self._answers)
        size = cma.population_size
        while len(self._told) >= size:
            cma.tell(self._told[:size])
            del self._told[:size]

    def _optimizer(self, count: int) -> "CMA | SepCMA":
        if self._cma is None:
            size = max(2, self.space.dimensions)  # CMA-ES needs two: the second of a single number moves nothing
            kind = CMA if size <= MAX_FULL_DIMENSIONS else SepCMA
            self._cma = kind(
                mean=np.zeros(size),
                sigma=INITIAL_STEP,
                seed=self._record.seed,
                population_size=max(MIN_POPULATION, count),
            )
        return self._cma
