"""Statistics of sets of answers: how good their best is, under which weights, and how different they are.

Rewards are (n, k) arrays: one row an answer, one column an objective, more is better. Answers of one chain are not
independent, so that estimates over pooled answers have a variant over chains.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evolve.multiobjective import exact_hypervolume as many_objectives
from evolve.multiobjective.pareto import front, hypervolume, hypervolume_sampled, reference_point
from evolve.multiobjective.scalarization import Floats

EXACT_OBJECTIVES = 3
BLOCK = 64  # rows whose distances to all others are in memory at once, small enough for the cache
COLLINEAR = 0.8


def pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> Floats:
    """Unbiased probability that one of k answers passes, when c of n drawn ones did.

    1 - C(n-c, k) / C(n, k) (Chen et al. 2021, "Evaluating large language models trained on code", eq. 1), elementwise
    over broadcastable arrays.

    Raises:
        ValueError: not 0 <= c <= n, or not 1 <= k <= n.
    """
    drawn, passed, wanted = np.broadcast_arrays(*(np.asarray(array, dtype=np.int64) for array in (n, c, k)))
    if ((passed < 0) | (passed > drawn) | (wanted < 1) | (wanted > drawn)).any():
        raise ValueError("pass@k needs 0 <= c <= n and 1 <= k <= n")
    logs = _log_factorials(int(drawn.max(initial=0)))
    failed = drawn - passed
    possible = failed >= wanted
    rest = np.where(possible, failed - wanted, 0)
    log_ratio = logs[failed] - logs[rest] - logs[drawn] + logs[drawn - wanted]
    # Rounded factorials give 4e-15 where none passed, and what counts zeros would not see one.
    log_ratio = np.where(passed == 0, 0.0, np.minimum(log_ratio, 0.0))
    return np.where(possible, 0.0 - np.expm1(log_ratio), 1.0)


def best_at_k(scores: ArrayLike, k: int) -> Floats:
    """Unbiased expected best of k answers drawn without replacement from n.

    With the scores in rising order x_(1) <= ... <= x_(n): sum over i of x_(i) C(i-1, k-1) / C(n, k), for x_(i) is the
    largest of exactly C(i-1, k-1) subsets. For scores 0 and 1 this is pass@k.

    Args:
        scores: (..., n).
        k: how many of the n.

    Returns:
        (...).

    Raises:
        ValueError: not 1 <= k <= n.
    """
    ordered = np.sort(np.asarray(scores, dtype=np.float64), axis=-1)
    n = ordered.shape[-1]
    if not 1 <= k <= n:
        raise ValueError(f"best@k needs 1 <= k <= n, not k = {k} of {n}")
    # A product of vectors may round by where they lie in memory; a sum does not, and two readers tell the same.
    return np.asarray((ordered[..., k - 1 :] * best_of_k_shares(n, k)[k - 1 :]).sum(axis=-1))


def best_of_k_shares(n: int, k: int, of: int | None = None) -> Floats:
    """Share of the subsets of `of` (default k) that have the i-th smallest as the best of k: C(i-1, k-1) / C(n, of).

    For i = 1..n, (n,). With `of` = k it is the distribution of the best of k over n answers in rising order.
    """
    size = k if of is None else of
    logs = _log_factorials(n)
    i = np.arange(k, n + 1)
    share = np.zeros(n)
    share[k - 1 :] = np.exp(logs[i - 1] - logs[i - k] - logs[k - 1] - (logs[n] - logs[size] - logs[n - size]))
    return share


def chain_pass_at_k(passed: ArrayLike, k: int) -> Floats:
    """pass@k over chains: a chain passes if one of its answers does. `passed` is (..., chains, m), k counts chains."""
    chains = np.asarray(passed, dtype=np.bool_).any(axis=-1)
    return pass_at_k(chains.shape[-1], chains.sum(axis=-1), k)


def chain_best_at_k(scores: ArrayLike, k: int) -> Floats:
    """best@k over chains: a chain is worth its best answer. `scores` is (..., chains, m), k counts chains."""
    return best_at_k(np.asarray(scores, dtype=np.float64).max(axis=-1), k)


def expected_max(rewards: ArrayLike, weights: ArrayLike) -> float:
    """E_w[max over answers of w.r], the set reward of VPO: the mean over the rows of (K, k) weights.

    Weights drawn once (Dirichlet) and shared make sets comparable: the noise of the draw is common to all of them.
    """
    return float(_scores(rewards, weights).max(axis=0).mean())


def expected_max_at_k(rewards: ArrayLike, weights: ArrayLike, k: int) -> float:
    """Unbiased E_w[max over k of the answers drawn without replacement], under the rows of (K, k) weights.

    Raises:
        ValueError: not 1 <= k <= n, or the set is empty.
    """
    return float(best_at_k(_scores(rewards, weights).T, k).mean())


def contributions(rewards: ArrayLike, weights: ArrayLike) -> Floats:
    """What each answer adds to `expected_max`: the set's value less its value without the answer, (n,).

    Under each weight only the winner adds anything: its lead over the second. Of one answer alone it is its mean value.
    """
    scores = _scores(rewards, weights)
    n, draws = scores.shape
    winner = scores.argmax(axis=0)
    second = np.partition(scores, n - 2, axis=0)[n - 2] if n > 1 else np.zeros(draws)
    lead = scores[winner, np.arange(draws)] - second
    added: Floats = np.bincount(winner, weights=lead, minlength=n) / draws
    return added


def volume(rewards: ArrayLike, reference: ArrayLike, rng: np.random.Generator, samples: int = 10_000) -> float:
    """Hypervolume of the set: exact where `exact_volume` computes it, else sampled."""
    exact = exact_volume(rewards, reference)
    return hypervolume_sampled(rewards, reference, rng, samples) if exact is None else exact


def exact_volume(rewards: ArrayLike, reference: ArrayLike) -> float | None:
    """Hypervolume of the set, for up to 3 objectives. With moocore, for up to 6 (`exact_hypervolume`)."""
    points = np.asarray(rewards, dtype=np.float64)
    if points.shape[1] <= EXACT_OBJECTIVES:
        return hypervolume(points, reference)
    gains = points - reference_point(reference, points.shape[1])
    gains = gains[(gains > 0).all(axis=1)]
    return many_objectives.volume(gains[front(gains)]) if len(gains) else 0.0


def pareto_fraction(rewards: ArrayLike) -> float:
    """Share of the answers that no other dominates; 0 for an empty set."""
    mask = front(rewards)
    return float(mask.mean()) if mask.size else 0.0


def mean_pairwise_l1(rewards: ArrayLike) -> float:
    """Mean over unordered pairs of the L1 distance of their reward vectors; 0 for fewer than two answers.

    In each column, the i-th smallest of n (from 0) lies above i values and below n-1-i: sum of (2i - n + 1) x_(i).
    """
    points = np.sort(np.asarray(rewards, dtype=np.float64), axis=0)
    n = len(points)
    if n < 2:
        return 0.0
    weights = 2 * np.arange(n) - n + 1
    # A sum: a product of matrices rounds by where its operands lie in memory, and two processes would differ.
    return float((weights[:, None] * points).sum() / (n * (n - 1) / 2))


def mean_pairwise_l2(rewards: ArrayLike) -> float:
    """Mean over unordered pairs of the Euclidean distance of their reward vectors; 0 for fewer than two answers."""
    points = np.asarray(rewards, dtype=np.float64)
    n = len(points)
    if n < 2:
        return 0.0
    columns = np.ascontiguousarray(points.T)
    total = sum(_distances(columns, start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))
    return total / (n * (n - 1) / 2)


def classes_by_reward(rewards: ArrayLike, decimals: int = 9) -> NDArray[np.intp]:
    """A class number for each answer, equal for equal reward vectors (rounded to `decimals`), (n,)."""
    points = np.round(np.asarray(rewards, dtype=np.float64), decimals)
    # Adding 0 turns -0 into 0, which compares equal but sorts apart.
    inverse: NDArray[np.intp] = np.unique(points + 0.0, axis=0, return_inverse=True)[1]
    return inverse.reshape(-1)


def distinct_k(classes: ArrayLike) -> int:
    """Number of equivalence classes among k answers (NoveltyBench, Zhang et al. 2025, arXiv 2504.05228)."""
    return int(np.unique(np.asarray(classes)).size)


def utility_k(classes: ArrayLike, utilities: ArrayLike, patience: float = 0.8) -> float:
    """Utility of k answers to a reader who goes on with probability `patience` (NoveltyBench, arXiv 2504.05228).

    (1 - p) / (1 - p^k) * sum over i of p^(i-1) * [the class of answer i is new] * u_i, in the order given; 0 for none.

    Raises:
        ValueError: the patience is not in (0, 1), or the arrays differ in length.
    """
    kinds, worth = np.asarray(classes), np.asarray(utilities, dtype=np.float64)
    if not 0 < patience < 1:
        raise ValueError("patience must lie strictly between 0 and 1")
    if kinds.shape != worth.shape:
        raise ValueError("every answer needs a class and a utility")
    if not kinds.size:
        return 0.0
    new = np.zeros(kinds.size, dtype=np.bool_)
    new[np.unique(kinds, return_index=True)[1]] = True
    reach = patience ** np.arange(kinds.size)
    return float((1 - patience) / (1 - patience**kinds.size) * (reach * new * worth).sum())


def coverage(results: ArrayLike, threshold: float = 1.0) -> float:
    """Share of the columns (objectives, or per-case results) in which some answer reaches the threshold."""
    values = np.asarray(results, dtype=np.float64)
    if not values.size:
        return 0.0
    return float((values.max(axis=0) >= threshold).mean())


def correlations(rewards: ArrayLike) -> Floats:
    """Pearson correlations of the objectives over the answers, (k, k); an objective without spread has none (0)."""
    points = np.asarray(rewards, dtype=np.float64)
    centred = points - points.mean(axis=0)
    # A spread within rounding of the values themselves is no spread.
    norms = np.linalg.norm(centred, axis=0)
    varies = norms > 1e-12 * np.abs(points).max(axis=0, initial=0.0) * np.sqrt(len(points))
    unit = np.where(varies, centred / np.where(varies, norms, 1.0), 0.0)
    matrix = np.clip((unit[:, :, None] * unit[:, None, :]).sum(axis=0), -1.0, 1.0)
    np.fill_diagonal(matrix, 1.0)
    return np.asarray(matrix)


def collinearity(rewards: ArrayLike) -> float:
    """Mean squared correlation between two different objectives, in [0, 1]; 0 with one objective.

    Near 1 the vector says no more than a scalar does, and training or selecting for many weights gains nothing.
    """
    matrix = correlations(rewards)
    k = len(matrix)
    return float((np.square(matrix).sum() - k) / (k * (k - 1))) if k > 1 else 0.0


def collinearity_warning(rewards: ArrayLike, limit: float = COLLINEAR) -> str | None:
    """One sentence when the objectives say so much the same that optimising for all weights will not pay; else None.

    The limit is ours: published results tell only that near-collinear rewards left the set reward slightly below scalar
    baselines (arXiv 2605.22817).
    """
    found = collinearity(rewards)
    if found < limit:
        return None
    return (
        f"The objectives are nearly collinear (mean squared correlation {found:.2f}): a set trained or selected for "
        "all weights will gain little over one scalar, so drop objectives that repeat others or use a scalar method."
    )


def _distances(columns: Floats, start: int, stop: int) -> float:
    """Sum of the distances of rows start to stop to all later rows; by columns, since rows are too short to be fast."""
    squares = np.zeros((stop - start, columns.shape[1] - start))
    for column in columns:
        gap = column[start:stop, None] - column[start:]
        squares += np.square(gap, out=gap)
    own = np.sqrt(squares[:, : stop - start]).sum() / 2
    return float(own + np.sqrt(squares[:, stop - start :]).sum())


def _scores(rewards: ArrayLike, weights: ArrayLike) -> Floats:
    """Answers by weights, (n, K)."""
    points = np.asarray(rewards, dtype=np.float64)
    if not len(points):
        raise ValueError("the set is empty")
    return points @ np.atleast_2d(np.asarray(weights, dtype=np.float64)).T


def _log_factorials(n: int) -> Floats:
    """Logarithms of 0! to n!."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
