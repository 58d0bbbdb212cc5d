"""Mazes: a grid of walls, treasures and lava, the walks through it, and its plain text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from evolve.errors import ProblemError

MOVES = "UDLR"
MAX_SIDE = 32
MAX_WALK = 1000

Table = tuple[tuple[int, int, int, int], ...]

_HEADER = re.compile(r"maze (\d{1,3})x(\d{1,3}), at most (\d{1,5}) moves, (\w{1,20}) rules")
_SYMBOLS = {"#": "walls", "G": "gold", "D": "diamonds", "L": "lava", "B": "bonus"}


class Rules(StrEnum):
    """The end of a walk, and its reward.

    `open`: the walk ends with its last move, each objective counts on its own, and each step onto lava counts. `exit`:
    the walk ends on the exit and earns nothing without it. Each lava cell counts once (Vector Policy Optimization,
    arXiv 2605.22817, and its code). `convex`: as `exit`, but shares are squared, and half as large again after a visit
    to the bonus cell. Both versions are in the authors' material.
    """

    OPEN = "open"
    EXIT = "exit"
    CONVEX = "convex"

    @property
    def ends_on_exit(self) -> bool:
        """Whether the exit ends the walk."""
        return self is not Rules.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Maze:
    """A maze. Cells are numbered row by row from 0.

    Attributes:
        limit: maximum number of moves of a walk.
        walls, gold, diamonds, lava, bonus: cells, ascending and disjoint.
        steps: destination of each move of `MOVES` from each cell. A move against a wall leads nowhere.

    Raises:
        ProblemError: cells are outside of the grid or on each other, or a number is out of range.
    """

    height: int
    width: int
    limit: int
    start: int
    goal: int
    walls: tuple[int, ...] = ()
    gold: tuple[int, ...] = ()
    diamonds: tuple[int, ...] = ()
    lava: tuple[int, ...] = ()
    bonus: tuple[int, ...] = ()
    rules: Rules = Rules.OPEN
    steps: Table = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (1 <= self.height <= MAX_SIDE and 1 <= self.width <= MAX_SIDE):
            raise ProblemError(f"a maze has sides of 1 to {MAX_SIDE} cells, not {self.height}x{self.width}")
        if not 1 <= self.limit <= MAX_WALK:
            raise ProblemError(f"a maze allows 1 to {MAX_WALK} moves, not {self.limit}")
        for name in _SYMBOLS.values():
            object.__setattr__(self, name, tuple(sorted(getattr(self, name))))
        taken = [self.start, self.goal, *self.walls, *self.items, *self.lava]
        outside = [cell for cell in taken if not 0 <= cell < self.height * self.width]
        if outside:
            raise ProblemError(f"cell {outside[0]} lies outside of a maze of {self.height}x{self.width}")
        if len(set(taken)) < len(taken):
            raise ProblemError("two things are on the same cell of the maze")
        object.__setattr__(self, "steps", _table(self.height, self.width, frozenset(self.walls)))

    @property
    def items(self) -> tuple[int, ...]:
        """Cells that are worth a visit: gold, then diamonds, then the bonus."""
        return self.gold + self.diamonds + self.bonus

    @property
    def connected(self) -> bool:
        """Whether every cell but the walls can be walked to from the start."""
        seen, edge = {self.start}, [self.start]
        while edge:
            edge = [cell for cell in {to for cell in edge for to in self.steps[cell]} if cell not in seen]
            seen.update(edge)
        return len(seen) == self.height * self.width - len(self.walls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The result of a walk.

    Attributes:
        end: the last cell.
        steps: number of moves made, including moves against a wall. Moves after the limit or the exit are not made.
        lava: steps onto lava. Under the rules with an exit, the number of lava cells visited.
    """

    end: int
    steps: int
    reached: bool
    gold: int
    diamonds: int
    lava: int
    bonus: int


def walk(maze: Maze, moves: str) -> Walk:
    """Follow moves through a maze, as far as the limit and the rules let them count.

    Raises:
        ValueError: a move is none of `MOVES`.
    """
    visited = list(trail(maze, moves))
    end = visited[-1] if visited else maze.start
    # The exit holds nothing and a bump enters no cell, so both are skipped where cells are counted.
    entered = [cell for before, cell in zip([maze.start, *visited], visited, strict=False) if cell != before]
    seen = set(entered)
    burnt = [cell for cell in entered if cell in maze.lava]
    return Walk(
        end=end,
        steps=len(visited),
        reached=end == maze.goal,
        gold=len(seen.intersection(maze.gold)),
        diamonds=len(seen.intersection(maze.diamonds)),
        lava=len(set(burnt)) if maze.rules.ends_on_exit else len(burnt),
        bonus=len(seen.intersection(maze.bonus)),
    )


def trail(maze: Maze, moves: str) -> Iterator[int]:
    """The cells that moves lead to, in order; one against a wall leads to the cell that it is made from."""
    cell = maze.start
    for move in moves[: maze.limit]:
        cell = maze.steps[cell][MOVES.index(move)]
        yield cell
        if cell == maze.goal and maze.rules.ends_on_exit:
            return


def render(maze: Maze) -> str:
    """The maze as text: a line with its size, limit and rules, and a line for each row. `read` reads it back."""
    symbols = ["."] * (maze.height * maze.width)
    symbols[maze.start], symbols[maze.goal] = "S", "E"
    for symbol, name in _SYMBOLS.items():
        for cell in getattr(maze, name):
            symbols[cell] = symbol
    rows = [" ".join(symbols[at : at + maze.width]) for at in range(0, len(symbols), maze.width)]
    head = f"maze {maze.height}x{maze.width}, at most {maze.limit} moves, {maze.rules} rules"
    return "\n".join([head, *rows])


def read(text: str) -> Maze:
    """Find the first maze that `render` wrote inside a text, such as a prompt.

    Raises:
        ProblemError: there is none, or it is not whole.
    """
    header = _HEADER.search(text)
    if header is None:
        raise ProblemError("the text holds no line such as `maze 8x8, at most 24 moves, open rules`")
    height, width, limit = (int(header[number]) for number in (1, 2, 3))
    if header[4] not in set(Rules):
        raise ProblemError(f"a maze has no {header[4]} rules: choose {', '.join(Rules)}")
    behind = text[header.end() :].split("\n", min(height, MAX_SIDE) + 1)[1:]
    rows = [line.split() for line in behind[:height]]
    if len(rows) != height or any(len(row) != width for row in rows):
        raise ProblemError(f"the maze does not have {height} rows of {width} cells")
    symbols = [symbol for row in rows for symbol in row]
    unknown = set(symbols) - {".", "S", "E", *_SYMBOLS}
    if unknown or symbols.count("S") != 1 or symbols.count("E") != 1:
        raise ProblemError("the maze needs one S and one E, and otherwise only . # G D L B")
    return Maze(
        height=height,
        width=width,
        limit=limit,
        start=symbols.index("S"),
        goal=symbols.index("E"),
        walls=_cells(symbols, "#"),
        gold=_cells(symbols, "G"),
        diamonds=_cells(symbols, "D"),
        lava=_cells(symbols, "L"),
        bonus=_cells(symbols, "B"),
        rules=Rules(header[4]),
    )


def _cells(symbols: list[str], wanted: str) -> tuple[int, ...]:
    return tuple(cell for cell, symbol in enumerate(symbols) if symbol == wanted)


def _table(height: int, width: int, walls: frozenset[int]) -> Table:
    return tuple(_row(cell, height, width, walls) for cell in range(height * width))


def _row(cell: int, height: int, width: int, walls: frozenset[int]) -> tuple[int, int, int, int]:
    row, column = divmod(cell, width)
    up = cell - width if row else cell
    down = cell + width if row < height - 1 else cell
    left = cell - 1 if column else cell
    right = cell + 1 if column < width - 1 else cell
    up, down, left, right = (cell if to in walls else to for to in (up, down, left, right))
    return up, down, left, right
