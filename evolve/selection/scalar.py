"""Selections by one number: a weighted sum drawn anew, the fitness, or nothing at all."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evolve.multiobjective.scalarization import dirichlet, scalarise, soft_argmax
from evolve.selection.selection import Selected, SelectionParams, brief, draw
from evolve.selection.view import ArchiveView

TOURNAMENT_SIZE = 4
TEMPERATURE = 0.05
MIN_TEMPERATURE = 0.01
STEEPNESS = 10.0
MAX_STEPS = 500.0  # the sigmoid is 0 or 1 long before


def select_dirichlet(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """Draw w ~ Dirichlet(alpha), then a member by a soft argmax of w.r over the range of w.r in the view.

    The selection twin of the set reward E_w[max_y w.r(y)] of Vector Policy Optimization. Where the configuration weighs
    objectives, the mean of w is in proportion to these weights.
    """
    favour = [params.objective_weights.get(name, 1.0) for name in view.objectives] if params.objective_weights else None
    weights = dirichlet(rng, view.rewards.shape[1], params.dirichlet_alpha, favour=favour)
    values = scalarise(view.rewards, weights)
    spread = float(np.ptp(values))
    place = soft_argmax(values / spread if spread > 0 else values, rng, TEMPERATURE)
    return Selected(place=place, weights=tuple(float(weight) for weight in weights))


def select_power_law(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """A member of rank r (1 the fittest) with probability proportional to r^-exponent."""
    cumulative = _power_law(len(view), params.power_law_exponent)
    rank = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
    rank = min(rank, len(view) - 1)
    return Selected(place=view.ranked(rank), rationale={"rank": rank})


def select_tournament(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """The fittest of four members drawn with repetition."""
    del params
    entrants = rng.integers(len(view), size=TOURNAMENT_SIZE)
    return Selected(place=int(entrants[np.argmax(view.fitness[entrants])]))


def select_uniform(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """Any member, each as likely as the others."""
    del params
    return Selected(place=int(rng.integers(len(view))))


def select_boltzmann(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """A member with probability softmax(u / T), where u is the fitness over its range in the view.

    T is the standard deviation of u, at least 0.01: whatever the scale of the fitness, the choice is as sharp.
    """
    del params
    fitness = view.fitness
    spread = float(np.ptp(fitness))
    shares = (fitness - fitness.min()) / spread if spread > 0 else np.zeros(len(fitness))
    temperature = max(float(shares.std()), MIN_TEMPERATURE)
    place = soft_argmax(shares, rng, temperature)
    return Selected(place=place, rationale={"temperature": brief(temperature)})


def select_offspring(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """A fit member that has few children: in proportion to sigmoid(10 (f - median) / MAD) / (1 + children).

    As ShinkaEvolve weighs parents; MAD is the median absolute deviation of the fitness in the view.
    """
    del params
    children = view.children
    place = draw(view.once(_fit) / (1 + children), rng)
    return Selected(place=place, rationale={"children": int(children[place])})


def _fit(view: ArchiveView) -> NDArray[np.float64]:
    ahead = view.fitness - np.median(view.fitness)
    deviation = np.median(np.abs(ahead))
    with np.errstate(over="ignore"):
        # Without a deviation the limit of the formula: 1 above the median, 1/2 at it, 0 below.
        steps = STEEPNESS * ahead / deviation if deviation > 0 else np.sign(ahead) * MAX_STEPS
    return 1 / (1 + np.exp(-np.clip(steps, -MAX_STEPS, MAX_STEPS)))


@lru_cache(maxsize=8)
def _power_law_table(size: int, exponent: float) -> NDArray[np.float64]:
    return np.cumsum(np.arange(1, size + 1, dtype=np.float64) ** -exponent)


def _power_law(size: int, exponent: float) -> NDArray[np.float64]:
    # Tables come in powers of two: a growing population asks for a new one a logarithmic number of times.
    return _power_law_table(1 << max(0, size - 1).bit_length(), exponent)[:size]
