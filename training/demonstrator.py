"""A noisy demonstrator for warm starts: it knows shortest ways and treasures, and wants something else every time."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evolve.domains.maze import MOVES, Maze

Rng: TypeAlias = np.random.Generator
Table: TypeAlias = list[list[int]]

_FAR = 10_000
_LAVA = 6  # moves that a step onto lava is worth avoiding


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Field:
    """A maze with its shortest ways, so that walks through it cost microseconds.

    Attributes:
        way: [careless, careful of lava], each [cell][target]: the next move.
        distance: the same: moves it takes.
        targets: gold and diamonds.
    """

    maze: Maze
    way: tuple[Table, Table]
    distance: tuple[Table, Table]

    @classmethod
    def of(cls, maze: Maze) -> "Field":
        """Find all shortest ways."""
        found = [_ways(maze, lava) for lava in (0, _LAVA)]
        way = (found[0][0].tolist(), found[1][0].tolist())
        return cls(maze=maze, way=way, distance=(found[0][1].tolist(), found[1][1].tolist()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstrator:
    """The noise of the demonstrator.

    Attributes:
        noise: share of random moves.
        alpha: of the Dirichlet distribution of its weights.
        stops: maximum number of treasures on a walk.
    """

    noise: float = 0.12
    alpha: float = 0.7
    stops: int = 6

    def walk(self, field: Field, rng: Rng) -> str:
        """A walk from the start, under weights of its own. Without a goal it goes to the exit."""
        maze = field.maze
        moves = self._go(field, rng, maze.start, maze.limit, maze.goal)
        return moves or self._go(field, rng, maze.start, maze.limit, maze.goal, always=True)

    def edit(self, field: Field, parent: str, rng: Rng) -> str:
        """A child of a walk: it walks a stretch in a new way, then returns to the parent's way."""
        maze = field.maze
        parent = parent[: maze.limit]
        trail = _trail(maze, parent)
        first = int(rng.integers(0, len(trail)))
        last = min(len(parent), first + int(rng.integers(0, max(2, len(parent) // 2 + 1))))
        spare = maze.limit - first - (len(parent) - last)
        middle = self._go(field, rng, trail[first], spare, trail[last], always=True)
        child = parent[:first] + middle + parent[last:]
        return child[: maze.limit] or parent

    def _go(self, field: Field, rng: Rng, cell: int, budget: int, end: int, always: bool = False) -> str:
        maze = field.maze
        wants = rng.dirichlet([self.alpha] * 4)
        chance = rng.random(2 * budget + 16).tolist()
        careful = int(chance.pop() < 3 * wants[3])
        way, distance = field.way[careful], field.distance[careful]
        ending = always or chance.pop() < 4 * wants[0] + 0.2
        left = [*_shuffled(maze.gold, rng), *_shuffled(maze.diamonds, rng)]
        gold = set(maze.gold)
        worth = {one: (wants[1] if one in gold else wants[2]) for one in left}
        moves: list[str] = []
        for _ in range(int(rng.integers(0, self.stops + 1))):
            spare = budget - len(moves)
            near = [
                (distance[cell][one] / (worth[one] + 0.05), one)
                for one in left
                if distance[cell][one] + (distance[one][end] if ending else 0) <= spare
            ]
            if not near:
                break
            stop = min(near)[1]
            left.remove(stop)
            cell = self._head(maze, way, cell, stop, budget, moves, chance)
        if ending:
            self._head(maze, way, cell, end, budget, moves, chance)
        return "".join(moves)

    def _head(
        self, maze: Maze, way: Table, cell: int, target: int, budget: int, moves: list[str], chance: list[float]
    ) -> int:
        while cell != target and len(moves) < budget:
            drawn = chance.pop() if chance else 1.0
            move = int(drawn / self.noise * 4) if drawn < self.noise else way[cell][target]
            moves.append(MOVES[move])
            cell = maze.steps[cell][move]
        return cell


def _ways(maze: Maze, lava: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Next move and number of moves from every cell to every cell, where a lava cell costs so many moves more."""
    cells = len(maze.steps)
    to = np.array(maze.steps)
    price = np.ones(cells, dtype=np.int64)
    price[list(maze.lava)] += lava
    stays = (to == np.arange(cells)[:, None])[..., None]
    cost = np.full((cells, cells), _FAR, dtype=np.int64)
    np.fill_diagonal(cost, 0)
    while True:
        over = np.where(stays, 2 * _FAR, price[to][..., None] + cost[to])
        nearer = np.minimum(cost, over.min(axis=1))
        if (nearer == cost).all():
            break
        cost = nearer
    way = over.argmin(axis=1)
    return way, _lengths(to, way)


def _lengths(to: NDArray[np.int64], way: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of moves of the ways. Very large if a wall is between."""
    cells = len(to)
    here = np.broadcast_to(np.arange(cells)[:, None], (cells, cells)).copy()
    target = np.arange(cells)[None, :]
    moves = np.zeros((cells, cells), dtype=np.int64)
    for _ in range(cells):
        going = here != target
        if not going.any():
            break
        moves += going
        here = np.where(going, to[here, way[here, target]], here)
    return np.where(here == target, moves, _FAR)


def _shuffled(cells: tuple[int, ...], rng: Rng) -> list[int]:
    return [cells[place] for place in rng.permutation(len(cells))]


def _trail(maze: Maze, moves: str) -> list[int]:
    cells = [maze.start]
    for move in moves:
        cells.append(maze.steps[cells[-1]][MOVES.index(move)])
    return cells
