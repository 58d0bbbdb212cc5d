"""The symmetric forms of a maze: turned, mirrored, with gold and diamonds swapped. All of them are equally hard."""

from collections.abc import Iterable
from dataclasses import replace

from evolve.domains.maze.grid import Maze

FORMS = 16
_FLIP_ROWS, _FLIP_COLUMNS, _TRANSPOSE, _SWAP = 1, 2, 4, 8


def symmetric_form(maze: Maze, form: int) -> Maze:
    """One of the 16 forms of a maze. Form 0 is the maze itself.

    Args:
        maze: to change.
        form: bits: flip the rows, flip the columns, transpose, swap gold and diamonds.
    """

    def moved(cell: int) -> int:
        row, column = divmod(cell, maze.width)
        row = maze.height - 1 - row if form & _FLIP_ROWS else row
        column = maze.width - 1 - column if form & _FLIP_COLUMNS else column
        return column * maze.height + row if form & _TRANSPOSE else row * maze.width + column

    def all_moved(cells: Iterable[int]) -> tuple[int, ...]:
        return tuple(map(moved, cells))

    gold, diamonds = (maze.diamonds, maze.gold) if form & _SWAP else (maze.gold, maze.diamonds)
    height, width = (maze.width, maze.height) if form & _TRANSPOSE else (maze.height, maze.width)
    return replace(
        maze,
        height=height,
        width=width,
        start=moved(maze.start),
        goal=moved(maze.goal),
        gold=all_moved(gold),
        diamonds=all_moved(diamonds),
        lava=all_moved(maze.lava),
        walls=all_moved(maze.walls),
        bonus=all_moved(maze.bonus),
    )
