"""Choosing: what every selection is given and what it gives back."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evolve.configuration import RunConfig
from evolve.selection.view import ArchiveView


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionParams:
    """What of a configuration selections read.

    Attributes:
        dirichlet_alpha: concentration of the Dirichlet distribution.
        objective_weights: its mean by objective, before it is scaled to sum to 1; 1 where an objective is not named.
        power_law_exponent: exponent of the rank power law.
        exploration: how much PUCT and UCB give for what was seldom tried.
        cases: share of the cases that down-sampled lexicase draws.
    """

    dirichlet_alpha: float = 1.0
    objective_weights: Mapping[str, float] = field(default_factory=dict)
    power_law_exponent: float = 2.0
    exploration: float = 1.0
    cases: float = 0.25

    @classmethod
    def of(cls, config: RunConfig) -> "SelectionParams":
        """Those of a configuration."""
        options = config.selection_options
        return cls(
            dirichlet_alpha=options.dirichlet_alpha,
            objective_weights=options.objective_weights,
            power_law_exponent=options.power_law_exponent,
            exploration=options.exploration,
            cases=options.cases,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """A place in the view, and why it was chosen.

    Attributes:
        weights: those that were drawn, in the order of the objectives; empty: none were.
        rationale: what decided, as a few JSON values.
    """

    place: int
    weights: tuple[float, ...] = ()
    rationale: Mapping[str, Any] = field(default_factory=dict)


class Select(Protocol):
    """A selection: one member of a view that is not empty."""

    def __call__(self, view: ArchiveView, rng: np.random.Generator, params: SelectionParams, /) -> Selected:
        """Choose; all that is random comes from `rng`."""


def brief(number: float) -> float | None:
    """A number to be told: six significant digits; None where it is infinite."""
    return float(f"{number:.6g}") if math.isfinite(number) else None


def briefly(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """Numbers to be told by name; counts as they are."""
    return {name: number if isinstance(number, int) else brief(number) for name, number in numbers.items()}


def draw(weights: NDArray[np.float64], rng: np.random.Generator) -> int:
    """A place with probability proportional to its weight; any of them where all weigh nothing."""
    cumulative = np.cumsum(weights)
    if not cumulative[-1] > 0:
        return int(rng.integers(len(weights)))
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right").clip(max=len(weights) - 1))


def highest(values: NDArray[np.float64], rng: np.random.Generator) -> int:
    """The place of the highest value; one drawn among equals."""
    places = np.flatnonzero(values == values.max())
    return int(places[rng.integers(len(places))])
