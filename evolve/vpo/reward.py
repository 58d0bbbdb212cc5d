"""The set reward R(S) = E_w[max over answers y in S of w.r(y)], estimated under shared weights or exact.

Source: Vector Policy Optimization, arXiv 2605.22817. A rollout is what one generation answered: a matrix with one row
an answer and one column an objective, more is better. Rollouts to one prompt are a group; they may differ in rows.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from evolve.errors import RewardError
from evolve.multiobjective.pareto import front
from evolve.multiobjective.scalarization import Floats
from evolve.statistics.answer_sets import expected_max

MAX_SPECIALISTS = 16
MAX_MAGNITUDE = 1e100  # squares and ratios of rewards up to here are finite

Floors = Mapping[str, float]  # the lowest reward of each objective, by its name and in the order of the columns


def reward_matrix(
    rewards: ArrayLike | Sequence[ArrayLike | None], k: int | None = None, name: str = "rewards"
) -> Floats:
    """The rewards of one rollout as an (m, k) array of finite numbers.

    A flat vector is one answer, as of a policy that gives one. An answer that could not be parsed is None, and gets a
    row of zeros: it takes part and covers nothing. Beside negative rewards it would be the best, so that is refused.

    Args:
        rewards: (m, k), (k,), or a sequence of rows and Nones.
        k: number of objectives; None: whatever the rewards have.
        name: what to call the rewards in an error.

    Raises:
        RewardError: the rows are no numbers, not finite, not equally wide or not `k` wide, or there is a None beside a
            negative reward.
    """
    matrix = _matrix(rewards, k, name)
    if _unparsed(rewards):
        _refuse_below(matrix, None, name)
    return matrix


def rewards_above_floors(
    rewards: ArrayLike | Sequence[ArrayLike | None],
    floors: Floors | None = None,
    k: int | None = None,
    name: str = "rewards",
) -> Floats:
    """The rewards of one rollout counted from the floor of each objective: (m, k), none negative.

    Training counts an answer that could not be read as zeros. Zeros must be the worst that there is, or training goes
    the wrong way. No estimator but `maxrl` notices where rewards are counted from, and `maxrl` needs them from 0.

    Args:
        rewards: in any form that `reward_matrix` reads; a None is an answer at the floor.
        floors: the lowest reward of each objective; None: 0 for all.
        k: number of objectives; None: that of the floors, or whatever the rewards have.
        name: what to call the rewards in an error.

    Raises:
        RewardError: the rewards make no sense, a floor is not finite, or a reward is below its floor.
    """
    low = None if floors is None else np.array(list(floors.values()), dtype=np.float64)
    if low is not None and not (np.abs(low) <= MAX_MAGNITUDE).all():
        raise RewardError(f"The floors must be finite numbers, not {dict(floors or {})}.")
    matrix = _matrix(rewards, k if low is None else low.size, name)
    if low is not None and matrix.size:
        matrix = matrix - low
        matrix[_unparsed(rewards)] = 0.0
    _refuse_below(matrix, floors, name)
    return matrix


def _unparsed(rewards: ArrayLike | Sequence[ArrayLike | None]) -> list[int]:
    """The places of answers that are None."""
    if not isinstance(rewards, Sequence):
        return []
    return [place for place, row in enumerate(rewards) if row is None]


def _refuse_below(above: Floats, floors: Floors | None, name: str) -> None:
    low = above < 0
    if not low.any():
        return
    row, column = (int(place) for place in np.argwhere(low)[0])
    objective, floor = (str(column), 0.0) if floors is None else list(floors.items())[column]
    raise RewardError(
        f"{name} holds {above[row, column] + floor:.6g} for objective {objective} of answer {row}, below its floor of"
        f" {floor:g}: an answer that cannot be read counts as the floor, so declare the lowest reward in floors."
    )


def _matrix(rewards: ArrayLike | Sequence[ArrayLike | None], k: int | None, name: str) -> Floats:
    """The rewards as (m, k), negative ones too."""
    try:
        raw = np.asarray(_filled(rewards, k) if isinstance(rewards, Sequence) else rewards)
        if np.iscomplexobj(raw):
            raise TypeError("complex numbers have no order")
        matrix = raw.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise RewardError(f"{name} must be rows of numbers, equally many in each: {str(error).rstrip('.')}.") from error
    matrix = matrix[np.newaxis] if matrix.ndim == 1 and matrix.size else matrix
    if matrix.size == 0 and matrix.ndim <= 2:
        return np.empty((0, k or 0))
    if matrix.ndim != 2:
        raise RewardError(f"{name} must have one row an answer and one column an objective, not shape {matrix.shape}.")
    if k is not None and matrix.shape[1] != k:
        raise RewardError(f"{name} has {matrix.shape[1]} objectives where {k} are expected: score all answers alike.")
    wild = ~(np.abs(matrix) <= MAX_MAGNITUDE)
    if wild.any():
        row, column = np.argwhere(wild)[0]
        raise RewardError(
            f"{name} holds {matrix[row, column]:.6g} for objective {column} of answer {row}: give a failed answer "
            f"zeros, and keep rewards within {MAX_MAGNITUDE:g}."
        )
    return matrix


def set_reward(rewards: ArrayLike | Sequence[ArrayLike | None], weights: ArrayLike) -> float:
    """Estimate of R(S) under (K, k) weights: the mean over them of the best weighted sum.

    Unbiased over the draw of the weights. Sets that are compared share their weights: the noise is then common to them.

    Raises:
        RewardError: the rewards or the weights make no sense, or the set is empty.
    """
    drawn = checked_weights(weights)
    matrix = reward_matrix(rewards, drawn.shape[1])
    if not len(matrix):
        raise RewardError("The set has no answers, so nothing is its best.")
    return expected_max(matrix, drawn)


def checked_weights(weights: ArrayLike) -> Floats:
    """Weights as a (K, k) array of finite numbers, none negative.

    Raises:
        RewardError: they are not.
    """
    drawn = reward_matrix(weights, name="weights")
    if not drawn.size or (drawn < 0).any():
        raise RewardError("Weights must be one row a draw and one column an objective, none of them negative.")
    return drawn


def exact_set_reward(rewards: ArrayLike | Sequence[ArrayLike | None]) -> float:
    """R(S) under uniform weights (alpha = 1) without a draw, where it has a closed form.

    * One answer that no other beats (or one objective): E[w] is equal weights, so its mean.
    * Two objectives: the integral of an upper envelope of straight lines over [0, 1].
    * Specialists, answers with one positive component and no others: see `exact_specialists`.

    Raises:
        RewardError: none of these holds; `set_reward` estimates it.
    """
    matrix = reward_matrix(rewards)
    if not len(matrix):
        raise RewardError("The set has no answers, so nothing is its best.")
    best = np.unique(matrix[front(matrix)], axis=0)
    if len(best) == 1:
        return float(best[0].mean())
    if best.shape[1] == 2:
        return _envelope(best)
    if ((best > 0).sum(axis=1) <= 1).all() and (best >= 0).all() and best.shape[1] <= MAX_SPECIALISTS:
        return exact_specialists(best.max(axis=0))
    raise RewardError("The set reward has no closed form for these rewards: draw weights and estimate it.")


def exact_specialists(worth: ArrayLike) -> float:
    """R(S) under uniform weights of a set with one specialist an objective, worth c_i on it and nothing elsewhere.

    For uniform weights P(w_i > t_i for all i in A) = (1 - sum of t_i over A)^(k-1); by inclusion and exclusion over the
    non-empty sets A of covered objectives, E[max c_i w_i] = sum of (-1)^(|A|+1) / (k * sum over A of 1/c_i). For c = 1
    it is H_k / k.
    """
    values = np.asarray(worth, dtype=np.float64)
    inverse = 1 / values[values > 0]
    terms = (
        (-1) ** (size + 1) / sum(chosen)
        for size in range(1, len(inverse) + 1)
        for chosen in itertools.combinations(inverse.tolist(), size)
    )
    return float(sum(terms) / len(values))


def _filled(rows: Sequence[ArrayLike | None], k: int | None) -> Sequence[ArrayLike]:
    """The rows, those of unparsed answers as zeros."""
    if all(row is not None for row in rows):
        return cast("Sequence[ArrayLike]", rows)
    known = {place: np.asarray(row, dtype=np.float64) for place, row in enumerate(rows) if row is not None}
    if any(row.ndim != 1 for row in known.values()):
        raise ValueError("beside an unparsed answer, None, there is one that is no row")
    width = k if k is not None else next((row.size for row in known.values()), None)
    return [] if width is None else [known.get(place, np.zeros(width)) for place in range(len(rows))]


def _envelope(points: Floats) -> float:
    """Mean over t in [0, 1] of max(b + (a - b) t): straight between two crossings, so that the middle counts."""
    slope, start = points[:, 0] - points[:, 1], points[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = (start[:, None] - start) / (slope - slope[:, None])
    inside = crossings[(crossings > 0) & (crossings < 1)]
    ends = np.unique(np.concatenate([[0.0, 1.0], inside]))
    middle = (ends[1:] + ends[:-1]) / 2
    return float((start + np.outer(middle, slope)).max(axis=1) @ np.diff(ends))
