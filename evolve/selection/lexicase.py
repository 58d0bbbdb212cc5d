"""Lexicase: parents that are among the best at cases taken one after the other, in an order drawn anew."""

import math

import numpy as np
from numpy.typing import NDArray

from evolve.selection.selection import Selected, SelectionParams
from evolve.selection.view import ArchiveView

MAX_CASES = 8  # cases that an event names
MAX_NAME = 40  # characters of each


def select_lexicase(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """Epsilon-lexicase (La Cava et al. 2019, semi-dynamic), over all cases.

    Cases come in random order; of those still in, whoever is within epsilon of the best of them at the case stays in,
    until one is left or the cases are through, when one is drawn. The epsilon of a case is its median absolute
    deviation among all members. It finds specialists that no sum of the cases would.
    """
    del params
    return _choose(view, rng, rng.permutation(view.cases.shape[1]))


def select_downsampled_lexicase(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """Epsilon-lexicase over a share of the cases drawn anew, at least one (Helmuth and Spector 2021)."""
    count = view.cases.shape[1]
    return _choose(view, rng, rng.choice(count, size=min(count, math.ceil(params.cases * count)), replace=False))


def _choose(view: ArchiveView, rng: np.random.Generator, order: NDArray[np.int64]) -> Selected:
    results, epsilons = view.cases, view.once(_epsilons)
    pool = np.arange(len(view))
    decisive: list[int] = []
    for case in order:
        column = results[pool, case]
        kept = pool[column >= column.max() - epsilons[case]]
        if len(kept) < len(pool):
            decisive.append(int(case))
        pool = kept
        if len(pool) == 1:
            break
    place = int(pool[rng.integers(len(pool))])
    told = [view.case_names[case][:MAX_NAME] for case in decisive[:MAX_CASES]]
    return Selected(place=place, rationale={"cases": told, "left": len(pool)})


def _epsilons(view: ArchiveView) -> NDArray[np.float64]:
    """Median absolute deviation of each case among those that have it."""
    results = view.cases
    if np.isneginf(results).any():
        known = np.where(np.isneginf(results), np.nan, results)
        return np.asarray(np.nanmedian(np.abs(known - np.nanmedian(known, axis=0)), axis=0))
    return np.asarray(np.median(np.abs(results - np.median(results, axis=0)), axis=0))
