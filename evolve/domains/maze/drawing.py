"""A walk through a maze as an SVG: walls, what lies in the cells, and the way."""

from evolve.domains.maze.grid import Maze, trail

_CELL = 24
# By what lies in a cell: its colour, and the letter that tells it without colours.
_THINGS = (
    ("gold", "#e69f00", "G"),
    ("diamonds", "#56b4e9", "D"),
    ("lava", "#d55e00", "L"),
    ("bonus", "#cc79a7", "B"),
)


def walk_svg(maze: Maze, moves: str) -> str:
    """The maze with the walk that these moves make, from a ring at the start to a dot at the end."""
    width, height = _CELL * maze.width, _CELL * maze.height
    parts = [f'<rect width="{width}" height="{height}" fill="#fff" stroke="#333"/>']
    parts += [_square(maze, cell, "#444") for cell in maze.walls]
    for name, colour, letter in _THINGS:
        for cell in getattr(maze, name):
            parts += [_square(maze, cell, colour), _letter(maze, cell, letter)]
    parts += [_letter(maze, maze.start, "S"), _letter(maze, maze.goal, "E")]
    way = [maze.start, *trail(maze, moves)]
    points = " ".join(f"{x},{y}" for x, y in (_middle(maze, cell) for cell in way))
    (x, y), (end_x, end_y) = _middle(maze, way[0]), _middle(maze, way[-1])
    parts.append(f'<polyline points="{points}" fill="none" stroke="#0072b2" stroke-width="4" stroke-opacity=".75"/>')
    parts.append(f'<circle cx="{x}" cy="{y}" r="7" fill="none" stroke="#0072b2" stroke-width="2"/>')
    parts.append(f'<circle cx="{end_x}" cy="{end_y}" r="5" fill="#0072b2"/>')
    size = f'viewBox="-1 -1 {width + 2} {height + 2}" width="{width + 2}" height="{height + 2}"'
    font = 'font-family="sans-serif" font-size="13" text-anchor="middle"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>{"".join(parts)}</svg>'


def _middle(maze: Maze, cell: int) -> tuple[int, int]:
    row, column = divmod(cell, maze.width)
    return _CELL * column + _CELL // 2, _CELL * row + _CELL // 2


def _square(maze: Maze, cell: int, colour: str) -> str:
    x, y = _middle(maze, cell)
    return f'<rect x="{x - _CELL // 2}" y="{y - _CELL // 2}" width="{_CELL}" height="{_CELL}" fill="{colour}"/>'


def _letter(maze: Maze, cell: int, letter: str) -> str:
    x, y = _middle(maze, cell)
    return f'<text x="{x}" y="{y + 5}">{letter}</text>'
