"""Advantage estimators: pure functions of groups of rollouts that say how strongly each rollout is to be reinforced.

Every one takes (groups, options) and gives one array a group, one number a rollout, which goes to all of its tokens. A
group whose rollouts are all alike gets zeros: there is nothing to learn from it. A rollout without a matrix is worth 0,
the floor that rewards are counted from, and compared like the others: it is discouraged wherever they are worth more.

Estimators made for single answers read a chain of several as one value: its mean over the answers (`grpo`, `gdpo`,
`maxrl`), or its best answer where the best is what they are after (`max_at_k`, `entropic`). With one answer a rollout
these are the answer's own scalar, the preference times its rewards.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

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
        k: how many rollouts the maximum of `max_at_k` is over; None: half of the group, at least 2.
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


def estimator(name: str) -> Estimator:
    """The estimator of this name.

    Raises:
        RewardError: there is none.
    """
    if name not in ESTIMATORS:
        raise RewardError(f"No advantage estimator is called {name!r}; there are {', '.join(ESTIMATORS)}.")
    return ESTIMATORS[name]


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


ESTIMATORS: Mapping[str, Estimator] = MappingProxyType(
    {
        "vpo": vpo,
        "grpo": grpo,
        "max_at_k": max_at_k,
        "multi_rlvr": multi_rlvr,
        "multi_rlvr_best": multi_rlvr_best,
        "gdpo": gdpo,
        "maxrl": maxrl,
        "entropic": entropic,
    }
)


def _values(group: RolloutGroup, value: Value) -> Floats:
    """One number a rollout; 0 for one without a matrix."""
    return np.array([0.0 if matrix is None else value(matrix, group) for matrix in group.rollouts], dtype=np.float64)


def _set_value(matrix: Floats, group: RolloutGroup) -> float:
    if group.weights is None:
        raise RewardError("The estimator 'vpo' needs weights that the group shares: draw them with draw_weights.")
    return expected_max(matrix, group.weights)


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
    n = values.size
    wanted = min(max(2, n // 2), n) if k is None else k
    if wanted > n:
        raise RewardError(f"max@k of k = {wanted} needs groups of at least as many rollouts, not {n}: lower k.")
    if n < 2:
        return np.zeros(n)
    above = values - values.min()  # equal values stay equal to the last bit
    if wanted == 1:
        return np.asarray((above - above.mean()) * n / (n - 1))
    order = np.argsort(above, kind="stable")
    ordered = above[order]
    share = best_of_k_shares(n, wanted - 1, of=wanted)
    leads = np.empty(n)
    leads[order] = n * (_before(share) * ordered - _before(share * ordered))
    return leads


def _before(values: Floats) -> Floats:
    """Sums of all values before each."""
    return np.concatenate([[0.0], np.cumsum(values[:-1])])


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
