"""The maze in few words: read back as it was, and its walks as they were."""

import pytest

from evolve.domains.maze import MOVES, MazeDomain, brief, maze_of, read_brief, steps, walk
from evolve.domains.maze.words import is_step, moves_of
from evolve.errors import ProblemError

KINDS = ("small", "hard", "nine")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(5))
def test_a_maze_in_short_is_read_back_as_it_was(kind: str, number: int) -> None:
    maze = maze_of(kind, "train", number)
    assert "\n" not in brief(maze)
    assert read_brief(brief(maze)) == maze


def test_every_step_names_the_cell_it_leads_to() -> None:
    maze = maze_of("small", "train", 0)
    words = steps(maze, "UUDLRRDL")
    assert moves_of(words) == "UUDLRRDL"
    assert all(is_step(word) for word in words)
    cells = [(int(word[2:]) - 1) * maze.width + ord(word[1]) - ord("a") for word in words]
    assert cells == [maze.steps[before][MOVES.index(word[0])] for before, word in zip([maze.start, *cells], words)]  # noqa: B905 - the last cell leads nowhere


def test_a_policy_may_write_moves_with_their_cells() -> None:
    maze = maze_of("hard", "train", 1)
    moves = "RRDDLLUURD"
    said = "<route_1> " + " ".join(steps(maze, moves)) + " </route_1> <route_2> Ra9 then Db3 </route_2>"
    reply = MazeDomain().parse(said, m=2)
    assert reply.answers == (moves, "RD")
    assert reply.reasons[1] == "1 words that are not moves were ignored"
    assert walk(maze, moves) == walk(maze, str(reply.answers[0]))


@pytest.mark.parametrize("word", ["R", "c4", "rc4", "Rc", "Rc444", "Xc4", "Up", "", "Rc4 "])
def test_other_words_are_no_steps(word: str) -> None:
    assert not is_step(word)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "begins with its size"),
        ("8x8 24", "begins with its size"),
        ("8x8 many open S:a1 E:b2", "begins with its size"),
        ("8x8 24 closed S:a1 E:b2", "begins with its size"),
        ("8x8 24 open S:a1", "one S:cell and one E:cell"),
        ("8x8 24 open S:a1 G:a2", "one S:cell and one E:cell"),
        ("8x8 24 open S:a1 S:b1 E:b2", "one S:cell and one E:cell"),
        ("8x8 24 open X:c3 S:a1 E:b2", "one S:cell and one E:cell"),
        ("8x8 24 open c3 S:a1 E:b2", "not a cell"),
        ("8x8 24 open S:a1 E:i2", "not a cell"),
        ("8x8 24 open S:a1 E:a9", "not a cell"),
        ("8x8 24 open S:a0 E:a2", "not a cell"),
        ("8x8 24 open S:a1 E:b2 G:a1", "two things"),
        ("99x8 24 open S:a1 E:b2", "sides of 1 to 32"),
    ],
)
def test_what_is_no_maze_is_refused_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        read_brief(text)
