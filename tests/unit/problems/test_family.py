"""Families of problems: numbered questions of a domain, and folders of problems."""

import tomllib
from pathlib import Path

import pytest

from evolve.domains.maze import maze_of, render
from service.errors import NotFoundError, UsageError
from service.problems.family import read_family
from service.problems.load import load_problem

NUMBERED = """\
schema = 1
name = "maze"
[domain]
name = "maze"
kind = "hard"
split = "questions"
number = 5
[search.budget]
evaluations = 9
"""


def problem(folder: Path, text: str = NUMBERED) -> Path:
    folder.mkdir(parents=True)
    (folder / "problem.toml").write_text(text)
    return folder


def test_a_numbered_problem_gives_the_following_questions(tmp_path: Path) -> None:
    family = read_family(problem(tmp_path / "family"))
    written = [family.write(place, tmp_path) for place in range(2)]
    assert [folder.name for folder in written] == ["maze-5", "maze-6"]
    loaded = load_problem(written[1])
    assert render(maze_of("hard", "questions", 6)) in loaded.problem.description
    assert loaded.search["budget"] == {"evaluations": 9}
    assert tomllib.loads((tmp_path / "family" / "problem.toml").read_text())["domain"]["number"] == 5


def test_a_folder_of_problems_gives_them_in_order_and_again(tmp_path: Path) -> None:
    folders = [problem(tmp_path / "family" / name) for name in ("b", "a")]
    (tmp_path / "family" / "notes").mkdir()
    family = read_family(tmp_path / "family")
    assert [family.write(place, tmp_path) for place in range(3)] == [folders[1], folders[0], folders[1]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schema = 1\n", "is a single problem"),
        ("[domain]\nname = 'maze'\nfile = 'maze.txt'\n", "is a single problem"),
        ("not toml", "cannot be read"),
    ],
)
def test_other_problems_are_no_family(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_family(problem(tmp_path / "family", text))


def test_a_folder_without_problems_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no problem"):
        read_family(tmp_path)
    with pytest.raises(NotFoundError, match="there is no folder"):
        read_family(tmp_path / "absent")
