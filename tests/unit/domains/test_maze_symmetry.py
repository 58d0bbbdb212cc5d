"""Symmetric forms of a maze have the same outcomes, but for gold and diamonds where these are swapped."""

import numpy as np
import pytest

from evolve.domains.maze import FORMS, KINDS, kind_of, maze_of, outcomes, render, symmetric_form
from evolve.domains.maze.reward import OBJECTIVES

SWAPPED = [OBJECTIVES.index(name) for name in ("completion", "diamond", "gold", "avoid_lava")]


@pytest.mark.parametrize("form", range(FORMS))
@pytest.mark.parametrize("kind", ["small", "nine"])
def test_a_form_has_the_outcomes_of_its_maze(kind: str, form: int) -> None:
    maze = maze_of(kind, "validation", 1)
    found = outcomes(symmetric_form(maze, form))
    expected = outcomes(maze)[:, SWAPPED] if form & 8 else outcomes(maze)
    np.testing.assert_allclose(np.unique(found, axis=0), np.unique(expected, axis=0))


def test_all_forms_differ_and_are_of_the_kind_of_their_maze() -> None:
    for kind in KINDS:
        maze = maze_of(kind, "validation", 0)
        forms = [symmetric_form(maze, form) for form in range(FORMS)]
        assert forms[0] == maze
        assert len({render(form) for form in forms}) == FORMS
        assert {kind_of(form) for form in forms} == {kind}
