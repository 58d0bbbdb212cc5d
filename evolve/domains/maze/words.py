"""The maze in few words, for small policies: every cell has a name, and every move names its destination.

Cells are named as on a chess board, with a letter for the column and a number for the row, counted from the top: `a1`
is the upper left corner. An item and its cell are a single word, such as `G:c4` for gold. A move and its destination
are a single word too, such as `Rc4`. So a policy that reads its own answer knows its position.
"""

import re
from collections.abc import Sequence

from evolve.domains.maze.grid import MAX_SIDE, MOVES, Maze, Rules
from evolve.errors import ProblemError

COLUMNS = "abcdefghijklmnopqrstuvwxyzABCDEF"
THINGS = {"S": "start", "E": "goal", "G": "gold", "D": "diamonds", "L": "lava", "#": "walls", "B": "bonus"}

_CELL = re.compile(rf"([{COLUMNS}])([1-9]\d?)")
_STEP = re.compile(rf"([{MOVES}])[{COLUMNS}]\d{{1,2}}")
_SIZE = re.compile(r"(\d{1,2})x(\d{1,2})")


def cell_name(maze: Maze, cell: int) -> str:
    """The name of a cell, such as `c4`: column, then row."""
    row, column = divmod(cell, maze.width)
    return f"{COLUMNS[column]}{row + 1}"


def brief(maze: Maze) -> str:
    """The maze as words on a line: size, limit, rules, and the items with their cells. `read_brief` reads it back."""
    words = [f"{maze.height}x{maze.width}", str(maze.limit), str(maze.rules)]
    for symbol, name in THINGS.items():
        cells = getattr(maze, name)
        cells = (cells,) if isinstance(cells, int) else cells
        words += [f"{symbol}:{cell_name(maze, cell)}" for cell in cells]
    return " ".join(words)


def read_brief(text: str) -> Maze:
    """Read a line of `brief`.

    Raises:
        ProblemError: the line is not valid.
    """
    words = text.split()
    size = _SIZE.fullmatch(words[0]) if len(words) > 3 else None
    if size is None or not words[1].isdecimal() or words[2] not in set(Rules):
        raise ProblemError("a maze in short begins with its size, limit and rules, such as `8x8 24 open S:a1 E:h8`")
    height, width = int(size[1]), int(size[2])
    cells: dict[str, list[int]] = {}
    for word in words[3:]:
        thing, _, name = word.partition(":")
        cells.setdefault(thing, []).append(_cell(name, height, width))
    if set(cells) - set(THINGS) or [len(cells.get(end, ())) for end in "SE"] != [1, 1]:
        raise ProblemError("a maze in short has one S:cell and one E:cell, and otherwise only G, D, L, # and B")
    found = {name: tuple(cells.get(symbol, ())) for symbol, name in THINGS.items() if symbol not in "SE"}
    return Maze(
        height=height,
        width=width,
        limit=int(words[1]),
        start=cells["S"][0],
        goal=cells["E"][0],
        rules=Rules(words[2]),
        **found,
    )


def steps(maze: Maze, moves: str) -> list[str]:
    """A walk as words, each a move with its destination, such as `Rc4`. A move against a wall names the present cell.

    Raises:
        ValueError: a move is not one of `MOVES`.
    """
    cell, words = maze.start, []
    for move in moves:
        cell = maze.steps[cell][MOVES.index(move)]
        words.append(f"{move}{cell_name(maze, cell)}")
    return words


def is_step(word: str) -> bool:
    """Whether a word is a move with the cell where it leads."""
    return _STEP.fullmatch(word) is not None


def moves_of(words: Sequence[str]) -> str:
    """The moves in words of `steps`. Their destinations are ignored."""
    return "".join(word[0] for word in words)


def _cell(word: str, height: int, width: int) -> int:
    found = _CELL.fullmatch(word)
    row, column = (int(found[2]) - 1, COLUMNS.index(found[1])) if found else (MAX_SIDE, 0)
    if not (0 <= row < height and column < width):
        raise ProblemError(f"{word[:20]!r} is not a cell of a maze of {height}x{width}")
    return row * width + column
