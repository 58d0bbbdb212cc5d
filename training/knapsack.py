"""Knapsacks with several objectives: the second domain of the study. All their optima and fronts are known exactly.

Items are few, so all subsets are looked at. How far the objectives conflict is a choice of the draw.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evolve.multiobjective.pareto import front, hypervolume
from evolve.multiobjective.scalarization import Floats
from evolve.statistics.answer_sets import best_at_k, expected_max_at_k, mean_pairwise_l2
from training import measures
from training.errors import TrainingError

Kind = Literal["collinear", "independent", "conflict"]
Split = Literal["train", "validation", "test"]
Picks = NDArray[np.bool_]

KINDS: tuple[Kind, ...] = get_args(Kind)
SPLITS: tuple[Split, ...] = get_args(Split)
ITEMS, OBJECTIVES = 12, 3
SPECIAL = 0.2  # concentration of an item's worth over the objectives in conflict: most items serve one of them
KS = (1, 4, 16, 64)
SAME = 1e-9
_SEED = 20_261_126


@dataclass(frozen=True, eq=False)
class Knapsack:
    """Items to choose from.

    Attributes:
        values: (items, objectives), scaled so that the best subset for an objective alone is worth 1 in it.
        costs: (items,).
        capacity: the costs of the chosen items sum to at most this.
    """

    values: Floats
    costs: Floats
    capacity: float

    def rewards(self, picks: Picks) -> Floats:
        """The reward vectors (n, objectives) of chosen subsets (n, items). A subset that does not fit earns nothing."""
        fits = picks @ self.costs <= self.capacity + SAME
        return np.asarray((picks @ self.values) * fits[:, None])

    @cached_property
    def front(self) -> Floats:
        """The distinct reward vectors (n, objectives) of all subsets that no other subset dominates."""
        found = np.unique(self.rewards(_subsets(len(self.costs))).round(12), axis=0)
        return np.asarray(found[front(found)])

    def optimum(self, weights: Floats) -> Floats:
        """The largest weighted sum that a subset reaches, (n,), for weights (n, objectives)."""
        return np.asarray((self.front @ weights.T).max(axis=0))


@cache
def knapsack(kind: Kind, split: Split, number: int) -> Knapsack:
    """A knapsack of a split, always the same.

    `collinear`: every item is worth the same in all objectives. `independent`: worths are drawn independently.
    `conflict`: an item's worth is divided among the objectives, and mostly goes to one.

    Raises:
        TrainingError: no kind or split is called so.
    """
    if kind not in KINDS or split not in SPLITS:
        raise TrainingError(
            f"There are no {split!r} knapsacks of the kind {kind!r}. Kinds: {', '.join(KINDS)}. Splits:"
            f" {', '.join(SPLITS)}."
        )
    rng = np.random.default_rng([_SEED, KINDS.index(kind), SPLITS.index(split), number])
    costs = rng.uniform(0.2, 1.0, ITEMS)
    worth = rng.uniform(0.2, 1.0, (ITEMS, 1))
    if kind == "collinear":
        values = np.repeat(worth, OBJECTIVES, axis=1)
    elif kind == "independent":
        values = rng.uniform(0.2, 1.0, (ITEMS, OBJECTIVES))
    else:
        values = worth * rng.dirichlet(np.full(OBJECTIVES, SPECIAL), ITEMS)
    unscaled = Knapsack(values=values, costs=costs, capacity=float(costs.sum() / 2))
    best = unscaled.rewards(_subsets(ITEMS)).max(axis=0)
    return Knapsack(values=values / best, costs=costs, capacity=unscaled.capacity)


def knapsacks(kind: Kind, split: Split, count: int) -> list[Knapsack]:
    """The first knapsacks of a split."""
    return [knapsack(kind, split, number) for number in range(count)]


def measure(problem: Knapsack, rewards: Floats, ks: Sequence[int] = KS) -> dict[str, float]:
    """Figures of the answers to a knapsack.

    Args:
        rewards: (n, objectives), in the order drawn.
        ks: sizes of subsets. Those above n are left out.

    Returns:
        For each k `best@k` (expected best mean of the objectives) and `ew@k` (E_w of the best of k), both over the
            knapsack's own optimum. `volume` (hypervolume over that of the front), `front` (share of the front found),
            `optima` (share of the weights whose optimum is found) and `diversity` (mean L2).
    """
    drawn, equal = measures.weights(OBJECTIVES), np.full((1, OBJECTIVES), 1 / OBJECTIVES)
    best, oracle = float(problem.optimum(equal)[0]), problem.optimum(drawn)
    figures: dict[str, float] = {}
    for k in (k for k in ks if k <= len(rewards)):
        figures[f"best@{k}"] = float(best_at_k(rewards.mean(axis=1), k)) / best
        figures[f"ew@{k}"] = expected_max_at_k(rewards, drawn, k) / float(oracle.mean())
    nowhere = np.zeros(OBJECTIVES)
    figures["volume"] = hypervolume(rewards, nowhere) / hypervolume(problem.front, nowhere)
    apart = np.abs(problem.front[:, None] - rewards[None]).max(axis=2)
    figures["front"] = float((apart <= SAME).any(axis=1).mean())
    figures["optima"] = float(((rewards @ drawn.T).max(axis=0) >= oracle - SAME).mean())
    figures["diversity"] = mean_pairwise_l2(rewards)
    return figures


@cache
def _subsets(items: int) -> Picks:
    return (np.arange(2**items)[:, None] >> np.arange(items) & 1).astype(bool)
