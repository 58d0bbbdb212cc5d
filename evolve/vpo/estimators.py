"""Advantage estimators: pure functions of groups of rollouts that say how strongly each rollout is to be reinforced.

`evolve.vpo.methods` gives them the names that a trainer is configured with.

Every one takes (groups, options) and gives one array a group, one number a rollout, which goes to all of its tokens. A
group whose rollouts are all alike gets zeros: there is nothing to learn from it. A rollout without a matrix is worth 0,
the floor that rewards are counted from, and compared like the others: it is discouraged wherever they are worth more.

Estimators made for single answers read a chain of several as one value: its mean over the answers (`grpo`, `gdpo`,
`maxrl`), or its best answer where the best is what they are after (`max_at_k`, `entropic`). With one answer a rollout
these are the answer's own scalar, the preference times its rewards.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats
from evolve.statistics.answer_sets import best_of_k_shares, expected_max
from evolve.vpo.group import RolloutGroup

TINY = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What estimators can be told.

    Attributes:
        epsilon: added to a divisor, and the standard deviation below which a group counts as all alike. So does one
            whose deviation is below 1e-12 of its largest reward, which is rounding.
        k: how many rollouts the maximum of `max_at_k`, `max_at_k_centred` and `vector_max_at_k` is over; None: half of
            the group, at least 2. Of `vpo_marginal`, how many answers; None: those of the group's longest chain.
        divergence: nats from the uniform distribution at which `entropic` sets its temperature.
    """

    epsilon: float = 1e-6
    k: int | None = None
    divergence: float = math.log(2)

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise RewardError(f"epsilon must be above 0 and finite, not {self.epsilon}.")
        if self.k is not None and self.k < 1:
            raise RewardError(f"max@k needs k of at least 1, not {self.k}.")
        if not 0 < self.divergence < math.inf:
            raise RewardError(f"The divergence must be above 0 nats and finite, not {self.divergence}.")


Advantages = tuple[Floats, ...]
Estimator = Callable[[Sequence[RolloutGroup], Options], Advantages]
Value = Callable[[Floats, RolloutGroup], float]

DEFAULT = Options()


def vpo(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> Advantages:
    """Set rewards under the group's shared weights, normalised in the group (arXiv 2605.22817).

    Each chain is rewarded for its own answers alone, and all of its answers share that.

    Raises:
        RewardError: a group has no weights.
    """
    return tuple(_normalised(_values(group, _set_value), options.epsilon) for group in groups)


def grpo(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> Advantages:
    """The fixed scalar, normalised in the group (Shao et al. 2024, arXiv 2402.03300), with the population deviation."""
    return tuple(_normalised(_values(group, _mean), options.epsilon) for group in groups)


def multi_rlvr(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> Advantages:
    """A chain's sum of the fixed scalar over its answers, normalised in the group: the baseline as published."""
    return tuple(_normalised(_values(group, _sum), options.epsilon) for group in groups)


def multi_rlvr_best(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> Advantages:
    """A chain's best answer under the fixed scalar, normalised in the group: the stronger reading of that baseline."""
    return tuple(_normalised(_values(group, _best), options.epsilon) for group in groups)


def max_at_k(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> Advantages:
    """Unbiased gradient of the expected best of k rollouts (arXiv 2510.23393), with a leave-one-out baseline.

    A rollout is credited, in each subset of k that holds it, with what the subset's best would lose without it:
    A_i = n / C(n, k) * sum over subsets S with i of (max S - max S without i). What is taken off does not depend on
    rollout i, so the mean of A_i grad log p_i stays unbiased. In rising order g_1 <= ... <= g_n that is
    n / C(n, k) * sum over j < i of C(j-1, k-2) (g_i - g_j). For k = 1 the baseline is the mean of the others.

    Raises:
        RewardError: the group has fewer than k rollouts.
    """
    return tuple(_leads(_values(group, _best), options.k) for group in groups)


def gdpo(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> Advantages:
    """Each objective normalised in its group, summed by preference, whitened over the batch (arXiv 2601.05242)."""
    summed = []
    for group in groups:
        means = np.stack([_row(matrix, group) for matrix in group.rollouts]) if len(group) else np.empty((0, 0))
        columns = [_normalised(column, options.epsilon) for column in means.T]
        summed.append(np.stack(columns, axis=1) @ group.preference if columns else np.zeros(len(group)))
    whole = _normalised(np.concatenate([np.empty(0), *summed]), options.epsilon)
    return tuple(np.split(whole, np.cumsum([len(group) for group in groups])[:-1])) if groups else ()


def maxrl(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> Advantages:
    """(r - mean) / (mean + epsilon) in the group: a rare success counts the more (arXiv 2602.02710).

    Raises:
        RewardError: a rollout is worth less than 0, for which the quotient has no meaning; `RolloutGroup.of` refuses
            such rewards.
    """
    return tuple(_over_mean(_values(group, _mean), options.epsilon) for group in groups)


def entropic(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> Advantages:
    """Exponential utility with the temperature that a divergence sets (TTT-Discover, arXiv 2601.16175).

    A_i = e^(beta r_i) / (mean over the others of e^(beta r_j)) - 1, with beta such that the softmax q of beta r is
    `divergence` nats from uniform. Where several share the best value, q comes no further than ln(n / their number);
    beta then stops at nine tenths of that.
    """
    return tuple(_exponential(_values(group, _best), options.divergence) for group in groups)


def random_weighting(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> Advantages:
    """Random-Weighting GRPO: `grpo` under weights drawn anew for each group and step, which the prompt does not show.

    They are the first of the group's shared draw (a baseline of arXiv 2605.22817).

    Raises:
        RewardError: a group has no weights.
    """
    return grpo([replace(group, preference=_weights(group, "random_weighting")[0]) for group in groups], options)


def max_at_k_centred(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> Advantages:
    """Max@k as the authors of VPO trained it: the mean best of a rollout's subsets, normalised in the group.

    In rising order that mean is (C(i-1, k-1) g_i + sum over j > i of C(j-2, k-2) g_j) / C(n-1, k-1). `max_at_k` takes
    off what subsets reach without the rollout instead, which keeps the gradient unbiased.

    Raises:
        RewardError: the group has fewer than k rollouts.
    """
    return tuple(_normalised(_subset_bests(_values(group, _best), options.k), options.epsilon) for group in groups)


def vector_max_at_k(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> Advantages:
    """The unbiased gradient of E_w[expected best of k rollouts under w]: `max_at_k`, averaged over the shared weights.

    Max@k is a mean over subsets, and so is its gradient, so the mean over weights of its estimates is unbiased for the
    mean over weights. Its credit goes to single answers, where `vpo` gives one to a whole chain.

    Raises:
        RewardError: a group has no weights, or fewer than k rollouts.
    """
    return tuple(
        np.asarray(_leads(_bests_by_weight(group, "vector_max_at_k"), options.k).mean(axis=1)) for group in groups
    )


def marginal_worths(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> tuple[tuple[Floats, ...], ...]:
    """What each answer adds to the best of k answers of its group, averaged over the shared weights.

    It is `vector_max_at_k` of the answers of all chains. Where a chain draws its answers independently of each other,
    the sum over answers of their worth times their own grad log p is an unbiased gradient of the set reward of k
    answers, with less noise than one advantage for all of a chain. Where a later answer reads the earlier ones, what it
    owes to them is not credited to them.

    Returns:
        For each group and rollout one number an answer; none for a rollout without a matrix, which counts as an answer
            of zeros.

    Raises:
        RewardError: a group has no weights, or fewer than k answers.
    """
    return tuple(
        tuple(
            np.empty(0) if matrix is None else worth
            for matrix, worth in zip(group.rollouts, _marginal_worths(group, options), strict=True)
        )
        for group in groups
    )


def vpo_marginal(groups: Sequence[RolloutGroup], options: Options = DEFAULT) -> Advantages:
    """What a chain's tokens outside of all answers get: the mean of its `marginal_worths`, less that of the group.

    Raises:
        RewardError: as there.
    """
    found = []
    for group in groups:
        means = np.array([worth.mean() for worth in _marginal_worths(group, options)])
        found.append(
            means - means.mean() if means.size and np.ptp(means) > TINY * np.abs(means).max() else np.zeros(means.size)
        )
    return tuple(found)


def _values(group: RolloutGroup, value: Value) -> Floats:
    """One number a rollout; 0 for one without a matrix."""
    return np.array([0.0 if matrix is None else value(matrix, group) for matrix in group.rollouts], dtype=np.float64)


def _set_value(matrix: Floats, group: RolloutGroup) -> float:
    return expected_max(matrix, _weights(group, "vpo"))


def _weights(group: RolloutGroup, name: str) -> Floats:
    if group.weights is None:
        raise RewardError(f"The method {name!r} needs weights that the group shares: draw them with draw_weights.")
    return group.weights


def _bests_by_weight(group: RolloutGroup, name: str) -> Floats:
    """A rollout's best answer under each weight, (n, K); 0 for one without a matrix."""
    weights = _weights(group, name)
    rows = [np.zeros(len(weights)) if matrix is None else (matrix @ weights.T).max(axis=0) for matrix in group.rollouts]
    return np.array(rows).reshape(len(group), len(weights))


def _marginal_worths(group: RolloutGroup, options: Options) -> list[Floats]:
    """Those of the answers of each rollout; one without a matrix has one answer, worth zeros."""
    weights = _weights(group, "vpo_marginal")
    rows = [np.zeros((1, len(weights))) if matrix is None else matrix @ weights.T for matrix in group.rollouts]
    if not rows:
        return []
    k = max(map(len, rows)) if options.k is None else options.k
    worths = _leads(np.concatenate(rows), k).mean(axis=1)
    return np.split(worths, np.cumsum([len(part) for part in rows])[:-1])


def _mean(matrix: Floats, group: RolloutGroup) -> float:
    return float((matrix @ group.preference).mean())


def _sum(matrix: Floats, group: RolloutGroup) -> float:
    return float((matrix @ group.preference).sum())


def _best(matrix: Floats, group: RolloutGroup) -> float:
    return float((matrix @ group.preference).max())


def _row(matrix: Floats | None, group: RolloutGroup) -> Floats:
    """Mean over the answers, by objective."""
    return np.zeros(group.objectives) if matrix is None else np.asarray(matrix.mean(axis=0))


def _normalised(values: Floats, epsilon: float) -> Floats:
    """Standard scores; zeros for values that differ by no more than they are rounded."""
    if not values.size:
        return values
    above = values - values.min()  # equal values stay equal to the last bit
    deviation = above.std()
    if deviation < epsilon or deviation <= TINY * np.abs(values).max():
        return np.zeros(values.size)
    return np.asarray((above - above.mean()) / (deviation + epsilon))


def _leads(values: Floats, k: int | None) -> Floats:
    """`max_at_k` of values (n,), or of each column of (n, K)."""
    n = len(values)
    wanted = _subset_size(n, k)
    if n < 2:
        return np.zeros(values.shape)
    above = values - values.min(axis=0)  # equal values stay equal to the last bit
    if wanted == 1:
        return np.asarray((above - above.mean(axis=0)) * n / (n - 1))
    columns = above.reshape(n, -1)
    order = np.argsort(columns, axis=0, kind="stable")
    ordered = np.take_along_axis(columns, order, axis=0)
    share = best_of_k_shares(n, wanted - 1, of=wanted)[:, None]
    leads = np.empty(columns.shape)
    np.put_along_axis(leads, order, n * (_before(share) * ordered - _before(share * ordered)), axis=0)
    return leads.reshape(values.shape)


def _subset_bests(values: Floats, k: int | None) -> Floats:
    """The mean best of the subsets of k that hold each, counted from the smallest value."""
    n = len(values)
    wanted = _subset_size(n, k)
    if wanted == 1 or n < 2:
        return values
    above = values - values.min()
    order = np.argsort(above, kind="stable")
    ordered = above[order]
    own, later = best_of_k_shares(n, wanted), best_of_k_shares(n, wanted - 1, of=wanted)
    beyond = np.append(np.cumsum((later[:-1] * ordered[1:])[::-1])[::-1], 0.0)
    bests = np.empty(n)
    bests[order] = n / wanted * (own * ordered + beyond)
    return bests


def _subset_size(n: int, k: int | None) -> int:
    wanted = min(max(2, n // 2), n) if k is None else k
    if wanted > n:
        raise RewardError(f"max@k of k = {wanted} needs groups of at least as many rollouts, not {n}: lower k.")
    return wanted


def _before(values: Floats) -> Floats:
    """Sums of all rows before each."""
    return np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values[:-1], axis=0)])


def _over_mean(values: Floats, epsilon: float) -> Floats:
    if (values < 0).any():
        raise RewardError(f"The estimator 'maxrl' needs rewards of at least 0, not {values.min()}.")
    return np.asarray((values - values.mean()) / (values.mean() + epsilon)) if values.size else values


def _exponential(values: Floats, divergence: float) -> Floats:
    n = values.size
    if n < 2 or np.ptp(values) <= TINY * max(1.0, np.abs(values).max()):
        return np.zeros(n)
    gaps = (values - values.max()) / np.ptp(values)
    gaps[gaps > -TINY] = 0.0
    reachable = math.log(n / int((gaps == 0).sum()))
    share = _softmax(gaps, min(divergence, 0.9 * reachable))
    return np.asarray((n - 1) * share / (1 - share) - 1)


def _softmax(gaps: Floats, divergence: float) -> Floats:
    """The softmax of beta * gaps at this divergence from uniform, which rises with beta; by bisection."""
    low, high = 0.0, 1.0
    while _from_uniform(_tilted(gaps, high)) < divergence:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _from_uniform(_tilted(gaps, middle)) < divergence else (low, middle)
    return _tilted(gaps, high)


def _tilted(gaps: Floats, beta: float) -> Floats:
    raw = np.exp(beta * gaps)
    return np.asarray(raw / raw.sum())


def _from_uniform(share: Floats) -> float:
    some = share[share > 0]
    return float((some * np.log(some)).sum() + math.log(share.size))
