"""Random mazes: small, hard, and the published 9x9 kind. All draws come from the passed generator."""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np

from evolve.domains.maze.grid import Maze, Rules

Cells = list[int]

NINE = 9
SLACK = 7


def small(rng: np.random.Generator) -> Maze:
    """A 6x6 maze of at most 10 moves, which plain sampling nearly covers.

    Start, exit, 3 gold and 3 diamonds each stay in a quadrant of their own. 3 lava cells are beside a randomly chosen
    treasure, 1 is beside the other, and 1 is anywhere. There are 4 walls, and everything can be reached.
    """
    return _first(lambda: _small(rng))


def hard(rng: np.random.Generator) -> Maze:
    """An 8x8 maze of at most 24 moves: too long for plain sampling, and too short to collect everything.

    7 gold and 7 diamonds are each in two diagonally opposite quadrants (4 and 3). The start and the exit are at least 5
    cells apart. 7 lava cells and 8 walls are anywhere, and everything can be reached.
    """
    return _first(lambda: _hard(rng))


def nine(rng: np.random.Generator) -> Maze:
    """The 9x9 maze of Vector Policy Optimization (arXiv 2605.22817), after the constraints of its code.

    Prim's maze with 18 to 28 further openings. Start and exit in opposite corners, gold and diamonds (3 to 5 each)
    within 2 steps of the other two, a bonus cell in the middle, 3 to 5 lava cells in rows and columns 2 to 6. The limit
    is the longer one of the ways over a treasure corner, plus 7; mazes in which both corners fit, or no way without
    lava does, are drawn again. Same distribution, not the same mazes: the published ones come from another random
    generator.
    """
    return _first(lambda: _nine(rng))


def _first(draw: Callable[[], Maze | None]) -> Maze:
    while True:
        maze = draw()
        if maze is not None and maze.connected:
            return maze


def _pick(rng: np.random.Generator, cells: Iterable[int], count: int) -> Cells:
    """That many different cells, or fewer if there are fewer."""
    order = rng.permutation(sorted(cells))
    return [int(cell) for cell in order[:count]]


def _quadrants(side: int) -> list[set[int]]:
    half = side // 2
    return [
        {row * side + column for row in range(top, top + half) for column in range(left, left + half)}
        for top, left in ((0, 0), (0, half), (half, half), (half, 0))
    ]


def _small(rng: np.random.Generator) -> Maze | None:
    quadrants = [_quadrants(6)[place] for place in rng.permutation(4)]
    ends = [_pick(rng, quadrant, 1)[0] for quadrant in quadrants[:2]]
    gold, diamonds = (_pick(rng, quadrant, 3) for quadrant in quadrants[2:])
    taken = {*ends, *gold, *diamonds}
    rich, other = (2, 3) if rng.random() < 0.5 else (3, 2)
    lava = _pick(rng, quadrants[rich] - taken, 3) + _pick(rng, quadrants[other] - taken, 1)
    free = set(range(36)) - taken - set(lava)
    last, *walls = _pick(rng, free, 5)
    return Maze(
        height=6,
        width=6,
        limit=10,
        start=ends[0],
        goal=ends[1],
        gold=tuple(gold),
        diamonds=tuple(diamonds),
        lava=(*lava, last),
        walls=tuple(walls),
    )


def _hard(rng: np.random.Generator) -> Maze | None:
    zones = _quadrants(8)
    turn = int(rng.integers(4))
    zones = zones[turn:] + zones[:turn]
    gold = _pick(rng, zones[0], 4) + _pick(rng, zones[2], 3)
    diamonds = _pick(rng, zones[1], 4) + _pick(rng, zones[3], 3)
    free = set(range(64)) - {*gold, *diamonds}
    start, goal, *rest = _pick(rng, free, 2 + 7 + 8)
    if _apart(start, goal, 8) < 5:
        return None
    return Maze(
        height=8,
        width=8,
        limit=24,
        start=start,
        goal=goal,
        gold=tuple(gold),
        diamonds=tuple(diamonds),
        lava=tuple(rest[:7]),
        walls=tuple(rest[7:]),
    )


def _apart(cell: int, other: int, side: int) -> int:
    return abs(cell // side - other // side) + abs(cell % side - other % side)


def _nine(rng: np.random.Generator) -> Maze | None:
    """A draw. None if it breaks a constraint."""
    side, last = NINE, NINE * NINE - 1
    corners = [0, side - 1, last, last - side + 1]
    turn = int(rng.integers(4))
    start, one, goal, other = corners[turn:] + corners[:turn]
    gold_corner, diamond_corner = (one, other) if rng.random() < 0.5 else (other, one)
    middle = last // 2
    free = _opened(rng, _prim(rng, side), side, int(rng.integers(18, 29))) | {*corners, middle}
    walls = tuple(set(range(last + 1)) - free)
    bare = Maze(height=side, width=side, limit=1, start=start, goal=goal, walls=walls)
    if not bare.connected:
        return None
    limit = max(_way(bare, start, by, goal) for by in (gold_corner, diamond_corner)) + SLACK
    if min(_way(bare, start, *both, goal) for both in _orders(gold_corner, diamond_corner)) <= limit:
        return None
    plain = free - {start, goal, middle}
    gold = _zone(rng, plain, gold_corner)
    diamonds = _zone(rng, plain, diamond_corner)
    inner = {cell for cell in plain if 2 <= cell // side <= side - 3 and 2 <= cell % side <= side - 3}
    lava = _pick(rng, inner - {*gold, *diamonds}, int(rng.integers(3, 6)))
    if min(len(gold), len(diamonds), len(lava)) < 3:
        return None
    safe = Maze(height=side, width=side, limit=1, start=start, goal=goal, walls=(*walls, *lava))
    if _distances(safe, start).get(goal, limit + 1) > limit:
        return None
    return Maze(
        height=side,
        width=side,
        limit=limit,
        start=start,
        goal=goal,
        walls=walls,
        gold=tuple(gold),
        diamonds=tuple(diamonds),
        lava=tuple(lava),
        bonus=(middle,),
        rules=Rules.EXIT,
    )


def _orders(one: int, other: int) -> tuple[tuple[int, int], tuple[int, int]]:
    return (one, other), (other, one)


def _zone(rng: np.random.Generator, free: set[int], corner: int) -> Cells:
    near = [cell for cell in free if _apart(cell, corner, NINE) <= 2]
    return _pick(rng, near, int(rng.integers(3, 6)))


def _beside(cell: int, side: int) -> Iterator[int]:
    row, column = divmod(cell, side)
    for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        if 0 <= row + down < side and 0 <= column + right < side:
            yield cell + down * side + right


def _prim(rng: np.random.Generator, side: int) -> set[int]:
    """Cells of a random tree: a cell is opened if exactly one neighbour is open (Prim's algorithm)."""
    first = int(rng.integers(side * side))
    free, edge = {first}, list(_beside(first, side))
    while edge:
        cell = edge.pop(int(rng.integers(len(edge))))
        if cell not in free and sum(near in free for near in _beside(cell, side)) == 1:
            free.add(cell)
            edge += [near for near in _beside(cell, side) if near not in free]
    return free


def _opened(rng: np.random.Generator, free: set[int], side: int, count: int) -> set[int]:
    """The cells with walls between two of them opened, which makes ways around."""
    between = [
        cell
        for cell in range(side * side)
        if cell not in free and sum(near in free for near in _beside(cell, side)) > 1
    ]
    return free | set(_pick(rng, between, count))


def _way(maze: Maze, *stops: int) -> int:
    """Moves of a shortest way over the stops."""
    return sum(_distances(maze, one)[other] for one, other in pairwise(stops))


def _distances(maze: Maze, source: int) -> dict[int, int]:
    """Fewest moves from a cell to each that can be reached."""
    found, edge = {source: 0}, [source]
    while edge:
        reached = {to: found[cell] + 1 for cell in edge for to in maze.steps[cell] if to not in found}
        found |= reached
        edge = list(reached)
    return found
