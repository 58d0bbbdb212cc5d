"""Figures of answers to mazes, the same in training, on model cards and in the study. The weights of every E_w."""

from collections.abc import Sequence

import numpy as np

from evolve.domains.maze import OBJECTIVES, Maze, optimum
from evolve.multiobjective.scalarization import Floats
from evolve.statistics.answer_sets import best_at_k, expected_max_at_k, mean_pairwise_l2, pass_at_k, volume
from evolve.vpo import draw_weights

KS = (1, 2, 4, 8, 16, 32, 64)
DRAWS = 128
DIVERSE = 32  # answers whose distances make the diversity
EQUAL = np.full(len(OBJECTIVES), 1 / len(OBJECTIVES))

SEED = 2605_22817


def weights(objectives: int = len(OBJECTIVES)) -> Floats:
    """The weights under which every E_w is taken: (128, objectives), spread evenly over the simplex, always the same.

    Args:
        objectives: their number, that of mazes unless told otherwise.
    """
    return draw_weights(objectives, np.random.default_rng(SEED), DRAWS, sampler="sobol")


def measure(maze: Maze, rewards: Floats, ks: Sequence[int] = KS) -> dict[str, float]:
    """Figures of the answers to a maze.

    Args:
        rewards: (n, 4), in the order drawn.
        ks: sizes of subsets. Those above n are left out.

    Returns:
        For each k `best@k` (expected best mean of the objectives), `solved@k` (probability that any of k is the exact
            optimum of that mean) and `ew@k` (E_w of the best of k, over the same for the maze's own optimum). Also
            `diversity` (mean L2 of the first 32 reward vectors) and `volume` (hypervolume of all over that of the
            cube).
    """
    scores = rewards.mean(axis=1)
    drawn = weights()
    oracle = float(optimum(maze, drawn).mean())
    solved = int((scores >= float(optimum(maze, EQUAL)) - 1e-9).sum())
    figures: dict[str, float] = {}
    for k in (k for k in ks if k <= len(rewards)):
        figures[f"best@{k}"] = float(best_at_k(scores, k))
        figures[f"solved@{k}"] = float(pass_at_k(len(rewards), solved, k))
        figures[f"ew@{k}"] = expected_max_at_k(rewards, drawn, k) / oracle
    figures["diversity"] = mean_pairwise_l2(rewards[:DIVERSE])
    figures["volume"] = volume(rewards, np.zeros(len(OBJECTIVES)), np.random.default_rng(SEED))
    return figures


def mean_of(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each figure over mazes."""
    return {name: float(np.mean([figures[name] for figures in found])) for name in found[0]} if found else {}
