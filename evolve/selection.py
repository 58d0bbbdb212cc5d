"""Selections: pure functions that choose parents from a read-only view of a population."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evolve.scalarization import dirichlet, scalarise, soft_argmax

TOURNAMENT_SIZE = 4
TEMPERATURE = 0.05


class View(Protocol):
    """What a selection sees of a population."""

    def __len__(self) -> int:
        """How many members there are."""

    @property
    def rewards(self) -> NDArray[np.float64]:
        """N x k rewards, more is better, on comparable scales."""

    @property
    def fitness(self) -> NDArray[np.float64]:
        """N fitness values."""

    def ranked(self, rank: int) -> int:
        """Place of the member of a rank, 0 the fittest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A place in the view, and the weights that were drawn, in the order of the objectives (empty: none were)."""

    place: int
    weights: tuple[float, ...] = ()


class Select(Protocol):
    """A selection: one member of a view that is not empty."""

    def __call__(self, view: View, rng: np.random.Generator, alpha: float) -> Chosen:
        """Choose; `alpha` is the configuration's."""


def select_dirichlet(view: View, rng: np.random.Generator, alpha: float) -> Chosen:
    """Draw w ~ Dirichlet(alpha), then a member by a soft argmax of w.r over the range of w.r in the view.

    The selection twin of the set reward E_w[max_y w.r(y)] of Vector Policy Optimization.
    """
    weights = dirichlet(rng, view.rewards.shape[1], alpha)
    values = scalarise(view.rewards, weights)
    spread = float(np.ptp(values))
    (place,) = soft_argmax(values / spread if spread > 0 else values, 1, rng, TEMPERATURE)
    return Chosen(place=int(place), weights=tuple(float(weight) for weight in weights))


def select_power_law(view: View, rng: np.random.Generator, alpha: float) -> Chosen:
    """A member of rank r (1 the fittest) with probability proportional to r^-alpha."""
    cumulative = _power_law(len(view), alpha)
    rank = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
    return Chosen(place=view.ranked(min(rank, len(view) - 1)))


def select_tournament(view: View, rng: np.random.Generator, alpha: float) -> Chosen:
    """The fittest of four members drawn with repetition."""
    del alpha
    entrants = rng.integers(len(view), size=TOURNAMENT_SIZE)
    return Chosen(place=int(entrants[np.argmax(view.fitness[entrants])]))


REGISTRY: Mapping[str, Select] = {
    "dirichlet": select_dirichlet,
    "power_law": select_power_law,
    "tournament": select_tournament,
}


def draw_selection(shares: Mapping[str, float], rng: np.random.Generator) -> str:
    """Name of a selection, drawn by the shares of a mix."""
    names: Sequence[str] = sorted(shares)
    if len(names) == 1:
        return names[0]
    weights = np.array([shares[name] for name in names])
    return names[int(rng.choice(len(names), p=weights / weights.sum()))]


@lru_cache(maxsize=8)
def _power_law_table(size: int, alpha: float) -> NDArray[np.float64]:
    return np.cumsum(np.arange(1, size + 1, dtype=np.float64) ** -alpha)


def _power_law(size: int, alpha: float) -> NDArray[np.float64]:
    # Tables come in powers of two: a growing population asks for a new one a logarithmic number of times.
    return _power_law_table(1 << max(0, size - 1).bit_length(), alpha)[:size]
