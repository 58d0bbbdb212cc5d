"""The demonstrator that warm starts imitate: its ways are shortest, its walks legal, its edits edits."""

import heapq
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from evolve.domains.maze import KINDS, MOVES, Maze, maze_of, walk
from training.demonstrator import Demonstrator, Field

LAVA_PRICE = 6


@cache
def field_of(kind: str, number: int = 0) -> Field:
    return Field.of(maze_of(kind, "train", number))


def cells_of(maze: Maze) -> list[int]:
    return [cell for cell in range(len(maze.steps)) if cell not in maze.walls]


def cheapest(maze: Maze, start: int, price: int) -> dict[int, int]:
    """Cost of the cheapest way to every cell by Dijkstra's algorithm: a move costs 1, onto lava `price` more."""
    costs, edge = {start: 0}, [(0, start)]
    while edge:
        cost, cell = heapq.heappop(edge)
        if cost > costs[cell]:
            continue
        for to in maze.steps[cell]:
            further = cost + 1 + price * (to in maze.lava and to != cell)
            if to != cell and further < costs.get(to, further + 1):
                costs[to] = further
                heapq.heappush(edge, (further, to))
    return costs


def trail(maze: Maze, moves: str, start: int | None = None) -> list[int]:
    cells = [maze.start if start is None else start]
    for move in moves:
        cells.append(maze.steps[cells[-1]][MOVES.index(move)])
    return cells


def along(field: Field, careful: int, start: int, target: int) -> list[int]:
    """The cells of the way that a field knows."""
    cells = [start]
    while cells[-1] != target:
        assert len(cells) <= len(field.maze.steps)
        cells.append(field.maze.steps[cells[-1]][field.way[careful][cells[-1]][target]])
    return cells


@pytest.mark.parametrize("careful", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_ways_are_the_cheapest(kind: str, careful: int) -> None:
    field = field_of(kind)
    maze, price = field.maze, careful * LAVA_PRICE
    for start in cells_of(maze):
        costs = cheapest(maze, start, price)
        for target in cells_of(maze):
            cells = along(field, careful, start, target)
            burnt = sum(to in maze.lava for _, to in pairwise(cells))
            assert len(cells) - 1 == field.distance[careful][start][target]
            assert len(cells) - 1 + price * burnt == costs[target]


def test_cells_that_cannot_be_reached_are_far() -> None:
    maze = Maze(height=2, width=3, limit=9, start=0, goal=3, walls=(1, 4))
    field = Field.of(maze)
    assert field.distance[0][0][3] == 1
    assert field.distance[0][0][2] > 1000
    assert len(Demonstrator(noise=0.0).walk(replace(field, maze=replace(maze, goal=5)), np.random.default_rng(0))) <= 9


@pytest.mark.parametrize("noise", [0.0, 0.12, 0.9])
@pytest.mark.parametrize("kind", KINDS)
def test_walks_and_edits_stay_within_the_limit(kind: str, noise: float) -> None:
    demonstrator, rng = Demonstrator(noise=noise), np.random.default_rng(1)
    for number in range(60):
        field = field_of(kind, number % 3)
        moves = demonstrator.walk(field, rng)
        assert len(moves) <= field.maze.limit
        for parent in (moves, "", "U", "UDLR" * 20):
            child = demonstrator.edit(field, parent, rng)
            assert len(child) <= field.maze.limit
            assert set(child) <= set(MOVES)
            assert child or not parent


@pytest.mark.parametrize("stops", [0, 6])
def test_a_walk_goes_somewhere(stops: int) -> None:
    rng = np.random.default_rng(4)
    for number in range(40):
        field = Field.of(maze_of("small", "validation", number))
        assert Demonstrator(noise=0.0, stops=stops).walk(field, rng)


def test_without_noise_no_move_is_a_bump() -> None:
    rng = np.random.default_rng(2)
    for number in range(60):
        field = field_of("hard", number % 3)
        cells = trail(field.maze, Demonstrator(noise=0.0).walk(field, rng))
        assert all(before != after for before, after in pairwise(cells))


def test_edits_keep_the_beginning_of_their_parent_and_go_back_to_its_way() -> None:
    demonstrator, rng = Demonstrator(), np.random.default_rng(3)
    kept, ended, foreign = [], [], []
    for number in range(300):
        field = field_of("hard", number % 3)
        parent = demonstrator.walk(field, rng)
        if len(parent) < 8:
            continue
        child, other = demonstrator.edit(field, parent, rng), demonstrator.walk(field, rng)
        kept.append(shared(child, parent))
        foreign.append(shared(other, parent))
        ended.append(trail(field.maze, child)[-1] == trail(field.maze, parent)[-1])
    # Where an edit begins is drawn evenly over the parent.
    assert np.mean(kept) > 0.45
    assert np.mean(kept) > 2 * np.mean(foreign)
    assert np.mean(ended) > 0.6


def shared(child: str, parent: str) -> float:
    same = [before == after for before, after in zip(child, parent, strict=False)]
    return (same.index(False) if False in same else len(same)) / len(parent)


def test_careful_walks_step_on_less_lava_than_careless_ones() -> None:
    burnt = []
    for careful in (0, 1):
        rng, counts = np.random.default_rng(4), []
        for number in range(200):
            field = field_of("hard", number % 3)
            only = Field(maze=field.maze, way=(field.way[careful],) * 2, distance=(field.distance[careful],) * 2)
            counts.append(walk(field.maze, Demonstrator().walk(only, rng)).lava)
        burnt.append(np.mean(counts))
    assert burnt[1] < burnt[0] / 2


def test_walks_repeat_with_the_generator_and_differ_without() -> None:
    walks = [Demonstrator().walk(field_of("hard"), np.random.default_rng(seed)) for seed in (*range(20), *range(20))]
    assert walks[:20] == walks[20:]
    assert len(set(walks)) > 10
