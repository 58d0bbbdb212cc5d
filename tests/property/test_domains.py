"""Whatever a policy writes is scored without an exception, and the mazes' oracle holds on mazes nobody chose."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.domains import Domain, Eureqa, LiveCodeBench, MazeDomain, Musique, ToolRL, eureqa, grade
from evolve.domains import livecodebench as lcb
from evolve.domains import musique as mq
from evolve.domains import toolrl as tr
from evolve.domains.maze import MOVES, Maze, Rules, front, maze_of, outcomes, read, render, reward, walk


def judge(question: lcb.CodingTask, program: str) -> Sequence[float]:
    return [len(program) % 2 for _ in question.tests]


ASKED: dict[str, tuple[Domain[Any, Any], Any]] = {
    "maze": (MazeDomain(), maze_of("small", "validation", 0)),
    "musique": (
        Musique(),
        mq.MusiqueQuestion(text="?", paragraphs=(("a", "b"), ("c", "d")), support=(1, 0), answer="x y", aliases=("1",)),
    ),
    "eureqa": (Eureqa(), eureqa.EureqaQuestion(narrative="", masks=("m",) * 5, entities=("x", "y", "1", "UP", "!"))),
    "toolrl": (ToolRL(), tr.ToolTask(user="?", calls=(tr.ToolCall(name="f", arguments={"x": 1, "y": ["a"]}),))),
    "livecodebench": (LiveCodeBench(judge=judge), lcb.CodingTask(statement="", tests=(lcb.Test(input="", output=""),))),
}
PIECES = [
    "<route_1>", "</route_1>", "<route_", "<response_1>", "</response_1>", "<response_2>", "<response>", "</response>",
    "<answer>", "</answer>", "<support>", "</support>", "<think>", "</think>", "<tool_call>", "</tool_call>",
    "<entity_A>", "</entity_A>", "<ENTITY_E>", "<", ">", "UP", "down ", "END", "→", "0", "1, 2", "x y", "the", "\n",
    "---\n", "```python\n", "```\n", '{"name": "f", "parameters": {"x": 1}}',
    '{"name": "f", "parameters": {"y": [[]], "x": NaN}}', '{"name"',
    "[", "]", "{", "}", "[" * 2000, "9" * 5000, "\x00", "\ud800", "İ", "ſ",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30).map("".join)


@pytest.mark.parametrize("name", ASKED)
@given(TEXTS, st.integers(1, 4), st.booleans())
def test_any_completion_is_scored(name: str, text: str, m: int, cut: bool) -> None:
    domain, question = ASKED[name]
    grades = grade(domain, question, text, m, cut)
    assert grades.rewards.shape == (m, len(domain.objectives(question)))
    assert np.all((grades.rewards >= 0) & (grades.rewards <= 1))
    assert len(grades.reply.answers) == len(grades.reply.reasons) == m
    for answer, reason, row in zip(grades.reply.answers, grades.reply.reasons, grades.rewards, strict=True):
        if answer is None:
            assert reason
            assert not row.any()
        assert 0 <= domain.scalar(row) <= 1
    assert all(len(reason) < 200 for reason in grades.reply.dropped)


@st.composite
def tiny_mazes(draw: st.DrawFn) -> Maze:
    height, width = draw(st.integers(1, 3)), draw(st.integers(2, 3))
    count = height * width
    cells = draw(st.permutations(range(count)))
    kinds = draw(st.lists(st.sampled_from(["walls", "gold", "diamonds", "lava", "bonus", ""]), max_size=count - 2))
    things = {
        kind: tuple(cell for cell, found in zip(cells[2:], kinds, strict=False) if found == kind)
        for kind in ("walls", "gold", "diamonds", "lava", "bonus")
    }
    return Maze(
        height=height,
        width=width,
        limit=draw(st.integers(1, 5)),
        start=cells[0],
        goal=cells[1],
        rules=draw(st.sampled_from(Rules)),
        **things,
    )


@given(tiny_mazes())
def test_a_maze_survives_its_text(maze: Maze) -> None:
    assert read(render(maze)) == maze
    assert read(MazeDomain().prompt(maze, 2)) == maze


@settings(max_examples=25, deadline=None)
@given(tiny_mazes())
def test_the_oracle_finds_what_all_walks_find(maze: Maze) -> None:
    walks = ("".join(moves) for count in range(1, maze.limit + 1) for moves in product(MOVES, repeat=count))
    true = {tuple(reward(maze, walk(maze, moves)).tolist()) for moves in walks}
    assert {tuple(row) for row in outcomes(maze).tolist()} == true
    best = {tuple(row) for row in front(maze).tolist()}
    assert all(any(all(a <= b for a, b in zip(one, other, strict=True)) for other in best) for one in true)
    assert not any(
        one != other and all(a <= b for a, b in zip(one, other, strict=True)) for one in best for other in best
    )
