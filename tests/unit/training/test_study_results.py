"""Figures of answers and searches, worked out by hand."""

import numpy as np
import pytest

from evolve.domains.maze import best, maze_of
from training.measures import EQUAL, measure
from training.study.results import (
    MethodTable,
    common,
    figures,
    reached,
    stacked,
    tokens_for_an_answer,
    tokens_in_search,
    volumes,
)
from training.study.sampling import Answers
from training.study.searching import Paths

MAZE = maze_of("small", "validation", 0)
REWARDS = np.array([[1.0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1]]) * 0.5
SCORES = [0.25, 0.125, 0.125, 0.5]


def test_figures_are_those_of_measure() -> None:
    found = figures(MAZE, REWARDS, 1, (1, 2, 4), {})
    assert found == measure(MAZE, REWARDS, (1, 2, 4))
    assert found["best@1"] == pytest.approx(np.mean(SCORES))
    assert found["best@4"] == 0.5


def test_whole_chains_count_by_their_best() -> None:
    found = figures(MAZE, REWARDS, 2, (1, 2, 4), {})
    assert found["chain-best@2"] == pytest.approx((0.25 + 0.5) / 2)
    assert found["chain-best@4"] == 0.5
    assert found["chain-ew@4"] == pytest.approx(found["ew@4"])
    assert "chain-best@1" not in found
    assert not [name for name in figures(MAZE, REWARDS, 1, (1, 2, 4), {}) if name.startswith("chain")]


def test_a_chain_solves_if_one_of_its_answers_does() -> None:
    rewards = REWARDS.copy()
    rewards[1] = best(MAZE, EQUAL).reward
    found = figures(MAZE, rewards, 2, (2, 4), {})
    assert (found["chain-solved@2"], found["chain-solved@4"]) == (0.5, 1.0)
    assert found["solved@2"] == pytest.approx(0.5)
    assert found["solved@4"] == 1.0


def test_equal_tokens_lie_between_whole_numbers_of_answers() -> None:
    found = figures(MAZE, REWARDS, 1, (1, 2, 4), {1: 0.5, 2: 1.0, 4: 2.25})
    assert "tokens-best@1" not in found
    assert found["tokens-best@2"] == found["best@1"]
    two, three = (measure(MAZE, REWARDS, (k,))[f"best@{k}"] for k in (2, 3))
    assert found["tokens-best@4"] == pytest.approx(0.75 * two + 0.25 * three)


def test_the_method_that_writes_shortest_has_all_its_answers() -> None:
    found = figures(MAZE, REWARDS, 1, (4,), {4: 4.0})
    assert found["tokens-best@4"] == found["best@4"]


def test_tokens_are_counted_for_the_answers_looked_at() -> None:
    none = np.zeros((2, 4), dtype=np.bool_)
    answers = Answers(rewards=np.zeros((2, 4, 4)), missing=none, repeats=none, tokens=np.array([[4, 100], [8, 100]]))
    assert tokens_for_an_answer(answers, 2) == 3.0


def paths() -> Paths:
    """Two searches: the first solves with its third evaluation, the second ends after two."""
    return Paths(
        best=np.array([[0.1, 0.2, 0.8, 0.8], [0.1, 0.5, np.nan, np.nan]]),
        answers=np.array([[0.0, 1, 3, 4], [0, 4, np.nan, np.nan]]),
        tokens=np.array([[0.0, 10, 30, 40], [0, 20, np.nan, np.nan]]),
        scores=np.array(
            [
                [[0.1] * 4, [0.2] * 4, [0.8] * 4, [0.0] * 4],
                [[0.1, 0.1, 0.1, 0.1], [0.5, 0.5, 0.5, 1.0], [np.nan] * 4, [np.nan] * 4],
            ]
        ),
        optimum=np.array([0.8, 0.6]),
    )


def test_budgets_look_at_beginnings_of_searches() -> None:
    found = reached(paths(), [2, 3, 4], rate=10.0)
    assert found["best@2"].tolist() == [0.2, 0.5]
    assert found["best@4"].tolist() == [0.8, 0.5]
    assert [found[f"solved@{b}"].tolist() for b in (2, 3)] == [[0, 0], [1, 0]]
    assert [found[f"answers-solved@{b}"].tolist() for b in (2, 3)] == [[0, 0], [1, 0]]
    assert [found[f"tokens-solved@{b}"].tolist() for b in (2, 3)] == [[0, 0], [1, 0]]
    assert found["ended"].tolist() == [0, 1]


def test_hypervolume_is_that_of_what_was_evaluated_within_a_budget() -> None:
    found = volumes(paths(), [1, 2, 4])
    assert found["volume@1"] == pytest.approx([0.1**4, 0.1**4])
    assert found["volume@2"] == pytest.approx([0.2**4, 0.5**3])
    assert found["volume@4"] == pytest.approx([0.8**4, 0.5**3])


def test_tokens_of_searches_are_those_of_all_answers() -> None:
    assert tokens_in_search(paths()) == (40 + 20) / (4 + 4)


def test_several_searches_of_a_training_seed_are_its_mean() -> None:
    found = stacked(
        {1: [{"solved": np.array([1.0, 0])}, {"solved": np.array([0.0, 0])}], 0: [{"solved": np.array([1.0, 1])}]},
        tokens=3.0,
        temperature=1.0,
    )
    assert found.seeds == (0, 1)
    assert found.tables["solved"].tolist() == [[1, 1], [0.5, 0]]
    other = MethodTable(seeds=(1, 5), tables={}, tokens=0.0, temperature=1.0)
    assert common(found, other) == (1,)
    assert found.rows("solved", [1]).tolist() == [[0.5, 0]]
