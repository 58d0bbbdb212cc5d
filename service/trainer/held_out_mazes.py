"""The mazes that versions of a policy are compared on: of the kinds that their job is about, and learnt by neither."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any

from evolve.domains.maze import KINDS, Maze, kind_of, maze_of, render
from service.errors import UsageError

SPLIT = "test"
DEFAULT_KINDS = ("small", "hard")


def held_out_kinds(request: Mapping[str, Any], learnt: Sequence[Maze]) -> tuple[str, ...]:
    """The kinds of the held-out mazes: those asked for, else those of the runs' mazes, else those trained on.

    Raises:
        UsageError: there is no such kind, or a maze of the runs is of none.
    """
    asked = tuple(dict.fromkeys(request.get("test_kinds") or ()))
    unknown = [kind for kind in asked if kind not in KINDS]
    if unknown:
        raise UsageError(f"there are no {unknown[0]!r} mazes: choose test_kinds from {', '.join(KINDS)}")
    if asked:
        return asked
    if not learnt:
        return tuple(request.get("kinds") or DEFAULT_KINDS)
    found = {kind_of(maze) for maze in learnt}
    if "" in found and request.get("test_problems"):
        raise UsageError(
            "a maze of the runs is of no kind that there are test mazes of: name test_kinds, such as hard, or set"
            " test_problems to 0"
        )
    return tuple(kind for kind in KINDS if kind in found)


def held_out_mazes(kinds: Sequence[str], total: int, seen: Collection[str]) -> list[Maze]:
    """The first mazes of the test split without those whose names are seen, as many of each kind as of the others."""
    share, more = divmod(total, len(kinds))
    return [maze for place, kind in enumerate(kinds) for maze in islice(_unseen(kind, seen), share + (place < more))]


def describe_held_out(kinds: Sequence[str], total: int) -> str:
    """What a card says of them."""
    if not total:
        return "The job asked for no evaluation."
    return (
        f"Compared with the promoted version on {total} mazes of the split `{SPLIT}`, kinds: {', '.join(kinds)}."
        " Neither version, nor a base of it, was trained on them."
    )


def maze_name(maze: str) -> str:
    """The name of a maze, by its content."""
    return f"maze {hashlib.sha256(maze.encode()).hexdigest()[:12]}"


def _unseen(kind: str, seen: Collection[str]) -> Iterator[Maze]:
    found = (maze_of(kind, SPLIT, number) for number in count())
    return (maze for maze in found if maze_name(render(maze)) not in seen)
