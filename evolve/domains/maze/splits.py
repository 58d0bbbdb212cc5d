"""Fixed mazes: the same number of the same split is the same maze for ever, and no two splits are drawn alike."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from evolve.domains.maze.generation import hard, nine, small
from evolve.domains.maze.grid import Maze
from evolve.errors import ProblemError

KINDS: Mapping[str, Callable[[np.random.Generator], Maze]] = MappingProxyType(
    {"small": small, "hard": hard, "nine": nine}
)
SPLITS = ("train", "validation", "test", "questions")
_SEED = 2605_22817


def maze_of(kind: str, split: str, number: int) -> Maze:
    """The maze of that number, from 0, of a split.

    Settings are chosen on `validation`, policies are compared on `test`, and searches on `questions`. `train` is only
    for training. Every maze has its own random stream, so the number of mazes does not matter.

    Raises:
        ProblemError: the kind, split or number does not exist.
    """
    if kind not in KINDS:
        raise ProblemError(f"there are no {kind!r} mazes: choose {', '.join(KINDS)}")
    if split not in SPLITS:
        raise ProblemError(f"the mazes have no {split!r} split: choose {', '.join(SPLITS)}")
    if number < 0:
        raise ProblemError(f"mazes are numbered from 0, not from {number}")
    stream = [_SEED, list(KINDS).index(kind), SPLITS.index(split), number]
    return KINDS[kind](np.random.default_rng(stream))


def mazes(kind: str, split: str, count: int) -> tuple[Maze, ...]:
    """The first mazes of a split.

    Raises:
        ProblemError: as for `maze_of`.
    """
    return tuple(maze_of(kind, split, number) for number in range(count))
