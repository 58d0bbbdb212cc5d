"""Selections: pure functions, all of one signature, that choose a parent from a read-only view of a population."""

from collections.abc import Mapping, Sequence

import numpy as np

from evolve.extensions import ExtensionKind, Extensions, built_in_names
from evolve.selection.guarded import open_selection
from evolve.selection.selection import Select, Selected, SelectionParams, brief, briefly
from evolve.selection.view import ArchiveView

__all__ = [
    "REGISTRY",
    "ArchiveView",
    "Select",
    "Selected",
    "SelectionParams",
    "brief",
    "briefly",
    "draw_selection",
    "open_selection",
]

# The built-in ones by name.
REGISTRY: Mapping[str, Select] = {
    name: open_selection(name, Extensions()) for name in built_in_names(ExtensionKind.SELECTION)
}


def draw_selection(shares: Mapping[str, float], rng: np.random.Generator) -> str:
    """Name of a selection, drawn by the shares of a mix."""
    names: Sequence[str] = sorted(shares)
    if len(names) == 1:
        return names[0]
    weights = np.array([shares[name] for name in names])
    return names[int(rng.choice(len(names), p=weights / weights.sum()))]
