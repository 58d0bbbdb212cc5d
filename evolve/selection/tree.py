"""Selections by what came of earlier proposals: a tree of descendants, and counts of outcomes."""

import math

import numpy as np
from numpy.typing import NDArray

from evolve.selection.selection import Selected, SelectionParams, brief, highest
from evolve.selection.view import ArchiveView


def select_puct(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """The highest Q + c R P sqrt(1 + T) / (1 + n), as TTT-Discover reuses states (2026).

    Q is the best fitness among a member and all that descends from it, not their mean: a search is after the best. R is
    the range of the fitness in the view, P falls linearly with the rank and sums to 1, T counts all proposals of the
    run, n those that started from the member or from what descends from it, failed ones included. What is in flight,
    its ancestors and its descendants wait, unless nobody else is there.
    """
    fitness, expansions = view.fitness, view.expansions
    spread = float(np.ptp(fitness)) or 1.0
    urge = params.exploration * spread * view.once(_prior) * math.sqrt(1 + view.proposals) / (1 + expansions)
    values = view.descended + urge
    free = ~view.related
    place = highest(np.where(free, values, -np.inf) if free.any() else values, rng)
    return Selected(
        place=place,
        rationale={
            "best": brief(float(view.descended[place])),
            "exploration": brief(float(urge[place])),
            "expansions": int(expansions[place]),
        },
    )


def select_ucb(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """The highest u + c (sqrt(ln(1 + T) / N) - b / B): outcomes that were seldom met, and are not being tried.

    u is the fitness over its range in the view; N counts how often the run met the member's outcome (its rewards to
    three digits), as a result and as the start of a proposal, T all of that; b of the B proposals in flight started
    from that outcome. The historical bonus and the penalty of repetition within a batch of outcome-based exploration
    (arXiv:2509.06941), the former in the form of UCB1 (Auer et al. 2002).
    """
    seen, airborne = view.seen, view.airborne
    bonus = np.sqrt(math.log(1 + view.observations) / np.maximum(seen, 1))
    values = view.once(_level) + params.exploration * (bonus - airborne / max(view.flights, 1))
    place = highest(values, rng)
    return Selected(
        place=place,
        rationale={"seen": int(seen[place]), "in_flight": int(airborne[place]), "bonus": brief(float(bonus[place]))},
    )


def _prior(view: ArchiveView) -> NDArray[np.float64]:
    """(N - rank) over its sum, rank 0 the fittest; equals have the mean of their ranks."""
    count = len(view)
    _, which, times = np.unique(view.fitness, return_inverse=True, return_counts=True)
    weights = np.cumsum(times) - (times - 1) / 2
    return np.asarray(weights[which] * (2 / (count * (count + 1))))


def _level(view: ArchiveView) -> NDArray[np.float64]:
    spread = np.ptp(view.fitness)
    return (view.fitness - view.fitness.min()) / spread if spread > 0 else np.zeros(len(view))
