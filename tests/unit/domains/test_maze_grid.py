import numpy as np
import pytest

from evolve.domains.maze import Maze, Rules, Walk, read, render, reward, walk
from evolve.errors import ProblemError

CORRIDOR = """maze 2x4, at most 6 moves, {rules} rules
S L G E
. # D B"""


def corridor(rules: str = "open") -> Maze:
    return read(CORRIDOR.format(rules=rules))


def test_a_maze_is_read_as_it_is_drawn() -> None:
    maze = corridor()
    assert (maze.height, maze.width, maze.limit, maze.rules) == (2, 4, 6, Rules.OPEN)
    assert (maze.start, maze.goal) == (0, 3)
    assert (maze.walls, maze.gold, maze.diamonds, maze.lava, maze.bonus) == ((5,), (2,), (6,), (1,), (7,))
    assert render(maze) == CORRIDOR.format(rules="open")


def test_a_maze_is_found_inside_of_a_text() -> None:
    assert read(f"Hello\n{render(corridor())}\n\nGood luck\n. # S") == corridor()


@pytest.mark.parametrize(
    ("moves", "walked"),
    [
        ("RRR", Walk(end=3, steps=3, reached=True, gold=1, diamonds=0, lava=1, bonus=0)),
        ("RRDR", Walk(end=7, steps=4, reached=False, gold=1, diamonds=1, lava=1, bonus=1)),
        ("RRDRU", Walk(end=3, steps=5, reached=True, gold=1, diamonds=1, lava=1, bonus=1)),
        ("RLRLRL", Walk(end=0, steps=6, reached=False, gold=0, diamonds=0, lava=3, bonus=0)),
        ("ULDR", Walk(end=4, steps=4, reached=False, gold=0, diamonds=0, lava=0, bonus=0)),
        ("RD", Walk(end=1, steps=2, reached=False, gold=0, diamonds=0, lava=1, bonus=0)),
        ("UUUUUURRR", Walk(end=0, steps=6, reached=False, gold=0, diamonds=0, lava=0, bonus=0)),
        ("RRRL", Walk(end=2, steps=4, reached=False, gold=1, diamonds=0, lava=1, bonus=0)),
        ("", Walk(end=0, steps=0, reached=False, gold=0, diamonds=0, lava=0, bonus=0)),
    ],
)
def test_open_walks_end_where_their_moves_do(moves: str, walked: Walk) -> None:
    assert walk(corridor(), moves) == walked


@pytest.mark.parametrize(
    ("moves", "walked"),
    [
        ("RRRL", Walk(end=3, steps=3, reached=True, gold=1, diamonds=0, lava=1, bonus=0)),
        ("RLRLR", Walk(end=1, steps=5, reached=False, gold=0, diamonds=0, lava=1, bonus=0)),
    ],
)
def test_the_exit_ends_a_walk_and_lava_counts_by_cell(moves: str, walked: Walk) -> None:
    assert walk(corridor("exit"), moves) == walked


@pytest.mark.parametrize(
    ("rules", "moves", "vector"),
    [
        ("open", "RRR", [1, 1, 0, 2 / 3]),
        ("open", "RLRLRL", [0, 0, 0, 0]),
        ("open", "D", [0, 0, 0, 1]),
        ("exit", "RRR", [1, 1, 0, 0]),
        ("exit", "RRD", [0, 0, 0, 0]),
        ("convex", "RRDRU", [1, 1, 1, 0]),
    ],
)
def test_rewards_follow_the_rules(rules: str, moves: str, vector: list[float]) -> None:
    maze = corridor(rules)
    np.testing.assert_allclose(reward(maze, walk(maze, moves)), vector)


@pytest.mark.parametrize(
    ("moves", "vector"),
    [
        ("RR", [1, 0.25, 0, 1]),
        ("RDURR", [1, 1.5 * 0.25, 0, 1]),
    ],
)
def test_convex_rewards_square_shares_and_the_bonus_lifts_them(moves: str, vector: list[float]) -> None:
    maze = read("maze 2x4, at most 9 moves, convex rules\nS G E L\n. B G L")
    np.testing.assert_allclose(reward(maze, walk(maze, moves)), vector)


def test_what_a_maze_does_not_hold_cannot_be_found_and_need_not_be_avoided() -> None:
    maze = read("maze 1x2, at most 1 moves, exit rules\nS E")
    np.testing.assert_array_equal(reward(maze, walk(maze, "R")), [1, 0, 0, 1])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "maze",
        "maze 2x4, at most 6 moves, open rules",
        "maze 2x4, at most 6 moves, open rules\nS . . E",
        "maze 2x2, at most 6 moves, open rules\nS .\nE . .",
        "maze 2x2, at most 6 moves, open rules\nS S\nE .",
        "maze 2x2, at most 6 moves, open rules\nS .\n. .",
        "maze 2x2, at most 6 moves, open rules\nS x\n. E",
        "maze 2x2, at most 0 moves, open rules\nS .\n. E",
        "maze 2x2, at most 99999 moves, open rules\nS .\n. E",
        "maze 0x2, at most 6 moves, open rules\n",
        "maze 999x1, at most 6 moves, open rules\n" + "S\n" * 999,
        "maze 2x2, at most 6 moves, odd rules\nS .\n. E",
    ],
)
def test_what_is_no_maze_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(ProblemError, match="maze"):
        read(text)


@pytest.mark.parametrize(
    "cells", [{"gold": (1,), "lava": (1,)}, {"gold": (0,)}, {"walls": (9,)}, {"diamonds": (-1,)}, {"goal": 0}]
)
def test_things_neither_share_a_cell_nor_lie_outside(cells: dict[str, object]) -> None:
    with pytest.raises(ProblemError, match=r"cell"):
        Maze(**{"height": 2, "width": 2, "limit": 3, "start": 0, "goal": 3, **cells})  # type: ignore[arg-type]  # wrong values on purpose
