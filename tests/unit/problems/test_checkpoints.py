"""Checkpoints of OpenEvolve and SkyDiscover, and results of ShinkaEvolve: what is read, and how broken ones end."""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from service.errors import InvalidProblemError
from service.problems import checkpoints
from service.problems.checkpoints import read_checkpoint
from tests.unit.problems.checkpoints import code, openevolve, shinka
from tests.unit.problems.folders import write

LINE: list[dict[str, Any]] = [
    {"id": "a", "code": code(1), "parent_id": None, "generation": 0, "metrics": {"combined_score": 1.0, "note": "x"}},
    {"id": "b", "code": code(2), "parent_id": "a", "generation": 1, "metrics": {"combined_score": 2, "bad": True}},
]


def test_a_checkpoint_of_openevolve(tmp_path: Path) -> None:
    read = read_checkpoint(openevolve(tmp_path / "checkpoint_7", LINE))
    assert (read.source, read.total) == ("the checkpoint checkpoint_7", 2)
    one, two = read.programs
    assert (one.name, one.parents, one.generation, one.metrics) == ("a", (), 0, {"combined_score": 1.0})
    assert (two.name, two.parents, two.files, two.metrics) == ("b", ("a",), {"": code(2)}, {"combined_score": 2.0})


def test_a_checkpoint_that_openevolve_itself_wrote() -> None:
    """Version 0.4.0, on the example `openevolve_function`, with a scripted model."""
    read = read_checkpoint(Path(__file__).parents[2] / "data" / "openevolve")
    assert (read.source, read.total) == ("the checkpoint checkpoint_4", 4)
    by_name = {one.name: one for one in read.programs}
    [root] = [one for one in read.programs if not one.parents]
    assert root.generation == 0
    assert {one.parents for one in read.programs} == {(), (root.name,)}
    assert all("def search" in text for one in by_name.values() for text in one.files.values())
    best = max(read.programs, key=lambda one: one.metrics["combined_score"])
    assert best.metrics == {"combined_score": pytest.approx(0.8562047), "gap": pytest.approx(0.1679450)}


@pytest.mark.parametrize("named", [None, 5, "", "\ud800", ["x"]])
def test_a_program_without_a_name_is_called_by_its_file(tmp_path: Path, named: object) -> None:
    place = openevolve(tmp_path / "checkpoint_1", [{"id": "a", "code": code(1)}])
    (place / "programs" / "a.json").write_text(json.dumps({"id": named, "code": code(1), "metrics": 7, "parent_id": 3}))
    (one,) = read_checkpoint(place).programs
    assert (one.name, one.parents, one.metrics, one.generation) == ("a", (), {}, None)


@pytest.mark.parametrize("named", ["output", "output/checkpoints"])
def test_of_several_checkpoints_the_newest_is_read(tmp_path: Path, named: str) -> None:
    for number in (9, 10):
        openevolve(tmp_path / "output" / "checkpoints" / f"checkpoint_{number}", LINE)
    assert read_checkpoint(tmp_path / named).source == "the checkpoint checkpoint_10"


def test_a_checkpoint_of_skydiscover_calls_the_code_solution(tmp_path: Path) -> None:
    programs = [{"id": "a", "solution": code(1), "metrics": {}, "other_context_ids": ["b"], "generation": 0}]
    (one,) = read_checkpoint(openevolve(tmp_path / "checkpoint_1", programs)).programs
    assert (one.files, one.parents) == ({"": code(1)}, ())


@pytest.mark.parametrize("named", ["results", "results/programs.sqlite"])
def test_results_of_shinkaevolve(tmp_path: Path, named: str) -> None:
    shinka(tmp_path / "results/programs.sqlite", [("a", None, 0, 1.0, True), ("b", "a", 1, 9.0, False)])
    before = sorted(tmp_path.rglob("*"))
    one, two = read_checkpoint(tmp_path / named).programs
    assert (one.name, one.generation, one.valid, one.metrics) == ("a", 0, True, {"combined_score": 1.0, "size": 3.0})
    assert (two.parents, two.valid, two.files) == (("a",), False, {"": code(1)})
    assert sorted(tmp_path.rglob("*")) == before


def test_results_that_are_still_written_are_read_with_their_log(tmp_path: Path) -> None:
    place = shinka(tmp_path / "programs.sqlite", [("a", None, 0, 1.0, True)])
    with closing(sqlite3.connect(place)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE programs SET id = 'newer'")
        writer.commit()
        (one,) = read_checkpoint(place).programs
    assert one.name == "newer"


def test_results_without_a_database_are_read_by_their_folders(tmp_path: Path) -> None:
    for number, correct in ((0, True), (10, True), (2, False)):
        metrics = {"combined_score": number, "public": {"size": 4}, "private": {"key": 1}}
        write(
            tmp_path / f"gen_{number}",
            {
                "main.py": code(number),
                "results/metrics.json": json.dumps(metrics),
                "results/correct.json": json.dumps({"correct": correct}),
            },
        )
    write(tmp_path / "gen_3", {"edit.diff": ""})
    found = read_checkpoint(tmp_path).programs
    assert [(one.name, one.generation, one.valid) for one in found] == [
        ("gen_0", 0, True), ("gen_2", 2, False), ("gen_10", 10, True)
    ]  # fmt: skip
    assert found[2].metrics == {"combined_score": 10.0, "size": 4.0}


def _checkpoint(content: bytes) -> Callable[[Path], Path]:
    def make(place: Path) -> Path:
        return write(place / "checkpoint_1", {"metadata.json": "{}", "programs/a.json": content})

    return make


def _database(statement: str) -> Callable[[Path], Path]:
    def make(place: Path) -> Path:
        with closing(sqlite3.connect(place / "programs.sqlite")) as connection, connection:
            connection.executescript(statement)
        return place / "programs.sqlite"

    return make


def _pipe(place: Path) -> Path:
    (place / "checkpoint_1" / "programs").mkdir(parents=True)
    os.mkfifo(place / "checkpoint_1" / "programs" / "a.json")
    return place / "checkpoint_1"


def _cut(place: Path) -> Path:
    path = shinka(place / "programs.sqlite", [(str(n), None, n, 1.0, True) for n in range(200)])
    path.write_bytes(path.read_bytes()[:6000])
    return path


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (_checkpoint(b'{"id": "a", "code": "x'), "a.json is not JSON: remove it"),
        (_checkpoint(b"[" * 100_000), "a.json is not JSON"),
        (_checkpoint(b"\xff"), "a.json is not JSON"),
        (_checkpoint(b"[]"), "a.json is not a JSON object"),
        (_checkpoint(b'{"code": "' + b"x" * (9 << 20) + b'"}'), "a JSON object of at most 8 MB"),
        (_checkpoint(b'{"code": 5}'), "has no code of at most"),
        (_checkpoint(rb'{"code": "x = \ud800"}'), "has no code of at most"),
        (_checkpoint(rb'{"code": "x = 1\u0000"}'), "has no code of at most"),
        (_checkpoint(b'{"code": "' + b"x" * 1_000_001 + b'"}'), "has no code of at most"),
        (_pipe, "a.json is not a JSON object"),
        (lambda place: write(place / "checkpoint_1", {"programs/b.txt": ""}), "holds no program"),
        (lambda place: write(place, {"notes.txt": ""}), "holds no earlier programs: name a checkpoint_N"),
        (lambda place: write(place, {"programs.sqlite": "no database"}), "is not an SQLite database"),
        (lambda place: write(place, {"programs.sqlite": b"SQLite format 3\0" + b"x" * 5000}), "cannot be read"),
        (_cut, "cannot be read"),
        (_database("CREATE TABLE other (id TEXT)"), "has no table programs of ShinkaEvolve"),
        (_database("CREATE VIEW programs AS SELECT 1 AS id, 'x' AS code, 1 AS parent_id, 1 AS generation"), "no table"),
        (_database("CREATE TABLE programs (id, code, parent_id, generation)"), "its run has not begun"),
        (
            _database(
                "CREATE TABLE programs (id, code, parent_id, generation); INSERT INTO programs VALUES (1, x'ff', 1, 1)"
            ),
            "has no code that can be read",
        ),
        (lambda place: write(place, {"gen_0/notes": ""}), "no gen_N in"),
        (
            lambda place: write(place, {"gen_0/main.py": "", "gen_0/results/metrics.json": "{"}),
            "metrics.json is not JSON",
        ),
    ],
)
def test_a_broken_checkpoint_ends_in_one_sentence(tmp_path: Path, make: Callable[[Path], Path], sentence: str) -> None:
    with pytest.raises(InvalidProblemError) as error:
        read_checkpoint(make(tmp_path))
    (complaint,) = error.value.complaints
    assert sentence in complaint


def test_more_programs_than_are_read_end_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "MAX_PROGRAMS", 1)
    places = [
        openevolve(tmp_path / "checkpoint_7", LINE),
        shinka(tmp_path / "programs.sqlite", [("a", None, 0, 1.0, True), ("b", "a", 1, 9.0, False)]),
    ]
    for place in places:
        with pytest.raises(InvalidProblemError, match="holds 2 programs, and at most 1 are read"):
            read_checkpoint(place)
