"""Selections: pure functions, all of one signature, that choose a parent from a read-only view of a population."""

from collections.abc import Mapping, Sequence

import numpy as np

from evolve.selection.fronts import select_hypervolume, select_nsga2, select_nsga3
from evolve.selection.lexicase import select_downsampled_lexicase, select_lexicase
from evolve.selection.scalar import (
    select_boltzmann,
    select_dirichlet,
    select_offspring,
    select_power_law,
    select_tournament,
    select_uniform,
)
from evolve.selection.selection import Select, Selected, SelectionParams, brief, briefly
from evolve.selection.tree import select_puct, select_ucb
from evolve.selection.view import ArchiveView

__all__ = ["REGISTRY", "ArchiveView", "Select", "Selected", "SelectionParams", "brief", "briefly", "draw_selection"]

REGISTRY: Mapping[str, Select] = {
    "boltzmann": select_boltzmann,
    "dirichlet": select_dirichlet,
    "downsampled_lexicase": select_downsampled_lexicase,
    "hypervolume": select_hypervolume,
    "lexicase": select_lexicase,
    "nsga2": select_nsga2,
    "nsga3": select_nsga3,
    "offspring": select_offspring,
    "power_law": select_power_law,
    "puct": select_puct,
    "tournament": select_tournament,
    "ucb": select_ucb,
    "uniform": select_uniform,
}


def draw_selection(shares: Mapping[str, float], rng: np.random.Generator) -> str:
    """Name of a selection, drawn by the shares of a mix."""
    names: Sequence[str] = sorted(shares)
    if len(names) == 1:
        return names[0]
    weights = np.array([shares[name] for name in names])
    return names[int(rng.choice(len(names), p=weights / weights.sum()))]
