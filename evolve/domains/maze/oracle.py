"""The solutions of a maze: every outcome, the Pareto front, and the best walk under any weights.

The oracle computes exact reachability over (cell, collected items). The collected items are a single number: a bit for
each item and, by the rules, a bit for each lava cell or a count of steps onto lava that stops at the worst. The set of
such numbers for a cell is a long integer. So a move unites sets with an `or`, and collecting an item is a shift.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evolve.domains.maze.grid import MOVES, Maze
from evolve.domains.maze.reward import LAVA_CAP, vectors
from evolve.errors import ProblemError
from evolve.multiobjective import pareto
from evolve.multiobjective.scalarization import Floats

MAX_ITEMS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class BestWalk:
    """The best of a maze under some weights: its value, its reward vector, and the moves of a walk that earns it."""

    value: float
    reward: Floats
    moves: str


def outcomes(maze: Maze) -> Floats:
    """Reward vectors of all walks of at least one move, each once, of shape (n, 4).

    Raises:
        ProblemError: the maze has too many items to count its outcomes.
    """
    return _summary(maze)[0].copy()


def front(maze: Maze) -> Floats:
    """The true Pareto front: the outcomes that no other dominates, each once, of shape (n, 4).

    Raises:
        ProblemError: as for `outcomes`.
    """
    found = _summary(maze)[0]
    return found[pareto.front(found)]


def optimum(maze: Maze, weights: ArrayLike) -> NDArray[np.float64]:
    """Highest w . r over all walks, for weights of shape (..., 4); of shape (...).

    Raises:
        ProblemError: as for `outcomes`.
    """
    best: NDArray[np.float64] = (np.asarray(weights, dtype=np.float64) @ _summary(maze)[0].T).max(axis=-1)
    return best


def best(maze: Maze, weights: ArrayLike) -> BestWalk:
    """A best walk under the weights (4,).

    Raises:
        ProblemError: as for `outcomes`.
    """
    rewards, places = _summary(maze)
    values = rewards @ np.asarray(weights, dtype=np.float64)
    top = int(values.argmax())
    return BestWalk(value=float(values[top]), reward=rewards[top].copy(), moves=_route(maze, *places[top]))


class _Burden:
    """The encoding of collected items as a number, and the change of sets of such numbers on entering a cell."""

    def __init__(self, maze: Maze) -> None:
        self.by_cell = maze.rules.ends_on_exit
        singles = maze.items + (maze.lava if self.by_cell else ())
        if len(singles) > MAX_ITEMS:
            raise ProblemError(f"a maze with {len(singles)} things in it cannot be solved exactly: at most {MAX_ITEMS}")
        self.bits = {cell: place for place, cell in enumerate(singles)}
        self.masks = 1 << len(singles)
        self.levels = 1 if self.by_cell else LAVA_CAP + 1
        self.lava = frozenset() if self.by_cell else frozenset(maze.lava)
        universe = (1 << (self.masks * self.levels)) - 1
        # Place p: the numbers whose bit p is 0 come in runs of 2^p, so their set repeats with period 2^(p + 1).
        self._without = [universe // ((1 << (1 << place)) + 1) for place in range(len(singles))]
        self._worst = universe ^ ((1 << (self.masks * (self.levels - 1))) - 1)

    def enter(self, cell: int, carried: int) -> int:
        """The set carried after entering a cell with any of a set."""
        place = self.bits.get(cell)
        if place is not None:
            lacking = carried & self._without[place]
            return (carried ^ lacking) | (lacking << (1 << place))
        if cell in self.lava:
            worst = carried & self._worst
            return worst | ((carried ^ worst) << self.masks)
        return carried

    def before(self, cell: int, state: int) -> list[int]:
        """The numbers with which a cell can have been entered to carry `state` afterwards."""
        place = self.bits.get(cell)
        if place is not None:
            return [state, state ^ (1 << place)] if state >> place & 1 else []
        if cell in self.lava:
            level, mask = divmod(state, self.masks)
            minimum = [mask + (level - 1) * self.masks] if level else []
            return [*minimum, state] if level == self.levels - 1 else minimum
        return [state]


def _layers(maze: Maze, burden: _Burden) -> list[list[int]]:
    """Layer t: for each cell, the collected items after 1 to t + 1 moves. The last layer is for the limit."""
    current = _moved(maze, burden, [1 if cell == maze.start else 0 for cell in range(len(maze.steps))])
    layers = [current]
    while len(layers) < maze.limit:
        further = [old | new for old, new in zip(current, _moved(maze, burden, current), strict=True)]
        if further == current:
            break
        layers.append(further)
        current = further
    return layers


def _moved(maze: Maze, burden: _Burden, carried: list[int]) -> list[int]:
    moved = [0] * len(carried)
    for cell, held in enumerate(carried):
        if not held or (cell == maze.goal and maze.rules.ends_on_exit):
            continue
        for to in maze.steps[cell]:
            moved[to] |= held if to == cell else burden.enter(to, held)
    return moved


@lru_cache(maxsize=512)
def _summary(maze: Maze) -> tuple[Floats, list[tuple[bool, int]]]:
    """Distinct reward vectors, and for each whether it needs the exit and a state that earns it."""
    burden = _Burden(maze)
    last = _layers(maze, burden)[-1]
    elsewhere = 0
    for cell, held in enumerate(last):
        elsewhere |= held if cell != maze.goal else 0
    states = [_members(held) for held in (elsewhere, last[maze.goal])]
    reached = np.repeat([False, True], [len(found) for found in states])
    state = np.concatenate(states)
    counts = np.stack([reached, *_counts(maze, burden, state)], axis=-1)
    # Few counts differ, and numbers are told apart faster than rows.
    code = counts @ np.cumprod([1, *(counts[:, :-1].max(axis=0) + 1)])
    first = np.unique(code, return_index=True)[1]
    distinct, which = np.unique(vectors(maze, *counts[first].T), axis=0, return_index=True)
    return distinct, [(bool(reached[at]), int(state[at])) for at in first[which]]


def _members(held: int) -> NDArray[np.int64]:
    raw = np.frombuffer(held.to_bytes(held.bit_length() // 8 + 1, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little")).astype(np.int64)


def _counts(maze: Maze, burden: _Burden, state: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Gold, diamonds, lava and bonus of states."""
    level, mask = np.divmod(state, burden.masks)

    def taken(cells: tuple[int, ...]) -> NDArray[np.int64]:
        wanted = sum(1 << burden.bits[one] for one in cells)
        counted: NDArray[np.int64] = np.bitwise_count(mask & wanted).astype(np.int64)
        return counted

    return taken(maze.gold), taken(maze.diamonds), taken(maze.lava) if burden.by_cell else level, taken(maze.bonus)


def _route(maze: Maze, reached: bool, state: int) -> str:
    """A shortest of the walks that carry `state` to the exit, or to elsewhere, traced back through the layers."""
    burden = _Burden(maze)
    layers = _layers(maze, burden)
    ends = [cell for cell in range(len(maze.steps)) if (cell == maze.goal) is reached]
    at, cell = next((number, end) for number, layer in enumerate(layers) for end in ends if layer[end] >> state & 1)
    moves = ""
    while at:
        move, cell, state = next(
            (move, source, before)
            for source in range(len(maze.steps))
            if not (source == maze.goal and maze.rules.ends_on_exit)
            for move, to in zip(MOVES, maze.steps[source], strict=True)
            if to == cell
            for before in ([state] if source == cell else burden.before(cell, state))
            if layers[at - 1][source] >> before & 1
        )
        moves = move + moves
        at -= 1
    return MOVES[maze.steps[maze.start].index(cell)] + moves
