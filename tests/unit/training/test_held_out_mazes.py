"""The mazes of the evaluation gate follow the job, and are those that neither version was trained on."""

from typing import Any

import numpy as np
import pytest

from evolve.domains.maze import KINDS, Maze, kind_of, maze_of, mazes, render
from service.errors import UsageError
from service.trainer.held_out_mazes import describe_held_out, held_out_kinds, held_out_mazes, maze_name

ODD = Maze(height=3, width=3, limit=5, start=0, goal=8)


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_maze_is_of_the_kind_that_it_was_drawn_from(kind: str) -> None:
    assert {kind_of(KINDS[kind](np.random.default_rng(seed))) for seed in range(20)} == {kind}
    assert kind_of(ODD) == ""


@pytest.mark.parametrize(
    ("request_", "learnt", "kinds"),
    [
        ({}, (), ("small", "hard")),
        ({"kinds": ["hard"]}, (), ("hard",)),
        ({"kinds": ["small"]}, mazes("hard", "questions", 2), ("hard",)),
        ({}, (*mazes("nine", "questions", 1), *mazes("small", "questions", 1)), ("small", "nine")),
        ({"test_kinds": ["small", "small"]}, mazes("hard", "questions", 1), ("small",)),
        ({"test_kinds": ["small"]}, (ODD,), ("small",)),
    ],
)
def test_the_kinds_are_those_asked_for_else_of_the_runs_else_trained_on(
    request_: dict[str, Any], learnt: tuple[Maze, ...], kinds: tuple[str, ...]
) -> None:
    assert held_out_kinds({"test_problems": 8, **request_}, learnt) == kinds


def test_mazes_of_no_kind_need_an_evaluation_set_or_no_evaluation() -> None:
    with pytest.raises(UsageError, match="name test_kinds"):
        held_out_kinds({"test_problems": 8}, (ODD,))
    assert held_out_kinds({"test_problems": 0}, (ODD,)) == ()
    with pytest.raises(UsageError, match="no 'huge' mazes"):
        held_out_kinds({"test_kinds": ["huge"]}, ())


def test_each_kind_has_its_share_and_no_maze_was_seen() -> None:
    assert held_out_mazes(["small", "hard"], 5, ()) == [*mazes("small", "test", 3), *mazes("hard", "test", 2)]
    seen = {maze_name(render(maze_of("hard", "test", number))) for number in (0, 2)}
    expected = [maze_of("hard", "test", number) for number in (1, 3, 4)]
    assert held_out_mazes(["hard"], 3, seen) == expected


def test_a_card_names_the_evaluation() -> None:
    assert "on 64 mazes of the split `test`, kinds: small, hard." in describe_held_out(["small", "hard"], 64)
    assert describe_held_out((), 0) == "The job asked for no evaluation."
