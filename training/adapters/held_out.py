"""The figures of answers to held-out prompts while a policy trains."""

from collections.abc import Sequence

import numpy as np

from evolve.multiobjective.scalarization import Floats
from evolve.statistics.answer_sets import best_at_k, expected_max_at_k
from evolve.vpo.group import Rollout
from training.measures import KS, weights

NAMES = {f"{name}_at_{k}": f"{name}@{k}" for name in ("best", "ew") for k in KS}  # a tracker may refuse an @


def pool_figures(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Figures of all answers to a prompt, as if each had been drawn by itself.

    Args:
        rollouts: the reward matrix of each completion, counted from the floors. None: no answer could be read.

    Returns:
        For each k up to their number `best_at_k`, the expected best mean of the objectives among k answers, and
            `ew_at_k`, E_w of the best of k under weights that never change.
    """
    pool = _pool(rollouts)
    scalars = pool.mean(axis=1)
    drawn = weights(pool.shape[1])
    found: dict[str, float] = {}
    for k in (k for k in KS if k <= len(pool)):
        found[f"best_at_{k}"] = float(best_at_k(scalars, k))
        found[f"ew_at_{k}"] = expected_max_at_k(pool, drawn, k)
    return found


def _pool(rollouts: Sequence[Rollout]) -> Floats:
    """The rows of all answers. A completion without any has as many rows of zeros as the others have answers."""
    read = [np.atleast_2d(np.asarray(one, dtype=np.float64)) for one in rollouts if one is not None]
    shape = (max(len(one) for one in read), read[0].shape[1]) if read else (1, 1)
    return np.concatenate([*read, *[np.zeros(shape)] * (len(rollouts) - len(read))])
