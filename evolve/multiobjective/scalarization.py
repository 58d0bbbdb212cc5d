"""Scalarisation: reward vectors seen under weights, and a soft choice of the best under them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MANY = 4096  # values beyond which an index is proposed first
BATCH = 256  # indices that are proposed together
MAX_BATCHES = 64
# So many values for each batch that proposals in vain take a fraction of the time that noise for all values then takes.
PER_BATCH = 4096


def dirichlet(
    rng: np.random.Generator, k: int, alpha: float = 1.0, count: int | None = None, favour: ArrayLike | None = None
) -> Floats:
    """Weights of `k` objectives from a Dirichlet distribution.

    Args:
        rng: where the draw comes from.
        k: number of objectives.
        alpha: concentration: a small one favours single objectives, 1 is uniform on the simplex, a large one approaches
            equal weights.
        count: how many vectors; None: one, of shape (k,).
        favour: (k,) non-negative numbers with a positive sum, in proportion to which the mean of the weights lies, and
            whose sum leaves the concentration of all objectives together as it is; None: the mean is equal weights.

    Returns:
        Non-negative weights that sum to 1, of shape (k,) or (count, k).
    """
    concentrations = np.full(k, float(alpha))
    if favour is not None:
        shares = np.asarray(favour, dtype=np.float64)
        concentrations *= k * shares / shares.sum()
    return rng.dirichlet(concentrations, size=count)


def normalise(rewards: ArrayLike, low: ArrayLike, high: ArrayLike) -> Floats:
    """Rewards in [0, 1] by the range of each objective, clipped to it.

    An objective without a range (`low` equal to `high`) tells nothing apart and becomes 0.5.

    Args:
        rewards: (n, k), more is better.
        low: (k,), or broadcastable to it.
        high: the same.
    """
    values, minimum, maximum = (np.asarray(array, dtype=np.float64) for array in (rewards, low, high))
    # Halves, because the whole span of two large numbers may be beyond the largest float.
    span = maximum / 2 - minimum / 2
    flat = span <= 0
    share = (np.clip(values, minimum, np.maximum(minimum, maximum)) / 2 - minimum / 2) / np.where(flat, 1.0, span)
    return np.where(flat, 0.5, np.clip(share, 0.0, 1.0))


def scalarise(rewards: ArrayLike, weights: ArrayLike) -> Floats:
    """Weighted sums w.r: (n, k) rewards under (k,) weights give (n,), under (K, k) weights (n, K)."""
    return np.asarray(rewards, dtype=np.float64) @ np.asarray(weights, dtype=np.float64).T


def soft_argmax(values: ArrayLike, rng: np.random.Generator, temperature: float) -> int:
    """Draw an index with probability softmax(values / temperature); temperature 0: a largest value, ties by chance.

    Adding Gumbel noise to the logits and taking the largest draws exactly so (Kool, van Hoof and Welling 2019). Noise
    for very many values takes long, so that there any index is proposed first and accepted with the probability of its
    value relative to the largest, which draws exactly so too (rejection sampling, von Neumann 1951).

    Args:
        values: (size,), at least one; minus infinity is never drawn before a finite value.
        rng: where all that is random comes from.
        temperature: in the values' unit.

    Raises:
        ValueError: there is no value, one is NaN or plus infinity, or the temperature is negative.
    """
    scores = np.asarray(values, dtype=np.float64)
    if not scores.size or not (best := scores.max()) < np.inf:
        raise ValueError("values must be finite numbers or minus infinity, at least one")
    if not temperature >= 0:
        raise ValueError("the temperature must be at least 0")
    if scores.size > MANY and temperature > 0:
        for _ in range(min(MAX_BATCHES, scores.size // PER_BATCH)):
            places = rng.integers(scores.size, size=BATCH)
            with np.errstate(over="ignore", invalid="ignore"):
                accepted = rng.random(BATCH) < np.exp((scores[places] - best) / temperature)
            if accepted.any():
                return int(places[np.argmax(accepted)])
    noise = rng.gumbel(size=scores.size)
    if temperature == 0:
        return int(np.lexsort((noise, scores))[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        keys = (scores - best) / temperature + noise
    return int(np.argmax(np.where(np.isneginf(scores), -np.inf, keys)))
