import hashlib
from itertools import product

import numpy as np
import pytest

from evolve.domains.maze import KINDS, SPLITS, Maze, front, hard, maze_of, mazes, nine, optimum, render, small
from evolve.errors import ProblemError


def quadrant(cell: int, side: int) -> tuple[bool, bool]:
    return cell // side >= side // 2, cell % side >= side // 2


def drawn(kind: str, count: int = 20) -> tuple[Maze, ...]:
    return mazes(kind, "validation", count)


@pytest.mark.parametrize("kind", KINDS)
def test_all_of_a_maze_can_be_reached(kind: str) -> None:
    assert all(maze.connected for maze in drawn(kind))


def test_small_mazes_keep_start_exit_and_treasures_apart() -> None:
    for maze in drawn("small"):
        assert (maze.height, maze.width, maze.limit) == (6, 6, 10)
        assert (len(maze.gold), len(maze.diamonds), len(maze.lava), len(maze.walls)) == (3, 3, 5, 4)
        homes = [{quadrant(cell, 6) for cell in cells} for cells in ((maze.start,), (maze.goal,), maze.gold)]
        assert set().union(*homes, {quadrant(cell, 6) for cell in maze.diamonds}) == set(
            product((False, True), repeat=2)
        )
        in_gold, in_diamonds = (
            sum(quadrant(cell, 6) == quadrant(cells[0], 6) for cell in maze.lava)
            for cells in (maze.gold, maze.diamonds)
        )
        assert max(in_gold, in_diamonds) >= 3
        assert min(in_gold, in_diamonds) >= 1


def test_hard_mazes_hold_more_than_fits_into_their_moves() -> None:
    for maze in drawn("hard"):
        assert (maze.height, maze.width, maze.limit) == (8, 8, 24)
        assert (len(maze.gold), len(maze.diamonds), len(maze.lava), len(maze.walls)) == (7, 7, 7, 8)
        homes = [{quadrant(cell, 8) for cell in cells} for cells in (maze.gold, maze.diamonds)]
        assert [len(home) for home in homes] == [2, 2]
        assert not homes[0] & homes[1]
    values = [float(optimum(maze, np.full(4, 0.25))) for maze in drawn("hard")]
    assert np.mean(values) < 0.95
    assert np.mean([len(front(maze)) for maze in drawn("hard")]) > 5


def test_published_mazes_keep_the_published_constraints() -> None:
    for maze in drawn("nine"):
        corners = {0, 8, 72, 80}
        assert {maze.start, maze.goal} < corners
        assert maze.start + maze.goal == 80
        assert maze.bonus == (40,)
        assert all(3 <= len(cells) <= 5 for cells in (maze.gold, maze.diamonds, maze.lava))
        homes = [
            {corner for corner in corners - {maze.start, maze.goal} if all(near(cell, corner) for cell in cells)}
            for cells in (maze.gold, maze.diamonds)
        ]
        assert sorted(map(len, homes)) == [1, 1]
        assert not homes[0] & homes[1]
        assert all(2 <= cell // 9 <= 6 and 2 <= cell % 9 <= 6 for cell in maze.lava)
        # Without a step onto lava the exit can be reached within the limit.
        assert any(reached == 1 and safe == 1 for reached, _, _, safe in front(maze))


def near(cell: int, corner: int) -> bool:
    return abs(cell // 9 - corner // 9) + abs(cell % 9 - corner % 9) <= 2


@pytest.mark.parametrize(("kind", "draw"), [("small", small), ("hard", hard), ("nine", nine)])
def test_equal_generators_draw_equal_mazes(kind: str, draw: object) -> None:
    assert KINDS[kind] is draw
    assert KINDS[kind](np.random.default_rng(5)) == KINDS[kind](np.random.default_rng(5))


@pytest.mark.parametrize("kind", KINDS)
def test_no_maze_is_in_two_splits(kind: str) -> None:
    drawn = [maze for split in SPLITS for maze in mazes(kind, split, 100)]
    assert len(set(drawn)) == len(drawn)


def test_a_maze_does_not_depend_on_how_many_are_asked_for() -> None:
    assert mazes("small", "test", 5)[3] == maze_of("small", "test", 3)


@pytest.mark.parametrize(
    ("kind", "digest"),
    [
        ("small", "48775b74b6d95b8e"),
        ("hard", "cb5890b9a5ba0d94"),
        ("nine", "2d67cad0a4616d07"),
    ],
)
def test_the_fixed_mazes_stay_as_they_were_first_drawn(kind: str, digest: str) -> None:
    text = "\n".join(render(maze) for split in SPLITS for maze in mazes(kind, split, 10))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize("wrong", [("tiny", "test", 0), ("small", "exam", 0), ("small", "test", -1)])
def test_mazes_that_do_not_exist_are_refused(wrong: tuple[str, str, int]) -> None:
    with pytest.raises(ProblemError, match="mazes"):
        maze_of(*wrong)
