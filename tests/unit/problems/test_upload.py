"""A folder that was sent is taken as the same folder on disk is, and no name in it leaves it."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import InvalidProblemError
from service.ports import Upload
from service.problems import folder as limits
from service.problems.load import load_bundle, load_problem
from service.problems.upload import load_upload
from tests.unit.problems.folders import EVALUATE, NATIVE, SCORE, SEED, native, project, write

FILES = {"problem.toml": NATIVE.encode(), "seed.py": SEED.encode(), "evaluator.py": SCORE.encode()}
PROJECT = {"initial_program.py": SEED.encode(), "evaluator.py": EVALUATE.encode()}
LEFT_OUT = {
    ".git/config": b"x", ".env": b"KEY=1", "__pycache__/a.pyc": b"x", "a.pyc": b"x", "node_modules/x/y.js": b"x",
    "env/pyvenv.cfg": b"", "env/lib/python3/site.py": b"x", "evolve.db": b"x", "data/.hidden": b"x",
}  # fmt: skip


def complaints(**words: object) -> tuple[str, ...]:
    with pytest.raises(InvalidProblemError) as caught:
        load_upload(Upload(**{"name": "", "files": FILES, **words}))  # type: ignore[arg-type] # words of one test
    return caught.value.complaints


def test_an_upload_is_the_same_problem_as_its_folder(tmp_path: Path) -> None:
    here = load_problem(write(native(tmp_path), {"data/cases.json": "[1]", **LEFT_OUT}))
    sent = load_upload(Upload(name="", files={**FILES, "data/cases.json": b"[1]", **LEFT_OUT}))
    assert sent.bundle == here.bundle
    assert sent.problem == here.problem
    assert load_bundle(sent.bundle, "other").problem == here.problem


def test_what_may_be_run_stays_so(tmp_path: Path) -> None:
    root = write(native(tmp_path), {"tool.sh": "#!/bin/sh\n"})
    (root / "tool.sh").chmod(0o755)
    files = {**FILES, "tool.sh": b"#!/bin/sh\n"}
    executable = frozenset({"tool.sh", "nobody.sh"})
    assert load_upload(Upload(name="", files=files, executable=executable)).bundle == load_problem(root).bundle


def test_a_project_is_called_as_the_upload_says(tmp_path: Path) -> None:
    sent = load_upload(Upload(name="sorter", files=PROJECT))
    assert sent.problem.name == "sorter"
    assert load_upload(Upload(name="", files=PROJECT)).problem.name == "problem"
    assert load_problem(project(tmp_path / "sorter", None)).problem == sent.problem


def test_the_name_of_the_upload_wins() -> None:
    assert load_upload(Upload(name="mine", files=FILES)).problem.name == "mine"
    assert load_upload(Upload(name="", files=FILES)).problem.name == "p"


@pytest.mark.parametrize("name", ["a@1", "x" * 201, "a\nb", "a\0", "\ud800", " a", "a ", "\u202e"])
def test_a_name_that_cannot_be_shown_or_asked_for_is_refused(name: str) -> None:
    assert "is not valid: use at most" in complaints(name=name)[0]


def test_so_is_one_in_the_file() -> None:
    document = NATIVE.replace('name = "p"', 'name = "p@2"').encode()
    assert "is not valid: use at most" in complaints(files={**FILES, "problem.toml": document})[0]


@pytest.mark.parametrize(
    "path",
    [
        "../x", "a/../../x", "/etc/passwd", "a//b", "./a", "a/", "", ".", "..", "a\\b", "C:\\x", "a\nb", "a\0b",
        "\ud800", "x" * 256, "/".join(["d" * 200] * 6), "/".join(["d"] * 40), "é" * 128,
    ],
)  # fmt: skip
def test_a_path_that_is_none_below_the_folder_is_refused(path: str) -> None:
    (complaint,) = complaints(files={**FILES, path: b"x"})
    assert len(complaint) < 600
    assert complaint.isprintable()


def test_a_file_cannot_be_a_folder_as_well() -> None:
    assert complaints(files={**FILES, "a": b"", "a/b": b""}) == (
        "'a' is a file and a folder at once: rename one of them",
    )


def test_too_many_files_and_too_large_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    many = {f"f{number}": b"" for number in range(limits.MAX_FILES)}
    assert "more than 10000 files" in complaints(files={**FILES, **many})[0]
    (found,) = complaints(files={**FILES, "large": bytes(limits.MAX_BYTES)})
    assert found.endswith(
        "larger than 64 MB: keep large data out of its folder, and name where it lies in evaluator.read"
    )


def test_complaints_about_files_end_somewhere() -> None:
    assert len(complaints(files={**FILES, **{f"../{number}": b"" for number in range(100)}})) <= 21


def test_what_is_no_problem_is_told_how_to_become_one() -> None:
    assert "holds neither problem.toml nor" in complaints(files={"a.txt": b""})[0]
    assert "holds an evaluator.py but no problem" in complaints(files={"evaluator.py": b""})[0]
    assert "holds neither" in complaints(files={})[0]


@given(st.dictionaries(st.text(max_size=12), st.binary(max_size=12), max_size=5))
def test_no_files_break_the_reader(files: dict[str, bytes]) -> None:
    with suppress(InvalidProblemError):
        load_upload(Upload(name="", files={**FILES, **files}))
