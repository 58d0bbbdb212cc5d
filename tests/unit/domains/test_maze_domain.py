import numpy as np
import pytest

from evolve.domains import Domain, MazeDomain, grade
from evolve.domains.maze import KINDS, Maze, Rules, brief, maze_of, read, read_brief
from evolve.errors import ConfigurationError

DOMAIN: Domain[Maze, str] = MazeDomain()
MAZE = read("maze 2x3, at most 4 moves, open rules\nS G E\n. D L")


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("<answer>UP UP RIGHT</answer>", "UUR"),
        ("<answer>up, Right, DOWN</answer>", "URD"),
        ("<answer>uurd</answer>", "UURD"),
        ("<answer>UURD END</answer>", "UURD"),
        ("<answer>UU END RR</answer>", "UU"),
        ("<answer>→ → ↓↓</answer>", "RRDD"),
        ("<answer>['RIGHT', 'DOWN']</answer>", "RD"),
        ("I go right first.\n<answer>DOWN</answer>", "D"),
        ("<think><answer>LEFT</answer></think><answer>DOWN</answer>", "D"),
        ("<answer>RIGHT RIGHT", "RR"),
        ("<route_1>RIGHT RIGHT</route_1>", "RR"),
        ("<route_1><answer>RIGHT</answer></route_1>", "R"),
        ("RIGHT RIGHT", "RR"),
        ("RRD", "RRD"),
        ("First I go Right, then down to the gold.", "RD"),
        ("<answer>UP-UP-RIGHT</answer>", "UUR"),
        ("<answer>UP_UP_RIGHT</answer>", "UUR"),
    ],
)
def test_one_walk_is_read_as_models_write_it(text: str, moves: str) -> None:
    assert DOMAIN.parse(text).answers == (moves,)


@pytest.mark.parametrize(
    "text",
    [
        "<route_1>RR</route_1><route_2>DRU</route_2>",
        "Well: <route_1>RR</route_1> and\n<route_2>DRU",
        "<route>RR</route><route>DRU</route>",
        "<answer>RR</answer><answer>DRU</answer>",
        "RR\n---\nDRU",
        "Two walks:\n---\nRR\n---\nDRU\n",
    ],
)
def test_several_walks_are_read_as_models_write_them(text: str) -> None:
    assert DOMAIN.parse(text, 2).answers == ("RR", "DRU")


@pytest.mark.parametrize(
    "text", ["", " \n", "<answer></answer>", "<answer>north</answer>", "no", "<think>UP", "<route_1>"]
)
def test_what_holds_no_move_is_a_zero_row_with_a_reason(text: str) -> None:
    grades = grade(DOMAIN, MAZE, text, 2)
    np.testing.assert_array_equal(grades.rewards, np.zeros((2, 4)))
    assert grades.reply.answers == (None, None)
    assert all(grades.reply.reasons)


def test_what_is_left_out_is_said() -> None:
    reply = DOMAIN.parse("<route_1>RIGHT 2 steps UP</route_1><route_2>U</route_2><route_3>D</route_3>", 2)
    assert reply.answers == ("RU", "U")
    assert reply.reasons == ("2 words that are not moves were ignored", "")
    assert reply.dropped == ("1 answer beyond the 2 asked for",)


def test_a_walk_cut_off_is_not_taken() -> None:
    reply = DOMAIN.parse("<route_1>RR</route_1><route_2>DR", 2, cut=True)
    assert reply.answers == ("RR", None)
    assert reply.dropped == ("1 answer cut off by the end of the completion",)


def test_a_chain_is_scored_row_by_row_and_a_walk_given_twice_counts_once() -> None:
    text = "<route_1>RIGHT RIGHT</route_1><route_2>rr</route_2><route_3>DRUR</route_3><route_4>?</route_4>"
    grades = grade(DOMAIN, MAZE, text, 5)
    np.testing.assert_allclose(grades.rewards, [[1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
    assert grades.reply.answers == ("RR", "RR", "DRUR", None, None)
    assert grades.reply.reasons[1] == "counts once with answer 1"
    assert [DOMAIN.scalar(row) for row in grades.rewards] == [0.75, 0, 1, 0, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [1, 3])
def test_the_prompt_holds_the_maze_and_asks_in_a_form_that_is_read(kind: str, m: int) -> None:
    maze = maze_of(kind, "validation", 0)
    prompt = DOMAIN.prompt(maze, m)
    assert read(prompt) == maze
    assert f"<route_{m}>" in prompt if m > 1 else "<answer>" in prompt
    assert DOMAIN.parse(prompt[prompt.rindex("such as") :], m).answers[0] == "UUR"


@pytest.mark.parametrize("kind", KINDS)
def test_the_task_holds_the_maze_in_short_on_a_line_of_its_own_and_asks_for_no_tags(kind: str) -> None:
    maze = maze_of(kind, "validation", 1)
    task = DOMAIN.task(maze)
    (line,) = [line for line in task.splitlines() if line.startswith("In short: ")]
    assert line == f"In short: {brief(maze)}"
    assert read_brief(line.removeprefix("In short: ")) == maze
    assert DOMAIN.prompt(maze).startswith(f"{task}\n\n")
    assert "<" not in task


def test_each_kind_of_rules_is_explained_differently() -> None:
    prompts = {
        DOMAIN.prompt(read(f"maze 1x2, at most 1 moves, {rules} rules\nS E")).partition("empty.")[2] for rules in Rules
    }
    assert len(prompts) == len(Rules)


@pytest.mark.parametrize("m", [0, -1])
def test_no_answers_cannot_be_asked_for(m: int) -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        DOMAIN.prompt(MAZE, m)
    with pytest.raises(ConfigurationError, match="at least 1"):
        DOMAIN.parse("RR", m)
