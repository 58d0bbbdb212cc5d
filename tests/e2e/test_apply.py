"""`evolve apply` on real runs, files and git repositories."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evolve.errors import ProgramError
from evolve.program import Program
from service.errors import ConflictError, UsageError
from service.problems.command.mutable_part import find_mutable_part
from service.problems.folder import Folder
from service.problems.source_files import SourceFiles, source_files
from service.usecases.apply_winner import plan_change
from tests.command_line import Said, call_here

PROGRAM = """\
SCALE = 1


# EVOLVE-BLOCK-START
def score():
    x = 1.5
    return -((x - 3) ** 2)
# EVOLVE-BLOCK-END
"""
BENCH = "import program\n\nprint(f'fit: {program.score() * program.SCALE}')\n"
IDENTITY = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@localhost"}
COMMITTER = {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@localhost"}


def evolve(home: Path, *words: str) -> Said:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    return call_here(words, kept | IDENTITY | COMMITTER | {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"})


def git(home: Path, *words: str) -> str:
    environment = {**os.environ, **IDENTITY, **COMMITTER, "HOME": str(home)}
    return subprocess.run(["git", *words], cwd=home, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repository with a run on a command, made once."""
    home = tmp_path_factory.mktemp("home").resolve()
    (home / "src").mkdir()
    (home / "src" / "program.py").write_text(PROGRAM)
    (home / "src" / "bench.py").write_text(BENCH)
    (home / ".gitignore").write_text(".*\n")
    git(home, "init", "-q", "-b", "main")
    git(home, "add", ".")
    git(home, "commit", "-qm", "The program")
    words = ["run", "--source", "program.py", "--command", "python bench.py", "--metric", "fit", "--maximize"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home / "src")
        said = evolve(home, *words, "--evaluations", "30", "--json")
        assert said.code == 0, said.err
        assert said.lines[-1]["best"]["fitness"] > -2.25
        yield home


@pytest.fixture
def home(searched: Path) -> Iterator[Path]:
    yield searched
    git(searched, "checkout", "-qf", "main")
    git(searched, "reset", "-q", "--hard")


def program(home: Path) -> Path:
    return home / "src" / "program.py"


def test_the_winner_is_written_in_place_and_once(home: Path) -> None:
    best = evolve(home, "best", "-o", "-").out
    said = evolve(home, "apply", "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["files"] == [str(program(home))]
    assert program(home).read_text() == best != PROGRAM
    again = evolve(home, "apply")
    assert again.code == 0
    assert "nothing changes" in again.err


def test_a_patch_is_what_git_applies(home: Path) -> None:
    best = evolve(home, "best", "-o", "-").out
    said = evolve(home, "apply", "last", "--patch")
    assert program(home).read_text() == PROGRAM
    subprocess.run(["git", "apply", "-"], cwd=home, input=said.out, text=True, check=True)
    assert program(home).read_text() == best


def test_a_source_that_changed_is_refused_and_forced_outside_of_its_regions_alone(home: Path) -> None:
    best = evolve(home, "best", "-o", "-").out
    program(home).write_text(PROGRAM.replace("SCALE = 1", "SCALE = 2"))
    refused = evolve(home, "apply")
    assert refused.code == 5
    assert "program.py changed since the run began" in refused.err
    forced = evolve(home, "apply", "--force")
    assert forced.code == 0, forced.err
    assert program(home).read_text() == best.replace("SCALE = 1", "SCALE = 2")


def test_regions_that_are_gone_are_refused_even_by_force(home: Path) -> None:
    program(home).write_text(PROGRAM + "# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-END\n")
    said = evolve(home, "apply", "--force")
    assert said.code == 5
    assert "regions of program.py are others" in said.err


def test_line_ends_stay(home: Path) -> None:
    program(home).write_bytes(PROGRAM.replace("\n", "\r\n").encode())
    best = evolve(home, "best", "-o", "-").out
    assert evolve(home, "apply").code == 0
    assert program(home).read_bytes() == best.replace("\n", "\r\n").encode()


def test_a_branch_has_one_commit_and_the_files_stay(home: Path) -> None:
    (home / "src" / "bench.py").write_text(BENCH + "# unsaved work\n")
    said = evolve(home, "apply", "last", "--branch", "faster", "--json")
    assert said.code == 0, said.err
    assert git(home, "rev-parse", "faster").strip() == json.loads(said.out)["commit"]
    assert git(home, "rev-list", "main..faster").split() == [json.loads(said.out)["commit"]]
    assert git(home, "show", "faster:src/program.py") == evolve(home, "best", "-o", "-").out
    assert git(home, "diff", "--name-only", "main", "faster").split() == ["src/program.py"]
    assert git(home, "log", "-1", "--format=%s", "faster").startswith("program: fit from -2.25 to ")
    assert git(home, "status", "--short").split() == ["M", "src/bench.py"]
    assert program(home).read_text() == PROGRAM
    exists = evolve(home, "apply", "last", "--branch", "faster")
    assert exists.code == 5
    assert "the branch faster exists" in exists.err


def test_a_branch_needs_the_source_as_it_is_committed(home: Path) -> None:
    program(home).write_text(PROGRAM.replace("SCALE = 1", "SCALE = 2"))
    git(home, "commit", "-qam", "Scale")
    program(home).write_text(PROGRAM)
    try:
        said = evolve(home, "apply", "last", "--branch", "uncommitted")
        assert said.code == 5
        assert "src/program.py is not committed as it is" in said.err
    finally:
        git(home, "reset", "-q", "--hard", "HEAD~1")


def test_a_pull_request_has_scores_of_then_and_now(home: Path) -> None:
    said = evolve(home, "apply", "last", "--body", "--allow-unsandboxed")
    assert said.code == 0, said.err
    best = float(evolve(home, "best", "--json").lines[0]["scores"]["fit"])
    (row,) = [line for line in said.out.splitlines() if line.startswith("| `fit`")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[0] == "`fit` (higher is better)"
    assert [float(cell) for cell in cells[1:]] == pytest.approx([-2.25, best, -2.25, best])
    assert "The gain is confirmed." in said.out
    assert "| 0.0 | -2.25 |" in said.out
    assert program(home).read_text() == PROGRAM


def test_a_gain_that_is_not_there_is_not_confirmed(home: Path) -> None:
    text = evolve(home, "show", "last", "0.0", "--source").out
    assert text == PROGRAM
    said = evolve(home, "apply", "last", "0.0", "--body", "--allow-unsandboxed")
    assert "The gain is not confirmed" in said.out


def test_the_lineage_is_exported_as_a_repository(home: Path, tmp_path: Path) -> None:
    said = evolve(home, "export", "last", "--git", str(tmp_path / "history"), "--json")
    assert said.code == 0, said.err
    valid_and_failed = evolve(home, "show", "last", "--json").lines[0]["counters"]["evaluations"]
    assert said.lines[0]["commits"] == valid_and_failed
    assert (tmp_path / "history" / "program.py").read_text() == evolve(home, "best", "-o", "-").out


def test_sources_elsewhere_are_named(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(PROGRAM)
    assert evolve(home, "apply", "last", "--into", str(other)).code == 0
    assert other.read_text() == evolve(home, "best", "-o", "-").out
    assert program(home).read_text() == PROGRAM


def test_the_file_of_a_problem_folder_is_found(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    assert evolve(home, "problem", "init", "mine").code == 0
    seed = next((home / "mine").glob("*program*")).read_text()
    ran = evolve(home, "run", "mine", "--evaluations", "20", "--json")
    assert ran.code == 0, ran.err
    run_id = ran.lines[-1]["run_id"]
    try:
        said = evolve(home, "apply", run_id, "--json")
        assert said.code == 0, said.err
        (changed,) = json.loads(said.out)["files"]
        assert Path(changed).is_relative_to(home / "mine")
        assert Path(changed).read_text() == evolve(home, "best", run_id, "-o", "-").out != seed
    finally:
        evolve(home, "delete", run_id)


SCRIPT = """\
import time


def total(limit):
    number = 1.5
    return [number * other for other in range(limit)]


def main():
    start = time.perf_counter()
    found = total(50)
    print(f"seconds: {time.perf_counter() - start}")
    print(len(found))


main()
"""


def test_a_script_whose_markers_evolve_had_put_keeps_its_text_around_its_functions(tmp_path: Path) -> None:
    marked = find_mutable_part(SCRIPT)
    assert marked is not None
    winner = Program.of({"bench.py": marked.text.replace("number = 1.5", "number = 2.5")})
    (tmp_path / "bench.py").write_text(SCRIPT)
    files = SourceFiles(folder=tmp_path, paths={"bench.py": "bench.py"})
    seed = Program.of({"bench.py": marked.text})
    assert plan_change(dict(seed.files), dict(winner.files), files).after == {"bench.py": SCRIPT.replace("1.5", "2.5")}

    changed = SCRIPT.replace("total(50)", "total(60)")
    (tmp_path / "bench.py").write_text(changed)
    with pytest.raises(ConflictError, match="changed since the run began"):
        plan_change(dict(seed.files), dict(winner.files), files)
    assert plan_change(dict(seed.files), dict(winner.files), files, force=True).after == {
        "bench.py": changed.replace("1.5", "2.5")
    }

    helper = changed.replace("def total", "def twice(x):\n    return 2 * x\n\n\ndef total").replace(
        "number * o", "twice(o"
    )
    (tmp_path / "bench.py").write_text(helper.replace("twice(other ", "twice(other) "))
    with pytest.raises(ConflictError, match="are others than those of the run"):
        plan_change(dict(seed.files), dict(winner.files), files, force=True)


def test_a_run_of_a_service_does_not_choose_where_it_is_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = Program.of({"program.py": "x = 1\n"})
    settings = {"sources": ["program.py"], "folder": str(tmp_path)}
    problem = Folder(files={"command.json": json.dumps(settings).encode()})
    with pytest.raises(UsageError, match="the run came from a service"):
        source_files(problem, seed, "submitted over the API", None)
    monkeypatch.chdir(tmp_path)
    assert source_files(problem, seed, "submitted over the API", None).folder == tmp_path
    outside = Folder(files={"command.json": json.dumps(settings | {"sources": ["../program.py"]}).encode()})
    with pytest.raises(ProgramError):
        source_files(outside, seed, "submitted over the API", None)


def test_a_named_service_does_not_choose_which_files_change(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could tell any source. Here the runs of the database stand for its runs."""
    monkeypatch.setattr("service.bootstrap.sites.choose_service", lambda *_, **__: None)
    named = ("--server", "https://evolve.example")
    before = program(home).read_text()
    monkeypatch.chdir(home)
    refused = evolve(home, "apply", "last", *named)
    assert refused.code == 2
    assert "the run came from a service" in refused.err
    assert program(home).read_text() == before
    monkeypatch.chdir(home / "src")
    assert evolve(home, "apply", "last", *named).code == 0
    assert program(home).read_text() != before


def test_a_branch_needs_a_person_who_commits(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.useConfigOnly", "GIT_CONFIG_VALUE_0": "true"}
    monkeypatch.setattr("tests.e2e.test_apply.COMMITTER", nobody)
    said = evolve(home, "apply", "last", "--branch", "unnamed")
    assert said.code == 5
    assert "`git config user.email ADDRESS`" in said.err
    assert git(home, "branch", "--list", "unnamed") == ""
