"""What is to be expected of answers and of chains: best@k, pass@k, and how different the answers of a chain are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evolve.statistics.answer_sets import best_at_k, classes_by_reward, distinct_k, pass_at_k, utility_k
from service.ports import RunRecord
from service.projections.candidates import objectives_of
from service.projections.columns import Columns, Floats
from service.schemas.statistics import AtBudget, ChainDiversity, Draws, ThresholdSource

if TYPE_CHECKING:
    from array import array

MAX_CHAINS = 2000
DRAWN_WITH = 0


def threshold_of(run: RunRecord) -> tuple[float | None, ThresholdSource]:
    """The fitness from which on an answer passes, and whose target that is; None: it must be better than the seed.

    The target of one objective among several is no fitness, which is a mean over all of them.
    """
    target = (run.config.get("budget") or {}).get("target")
    if target is not None:
        return float(target), "budget"
    objectives = objectives_of(run)
    if len(objectives) == 1 and objectives[0].target is not None:
        return objectives[0].sign * objectives[0].target, "objective"
    return None, "seed"


def answered(columns: Columns) -> NDArray[np.bool_]:
    """Which evaluations are of answers, not of seeds."""
    return np.array(columns.numbers) > 0


def of_answers(columns: Columns, run: RunRecord) -> Draws:
    """best@k and pass@k over evaluated answers."""
    return _draws(columns.fitness[answered(columns)], columns, run)


def of_chains(columns: Columns, run: RunRecord) -> Draws:
    """The same over chains, each as good as its best answer; one without an evaluated answer has failed.

    A chain of which only cancelled evaluations are known does not count.
    """
    begun, chains = chains_of(columns)
    best = np.full(len(begun), np.nan)
    np.fmax.at(best, chains, columns.fitness[answered(columns)])
    asked = columns.costs.chains.asked
    cancelled = _chain_keys(columns, columns.cancelled_numbers, columns.cancelled_positions)
    known = np.unique(np.concatenate([begun, cancelled[cancelled[:, 0] > 0]]), axis=0)
    held = np.bincount(known[:, 0], minlength=len(asked))[: len(asked)]
    empty = int(np.maximum(asked - held, 0).sum())
    return _draws(np.concatenate([best, np.full(empty, np.nan)]), columns, run)


def chains_of(columns: Columns) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Chains with an evaluated answer, and which of these each of the evaluated answers is of.

    A chain is a row: the number of its proposal, and its place there. A position is that place times m and the place
    in the chain.
    """
    keys = _chain_keys(columns, columns.numbers, columns.positions)[answered(columns)]
    begun, chains = np.unique(keys, axis=0, return_inverse=True)
    return begun, np.asarray(chains).reshape(-1)


def chain_diversity(columns: Columns) -> ChainDiversity | None:
    """How different the answers of a chain are, and what that is worth to a reader, in the mean over chains."""
    own, (_, chains) = answered(columns), chains_of(columns)
    if not len(chains):
        return None
    fitness, rewards = columns.fitness[own], columns.rewards[own]
    positions = np.array(columns.positions)[own]
    classes = _classes(rewards, fitness)
    worth = _utilities(fitness)
    order = np.lexsort((positions, chains))
    groups = np.split(order, np.flatnonzero(np.diff(chains[order])) + 1)
    taken = _drawn(len(groups))
    found = [
        (len(group), distinct_k(classes[group][~np.isnan(fitness[group])]), utility_k(classes[group], worth[group]))
        for group in (groups[place] for place in taken)
    ]
    lengths, distinct, utility = np.mean(found, axis=0).tolist()
    return ChainDiversity(chains=len(groups), sampled=len(taken), answers=lengths, distinct=distinct, utility=utility)


def _chain_keys(columns: Columns, numbers: "array[int]", positions: "array[int]") -> NDArray[np.int64]:
    of = np.array(numbers, dtype=np.int64)
    return np.stack([of, np.array(positions, dtype=np.int64) // columns.costs.chains.lengths(of)], axis=1)


def _draws(fitness: Floats, columns: Columns, run: RunRecord) -> Draws:
    """What is to be expected of answers, or chains, of this fitness; NaN: it failed.

    To the best of a draw a failure adds nothing, for the seed is there anyway. It never passes, whatever the seed is
    worth: pass@k is about the k that were drawn.
    """
    count, (threshold, _), floor = len(fitness), threshold_of(run), _floor(columns)
    passes = fitness > _best_seed(columns) if threshold is None else fitness >= threshold
    budgets = _budgets(count)
    shares = pass_at_k(count, int(passes.sum()), np.array(budgets, dtype=np.int64)).tolist() if budgets else []
    known, worth = np.isfinite(floor), np.fmax(fitness, floor)
    at = [
        AtBudget(k=k, best=float(best_at_k(worth, k)) if known else None, passed=share)
        for k, share in zip(budgets, shares, strict=True)
    ]
    return Draws(count=count, at=at)


def _budgets(count: int) -> list[int]:
    """1, 2, 4, ... and all."""
    return [*(1 << power for power in range(count.bit_length()) if 1 << power < count), count] if count else []


def _best_seed(columns: Columns) -> float:
    """Fitness of the best seed; minus infinity: none was valid."""
    return float(np.fmax.reduce(columns.fitness[~answered(columns)], initial=-np.inf))


def _floor(columns: Columns) -> float:
    """What there was without any answer: the best seed, else the worst that was valid, else minus infinity."""
    seed = _best_seed(columns)
    valid = columns.fitness[~np.isnan(columns.fitness)]
    return float(valid.min()) if np.isneginf(seed) and len(valid) else seed


def _utilities(fitness: Floats) -> Floats:
    """Fitness from 0 to 1 over the run; 0 for what failed."""
    valid = fitness[~np.isnan(fitness)]
    low, high = (float(valid.min()), float(valid.max())) if len(valid) else (0.0, 0.0)
    if not high > low:
        return np.where(np.isnan(fitness), 0.0, 1.0)
    return np.nan_to_num((fitness - low) / (high - low), nan=0.0)


def _classes(rewards: Floats, fitness: Floats) -> NDArray[np.intp]:
    """A class for each reward vector; failures have one of their own, which is worth nothing."""
    classes = np.full(len(rewards), -1, dtype=np.intp)
    valid = np.isfinite(rewards).all(axis=1) & ~np.isnan(fitness)
    if valid.any():
        classes[valid] = classes_by_reward(rewards[valid])
    return classes


def _drawn(count: int) -> Sequence[int]:
    if count <= MAX_CHAINS:
        return range(count)
    drawn = np.random.default_rng(DRAWN_WITH).choice(count, MAX_CHAINS, replace=False)
    return [int(place) for place in np.sort(drawn)]
