"""What answers to a maze are measured at, against all subsets of them and all walks of a maze."""

from itertools import combinations, product

import numpy as np
import pytest

from evolve.domains.maze import MOVES, Maze, maze_of, reward, walk
from evolve.multiobjective.scalarization import Floats
from training.measures import DIVERSE, KS, mean_of, measure, weights

# S G .
# L D E
MAZE = Maze(height=2, width=3, limit=4, start=0, goal=5, gold=(1,), diamonds=(4,), lava=(3,))
WALKS = ("R", "D", "RDR", "DR", "RRD", "RRDL", "U")


def vectors(*walks: str) -> Floats:
    return np.stack([reward(MAZE, walk(MAZE, moves)) for moves in walks])


def every_vector() -> Floats:
    return vectors(*("".join(moves) for length in range(1, 5) for moves in product(MOVES, repeat=length)))


@pytest.mark.parametrize("k", [1, 2, 4])
def test_figures_are_means_over_all_subsets(k: int) -> None:
    rewards, drawn = vectors(*WALKS), weights()
    figures = measure(MAZE, rewards)
    sets = [list(chosen) for chosen in combinations(range(len(WALKS)), k)]
    best = every_vector().mean(axis=1).max()
    oracle = (drawn @ every_vector().T).max(axis=1).mean()
    assert figures[f"best@{k}"] == pytest.approx(np.mean([rewards[one].mean(axis=1).max() for one in sets]))
    solved = [bool((rewards[one].mean(axis=1) >= best - 1e-12).any()) for one in sets]
    assert 0 < sum(solved) < len(sets)
    assert figures[f"solved@{k}"] == pytest.approx(np.mean(solved))
    expected = np.mean([(drawn @ rewards[one].T).max(axis=1).mean() for one in sets]) / oracle
    assert figures[f"ew@{k}"] == pytest.approx(expected)


def test_diversity_is_the_mean_distance_of_the_first_answers() -> None:
    rewards = np.tile(vectors(*WALKS), (8, 1))[: DIVERSE + 9]
    distances = [float(np.linalg.norm(one - other)) for one, other in combinations(rewards[:DIVERSE], 2)]
    assert measure(MAZE, rewards)["diversity"] == pytest.approx(np.mean(distances))


def test_volume_is_that_of_the_union_of_boxes() -> None:
    rewards = vectors(*WALKS)
    # Inclusion and exclusion: boxes that begin at 0 meet in the box of their least corners.
    exact = sum(
        (-1) ** (size + 1) * float(np.prod(rewards[list(chosen)].min(axis=0)))
        for size in range(1, len(rewards) + 1)
        for chosen in combinations(range(len(rewards)), size)
    )
    assert measure(MAZE, rewards)["volume"] == pytest.approx(exact, abs=0.02)


def test_sizes_above_the_number_of_answers_are_left_out() -> None:
    figures = measure(MAZE, vectors(*WALKS))
    assert {name for name in figures if name.startswith("best@")} == {"best@1", "best@2", "best@4"}
    full = measure(maze_of("small", "validation", 0), np.zeros((64, 4)))
    assert {f"{name}@{k}" for name in ("best", "solved", "ew") for k in KS} <= set(full)


def test_nothing_is_solved_by_what_is_not_the_optimum_of_its_maze() -> None:
    figures = measure(MAZE, vectors("R", "D", "DR"))
    assert [figures["solved@1"], figures["solved@2"]] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert measure(MAZE, vectors("RDR", "RDR"))["solved@2"] == 1.0
    assert measure(MAZE, vectors("RDR", "RDR"))["ew@1"] == pytest.approx(1.0)


def test_weights_are_spread_over_the_simplex_and_always_the_same() -> None:
    drawn = weights()
    assert drawn.shape == (128, 4)
    assert (drawn == weights()).all()
    assert (drawn >= 0).all()
    assert drawn.sum(axis=1) == pytest.approx(np.ones(128))
    assert drawn.mean(axis=0) == pytest.approx(np.full(4, 0.25), abs=0.02)


def test_the_mean_over_mazes_is_taken_figure_by_figure() -> None:
    assert mean_of([{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 0.0}]) == {"a": 2.0, "b": 1.0}
    assert mean_of([]) == {}
