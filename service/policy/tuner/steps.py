"""Sparse steps: a few numbers of the best point move at once, each by a step size of its own."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.policy.tuner.numbers import Vector

FIRST_SIZE = 0.1
_MIN_SIZE, _MAX_SIZE = 1e-8, 1.0
_GROWTH, _SHRINKAGE = 0.3, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseStep:
    """A step that was tried: which coordinates it moves, and the logarithm of the size that each was drawn with."""

    places: NDArray[np.intp]
    log_sizes: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPoint:
    """A point that was scored.

    Attributes:
        fitness: minus infinity where it has none.
        step: that led there; None: it came from elsewhere.
    """

    point: Vector
    fitness: float
    step: SparseStep | None = None


class SparseSteps:
    """A (1 + lambda) evolution strategy with step sizes for each coordinate, whose steps move few coordinates.

    k coordinates move, k geometric with mean 2. Coordinate i moves by s_i z, z standard normal, with ln s_i drawn anew
    around its memory, with standard deviation 1 (mutative self-adaptation: Schwefel 1995, Evolution and Optimum
    Seeking). A step that brings the best of its generation draws the memory half of the way to the size that it had,
    and 0.3 further; each of the others lowers that of its coordinates, by 0.1 together. So a program that is good
    already is tuned from its first generation on, where a step that moves all of its numbers breaks it.

    Args:
        dimensions: of points, at least 1: those that move.
        length: of the vectors of points, at least `dimensions`.
        fitness: of the point 0; minus infinity where it has none.

    Attributes:
        best: the best point so far, the newest among equals.
        fitness: of it.
    """

    def __init__(self, dimensions: int, length: int, fitness: float, seed: int) -> None:
        self.best: Vector = np.zeros(length)
        self.fitness = fitness
        self._log_sizes = np.full(dimensions, math.log(FIRST_SIZE))
        self._rng = np.random.default_rng(seed)

    def ask(self) -> tuple[Vector, SparseStep]:
        """A point near the best, and the step that leads there."""
        count = min(len(self._log_sizes), int(self._rng.geometric(0.5)))
        places = self._rng.choice(len(self._log_sizes), size=count, replace=False)
        log_sizes = self._log_sizes[places] + self._rng.normal(size=count)
        point = self.best.copy()
        point[places] += np.exp(log_sizes) * self._rng.normal(size=count)
        return point, SparseStep(places=places, log_sizes=log_sizes)

    def learn(self, generation: Iterable[ScoredPoint]) -> None:
        """Learn from the trials of a generation; those that came from elsewhere may be the best, too."""
        trials = list(generation)
        for trial in trials:
            if trial.step is not None and trial.fitness < self.fitness:
                self._log_sizes[trial.step.places] -= _SHRINKAGE / len(trial.step.places)
        winner = max(trials, key=lambda trial: trial.fitness, default=None)
        if winner is not None and math.isfinite(winner.fitness) and winner.fitness >= self.fitness:
            self._take(winner)
        np.clip(self._log_sizes, math.log(_MIN_SIZE), math.log(_MAX_SIZE), out=self._log_sizes)

    def _take(self, winner: ScoredPoint) -> None:
        if winner.step is not None and winner.fitness > self.fitness:
            places = winner.step.places
            self._log_sizes[places] = (self._log_sizes[places] + winner.step.log_sizes) / 2 + _GROWTH
        self.best, self.fitness = winner.point, winner.fitness
