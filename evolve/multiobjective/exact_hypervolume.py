"""Hypervolume of four to six objectives, computed exactly by moocore where that is installed.

moocore comes with the extra `hypervolume`. What it takes grows steeply with rows and objectives, so that either is
bounded: at the bounds a volume takes about 0.1 s, and so do the contributions of all rows.
"""

from typing import Any

import numpy as np

from evolve.multiobjective.scalarization import Floats

VOLUME_ROWS = {4: 5000, 5: 2000, 6: 400}
CONTRIBUTION_ROWS = {4: 500, 5: 200, 6: 70}


def volume(gains: Floats) -> float | None:
    """Volume above the origin that positive rows dominate; None: there are too many, or nothing computes it."""
    library = _library() if len(gains) <= VOLUME_ROWS.get(gains.shape[1], -1) else None
    return None if library is None else float(library.hypervolume(_losses(gains), ref=np.zeros(gains.shape[1])))


def contributions(gains: Floats) -> Floats | None:
    """By how much that volume falls without each row, (n,); None: there are too many, or nothing computes it.

    Args:
        gains: positive rows, each once, none of which dominates another.
    """
    library = _library() if len(gains) <= CONTRIBUTION_ROWS.get(gains.shape[1], -1) else None
    if library is None:
        return None
    found: Floats = library.hv_contributions(_losses(gains), ref=np.zeros(gains.shape[1]))
    return np.maximum(found, 0.0)


def _losses(gains: Floats) -> Floats:
    return np.ascontiguousarray(-gains)  # less is better there


def _library() -> Any:
    try:
        import moocore
    except ImportError:
        return None
    return moocore
