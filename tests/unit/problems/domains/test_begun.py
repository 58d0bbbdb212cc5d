"""Problems begun from a question of a domain."""

import json
from pathlib import Path

import pytest

from evolve.domains.maze import brief, maze_of
from service.errors import ConflictError, InvalidProblemError, UsageError
from service.problems.domains.init import init_domain
from service.problems.load import load_problem
from tests.unit.problems.domains.samples import CALLING, ROWS, problem_toml
from tests.unit.problems.folders import write


def test_a_problem_begun_from_a_maze_can_be_read(tmp_path: Path) -> None:
    (written,) = init_domain(tmp_path / "walk", "maze", None, 4)
    loaded = load_problem(tmp_path / "walk")
    assert written.name == "problem.toml"
    assert loaded.problem.name == "walk"
    assert brief(maze_of("hard", "questions", 4)) in loaded.problem.description
    assert loaded.search == {"evaluations": 256}


@pytest.mark.parametrize("name", ROWS)
def test_one_row_is_taken_out_of_a_data_set(tmp_path: Path, name: str) -> None:
    rows = [{"id": 0}, {**ROWS[name], "contest_date": "2025-01-01", "extra": "x" * 1000}]
    data = write(tmp_path, {"data.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}) / "data.jsonl"
    init_domain(tmp_path / "one", name, data, 1)
    alone = write(tmp_path / "two", {"problem.toml": problem_toml(name), "question.json": json.dumps(ROWS[name])})
    begun, whole = load_problem(tmp_path / "one").problem, load_problem(alone).problem
    assert (begun.description, begun.objectives, begun.seeds) == (whole.description, whole.objectives, whole.seeds)
    assert "extra" not in (tmp_path / "one" / "question.json").read_text()


@pytest.mark.parametrize(
    ("domain", "data", "number", "error", "said"),
    [
        ("chess", None, None, UsageError, "--domain 'chess' is not a domain: choose maze, musique"),
        ("maze", "data.json", None, UsageError, "the mazes are fixed: leave --data out"),
        ("musique", None, 0, UsageError, "--domain musique --data FILE --number N"),
        ("musique", "nowhere.jsonl", 0, InvalidProblemError, "cannot be read: No such file"),
        ("musique", "data.json", None, InvalidProblemError, "paragraphs should be a list of objects"),
        ("livecodebench", "data.json", 3, InvalidProblemError, "leave domain.number out"),
    ],
)
def test_what_cannot_be_begun_leaves_no_folder(
    tmp_path: Path, domain: str, data: str | None, number: int | None, error: type[Exception], said: str
) -> None:
    write(tmp_path, {"data.json": json.dumps(CALLING)})
    with pytest.raises(error, match=said):
        init_domain(tmp_path / "new", domain, tmp_path / data if data else None, number)
    assert not (tmp_path / "new").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(ConflictError, match="is not empty"):
        init_domain(write(tmp_path, {"mine": "1"}), "maze", None, None)
