"""Rewards of walks: completion, gold, diamonds, avoided lava, each in [0, 1] and more is better."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evolve.domains.maze.grid import Maze, Rules, Walk
from evolve.multiobjective.scalarization import Floats

OBJECTIVES = ("completion", "gold", "diamond", "avoid_lava")
LAVA_CAP = 3
BONUS_FACTOR = 1.5


def reward(maze: Maze, walked: Walk) -> Floats:
    """Reward vector (4,) of a walk."""
    vector: Floats = vectors(maze, walked.reached, walked.gold, walked.diamonds, walked.lava, walked.bonus)
    return vector


def vectors(
    maze: Maze, reached: ArrayLike, gold: ArrayLike, diamonds: ArrayLike, lava: ArrayLike, bonus: ArrayLike
) -> Floats:
    """Reward vectors (..., 4) of the results of walks, all arrays of the same shape.

    Open rules: (ends on the exit, share of the gold, share of the diamonds, 1 - min(steps onto lava, 3) / 3). With an
    exit: (1, share of the gold, share of the diamonds, 1 - share of the lava cells stepped on) if it was reached, else
    zeros. Convex: those shares squared, times 1.5 with the bonus, at most 1. Without gold (diamonds) to find its share
    is 0, without lava to avoid 1.
    """
    at_exit = np.asarray(reached, dtype=np.float64)
    shares = np.stack([_share(gold, len(maze.gold)), _share(diamonds, len(maze.diamonds))], axis=-1)
    if maze.rules is Rules.OPEN:
        safe = 1.0 - np.minimum(np.asarray(lava, dtype=np.float64), LAVA_CAP) / LAVA_CAP
        return np.concatenate([at_exit[..., None], shares, safe[..., None]], axis=-1)
    earned = np.concatenate([shares, 1.0 - _share(lava, len(maze.lava))[..., None]], axis=-1)
    if maze.rules is Rules.CONVEX:
        factor = np.where(np.asarray(bonus) > 0, BONUS_FACTOR, 1.0)
        earned = np.minimum(1.0, factor[..., None] * earned**2)
    result: Floats = at_exit[..., None] * np.concatenate([np.ones_like(at_exit)[..., None], earned], axis=-1)
    return result


def _share(found: ArrayLike, there: int) -> NDArray[np.float64]:
    return np.asarray(found, dtype=np.float64) / max(there, 1)
