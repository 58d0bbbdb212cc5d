"""The oracle against every walk there is, and against walks that it names itself."""

from itertools import product

import numpy as np
import pytest

from evolve.domains.maze import KINDS, MOVES, Maze, best, front, maze_of, optimum, outcomes, read, reward, walk
from evolve.errors import ProblemError
from evolve.multiobjective.scalarization import Floats

TINY = [
    "maze 2x4, at most 6 moves, {rules} rules\nS L G E\n. # D B",
    "maze 3x3, at most 7 moves, {rules} rules\nG L D\nS . L\n# E G",
    "maze 3x3, at most 6 moves, {rules} rules\nL E L\nD S G\nL B L",
    "maze 1x3, at most 5 moves, {rules} rules\nS L E",
    "maze 2x2, at most 3 moves, {rules} rules\nS #\n# E",
]


def all_rewards(maze: Maze) -> set[tuple[float, ...]]:
    walks = ("".join(moves) for count in range(1, maze.limit + 1) for moves in product(MOVES, repeat=count))
    return {tuple(reward(maze, walk(maze, moves)).tolist()) for moves in walks}


def beaten(one: tuple[float, ...], by: tuple[float, ...]) -> bool:
    return one != by and all(mine <= theirs for mine, theirs in zip(one, by, strict=True))


def rows(rewards: Floats) -> set[tuple[float, ...]]:
    assert len({tuple(row) for row in rewards.tolist()}) == len(rewards)
    return {tuple(row) for row in rewards.tolist()}


@pytest.mark.parametrize("rules", ["open", "exit", "convex"])
@pytest.mark.parametrize("text", TINY)
def test_the_oracle_knows_every_outcome_and_no_other(text: str, rules: str) -> None:
    maze = read(text.format(rules=rules))
    true = all_rewards(maze)
    assert rows(outcomes(maze)) == true
    assert rows(front(maze)) == {one for one in true if not any(beaten(one, other) for other in true)}
    weights = np.random.default_rng(3).dirichlet(np.ones(4), size=5)
    np.testing.assert_allclose(optimum(maze, weights), [max(row @ w for row in map(np.array, true)) for w in weights])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(3))
def test_the_best_walk_earns_what_the_oracle_says(kind: str, number: int) -> None:
    maze = maze_of(kind, "validation", number)
    for weights in np.random.default_rng(number).dirichlet(np.ones(4), size=3):
        found = best(maze, weights)
        assert 1 <= len(found.moves) <= maze.limit
        np.testing.assert_array_equal(reward(maze, walk(maze, found.moves)), found.reward)
        assert found.value == pytest.approx(float(optimum(maze, weights)))
        assert found.value == pytest.approx(float(found.reward @ weights))


@pytest.mark.parametrize("kind", KINDS)
def test_no_walk_is_better_than_the_oracle_thinks(kind: str) -> None:
    rng = np.random.default_rng(11)
    maze = maze_of(kind, "validation", 5)
    known = rows(outcomes(maze))
    for _ in range(300):
        moves = "".join(rng.choice(list(MOVES), size=int(rng.integers(1, maze.limit + 1))))
        assert tuple(reward(maze, walk(maze, moves)).tolist()) in known


def test_changing_an_answer_of_the_oracle_changes_no_later_one() -> None:
    maze = maze_of("small", "validation", 1)
    outcomes(maze)[:] = 7
    best(maze, np.full(4, 0.25)).reward[:] = 7
    assert outcomes(maze).max() <= 1


def test_a_maze_too_full_to_be_solved_is_refused() -> None:
    with pytest.raises(ProblemError, match="cannot be solved exactly"):
        outcomes(Maze(height=5, width=5, limit=3, start=0, goal=1, gold=tuple(range(2, 19))))
