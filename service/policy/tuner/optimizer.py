"""Two optimizers over the numbers of a program that learn from each other: CMA-ES, and sparse steps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from cmaes import CMA, SepCMA

from evolve.proposal import TuningRecord
from service.policy.syntax.source import SourceText
from service.policy.tuner.numbers import NumberSpace, TunedProgram, Vector
from service.policy.tuner.steps import ScoredPoint, SparseStep, SparseSteps

INITIAL_STEP = 0.1
# As if each had brought so many better bests, less a half, before: CMA-ES, and sparse steps.
FIRST_GAINS = (3.0, 1.0)
MIN_POPULATION = 4
# Beyond it the covariance matrix is kept diagonal (Ros and Hansen 2008): a full one takes cubic time.
MAX_FULL_DIMENSIONS = 100
# Share of the answers that either has at least, and what a generation counts for beside the one after it.
MIN_SHARE, MEMORY = 1 / 8, 0.9
_TRIES = 20
_TURNS = 1  # a stream apart from those of the two


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPoint:
    """A point whose program was asked for, and how each number is written there; `step`: as of `ScoredPoint`."""

    point: Vector
    texts: tuple[str, ...]
    step: SparseStep | None


class SymmetricRootCMA(CMA):  # type: ignore[misc] # the package has no types
    """CMA-ES that samples with the symmetric square root of the covariance matrix C = B D^2 B'.

    The package samples m + s B D z, where the columns of B are eigenvectors of C. Their signs, and their directions for
    equal eigenvalues, differ between processors. A session resumed on another machine would learn from other points
    than were scored. m + s B D B' z has the same distribution, and the root B D B' is unique.
    """

    def _sample_solution(self) -> Vector:
        basis, scales = self._eigen_decomposition()
        normal = self._rng.randn(self._n_dim)
        point: Vector = self._mean + self._sigma * (basis @ (scales * (basis.T @ normal)))
        return point


class NumberOptimizer:
    """The optimizer of a tuning session: its state follows from the record of the session.

    CMA-ES (Hansen 2016, arXiv:1604.00772), of the package `cmaes`, learns which numbers to move together, and sparse
    steps find what a few numbers bring. Each gets a share of the answers by how often it brought a better best of late,
    and is told what the other found: sparse steps start from the best of all points, and CMA-ES gets theirs injected,
    pulled back where they lie farther from its mean than its own (as Hansen 2011, arXiv:1110.4181, in plain distance).

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
        self.asked = False
        self._seed = record.seed
        self._answers = answers
        self._seen: set[tuple[tuple[str, str], ...]] = set()
        self._told: list[tuple[Vector, float]] = []
        self._asked: list[AskedPoint] = []
        self._cma: CMA | SepCMA | None = None
        fitness = -math.inf if record.base.fitness is None else record.base.fitness
        self._steps = SparseSteps(self.space.dimensions, self._length, fitness, record.seed)
        self._best_texts = self.space.texts
        self._gains = np.array(FIRST_GAINS)
        self._turns = np.random.default_rng([record.seed, _TURNS])

    def learn(self, generations: Sequence[Sequence[float | None]]) -> None:
        """Learn the fitness of what further proposals brought, of a record that goes on from the one learned so far."""
        for generation in generations[self.generations :]:
            if not self.asked:
                self.ask(len(generation))
            self._take(generation)
            self.asked = False
            self.generations += 1

    def ask(self, count: int) -> list[TunedProgram]:
        """So many new programs; fewer where hardly any number moves any more."""
        cma = self._optimizer(count)
        found: list[TunedProgram] = []
        self.asked, self._asked = True, []
        sparse = np.clip(self._gains[1] / self._gains.sum(), MIN_SHARE, 1 - MIN_SHARE)
        for _ in range(_TRIES + count):
            if len(found) == count:
                break
            if self._turns.random() < sparse:
                point, step = self._steps.ask()
                program = self._program(point, point - self._steps.best, self._best_texts)
            else:
                point, step = np.asarray(cma.ask(), dtype=np.float64), None
                program = self._program(point, point - np.asarray(cma.mean), self.space.texts)
            key = tuple(program.files.items()) if program else ()
            if program is not None and key not in self._seen:
                self._seen.add(key)
                self._asked.append(AskedPoint(point=point, texts=program.texts, step=step))
                found.append(program)
        return found

    @property
    def _length(self) -> int:
        return max(2, self.space.dimensions)  # CMA-ES needs two: the second of a single number moves nothing

    def _program(self, point: Vector, step: Vector, texts: Sequence[str]) -> TunedProgram | None:
        numbers = slice(self.space.dimensions)
        return self.space.program(point[numbers], step[numbers], texts)

    def _take(self, generation: Sequence[float | None]) -> None:
        """Tell both optimizers what became of what was asked; an answer without a fitness ranks last."""
        known = list(zip(self._asked, generation, strict=False))
        trials = [
            ScoredPoint(point=one.point, fitness=-math.inf if fitness is None else fitness, step=one.step)
            for one, fitness in known
        ]
        self._credit(trials)
        self._steps.learn(trials)
        self._best_texts = next((one.texts for one, _ in known if one.point is self._steps.best), self._best_texts)
        cma = self._optimizer(self._answers)
        mean = np.asarray(cma.mean)
        farthest = max((_norm(trial.point - mean) for trial in trials if trial.step is None), default=0.0)
        for trial in trials:
            away = trial.point - mean
            distance = _norm(away)
            if trial.step is None or distance <= farthest:
                self._told.append((trial.point, -trial.fitness))
            elif farthest:
                self._told.append((mean + away * (farthest / distance), -trial.fitness))
        self._advance(cma)

    def _credit(self, trials: Sequence[ScoredPoint]) -> None:
        self._gains = 0.5 + MEMORY * (self._gains - 0.5)
        winner = max(trials, key=lambda trial: trial.fitness, default=None)
        if winner is not None and winner.fitness > self._steps.fitness:
            self._gains[int(winner.step is not None)] += 1.0

    def _advance(self, cma: "CMA | SepCMA") -> None:
        size = cma.population_size
        while len(self._told) >= size:
            cma.tell(self._told[:size])
            del self._told[:size]

    def _optimizer(self, count: int) -> "CMA | SepCMA":
        if self._cma is None:
            kind = SymmetricRootCMA if self._length <= MAX_FULL_DIMENSIONS else SepCMA
            self._cma = kind(
                mean=np.zeros(self._length),
                sigma=INITIAL_STEP,
                seed=self._seed,
                population_size=max(MIN_POPULATION, count),
            )
        return self._cma


def _norm(vector: Vector) -> float:
    return float(np.linalg.norm(vector))
