"""Fixed mazes: the same number of the same split is the same maze for ever, and no two splits are drawn alike."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from evolve.domains.maze.generation import hard, nine, small
from evolve.domains.maze.grid import Maze, Rules
from evolve.errors import ProblemError

KINDS: Mapping[str, Callable[[np.random.Generator], Maze]] = MappingProxyType(
    {"small": small, "hard": hard, "nine": nine}
)
SPLITS = ("train", "validation", "test", "questions")
_SEED = 2605_22817


# What all mazes of a kind share, and no other kind has.
_SHARED: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "small": {"height": 6, "width": 6, "limit": 10, "rules": Rules.OPEN},
    "hard": {"height": 8, "width": 8, "limit": 24, "rules": Rules.OPEN},
    "nine": {"height": 9, "width": 9, "rules": Rules.EXIT},
})  # fmt: skip


def kind_of(maze: Maze) -> str:
    """The kind whose size, limit and rules a maze has. Empty: it is of no kind."""
    alike = (
        kind for kind, shared in _SHARED.items() if all(getattr(maze, name) == value for name, value in shared.items())
    )
    return next(alike, "")


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
