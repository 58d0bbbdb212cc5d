"""Scalarisation: reward vectors seen under weights, and a soft choice of the best under them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


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


def soft_argmax(values: ArrayLike, n: int, rng: np.random.Generator, temperature: float) -> NDArray[np.intp]:
    """Draw distinct indices with probability softmax(values / temperature), one after the other without replacement.

    Adding Gumbel noise to the logits and keeping the largest draws exactly so (Kool, van Hoof and Welling 2019), in one
    pass over the values. Temperature 0 gives the largest values, ties broken by chance.

    Args:
        values: (size,); minus infinity is never drawn before a finite value.
        n: how many; all of them when there are fewer.
        rng: where the noise comes from.
        temperature: in the values' unit.

    Returns:
        (min(n, size),) indices in the order drawn.

    Raises:
        ValueError: a value is NaN or plus infinity, or the temperature is negative.
    """
    scores = np.asarray(values, dtype=np.float64)
    if np.isnan(scores).any() or np.isposinf(scores).any():
        raise ValueError("values must be finite numbers or minus infinity")
    if not temperature >= 0:
        raise ValueError("the temperature must be at least 0")
    n = min(n, scores.size)
    noise = rng.gumbel(size=scores.size)
    if n <= 0:
        return np.empty(0, dtype=np.intp)
    if temperature == 0:
        return np.lexsort((noise, scores))[::-1][:n]
    with np.errstate(over="ignore", invalid="ignore"):
        keys = (scores - scores.max()) / temperature + noise
    keys = np.where(np.isneginf(scores), -np.inf, keys)
    chosen = np.argpartition(keys, scores.size - n)[scores.size - n :]
    return chosen[np.argsort(keys[chosen])[::-1]]
