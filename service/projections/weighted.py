"""The best candidate of a run under weights that somebody names."""

import difflib
import math
from collections.abc import Mapping

import numpy as np

from service.errors import UsageError
from service.projections.best import none_yet
from service.projections.candidates import objectives_of
from service.projections.columns import Columns, Floats

EQUAL = 1e-6  # means no further apart are equal: less is noise of their sums, and of rewards told to 7 digits


def weighted_best(columns: Columns, weights: Mapping[str, float]) -> tuple[str, float]:
    """The candidate with the highest weighted mean of normalised scores, and that mean; of equals the oldest.

    Means no further than `EQUAL` from the highest are equal to it. Scores are normalised by the objective's declared
    bounds, else by their range in the run.

    Raises:
        UsageError: a name is no objective (without objectives: no score) of the run.
        NotFoundError: nothing was evaluated with success.
    """
    there = np.flatnonzero(~np.isnan(columns.fitness))
    if not len(there):
        raise none_yet(columns.run)
    gains = _gains(columns)
    for name in weights:
        if name not in gains:
            near = "".join(difflib.get_close_matches(name, gains, n=1, cutoff=0))
            raise UsageError(f"weights: {name} is no objective of this run; the nearest is {near}")
    bounded = {objective.name for objective in objectives_of(columns.run) if objective.bounded}
    total = math.fsum(weights.values())
    value = np.zeros(len(there))
    for name, weight in weights.items():
        value += weight / total * _normalised(gains[name][there], name in bounded)
    highest = np.flatnonzero(value >= value.max() - EQUAL)
    age = np.lexsort((np.array(columns.positions)[there[highest]], np.array(columns.numbers)[there[highest]]))
    winner = highest[age[0]]
    return columns.ids[there[winner]], float(value[winner])


def _gains(columns: Columns) -> Mapping[str, Floats]:
    """Larger is better, by name: rewards, or where the evaluator gives one number the scores beside it."""
    return dict(zip(columns.names, columns.rewards.T, strict=True)) if columns.names else columns.scores


def _normalised(gains: Floats, bounded: bool) -> Floats:
    seen = gains[~np.isnan(gains)]
    if not len(seen):
        return np.zeros(len(gains))
    low, high = (0.0, 1.0) if bounded else (seen.min(), seen.max())
    if high == low:
        return np.where(np.isnan(gains), 0.0, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):  # a range may be wider than the largest number
        shares = (gains - low) / (high - low)
    return np.clip(np.nan_to_num(shares), 0.0, 1.0)
