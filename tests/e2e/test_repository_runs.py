"""A run over a real git repository: searched, compared, exported as history and applied."""

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from evolve.repository import Repository
from service.errors import ConflictError
from service.problems.load import load_problem
from service.problems.repository.origin import RepositoryOrigin, origin_of
from service.problems.source_files import SourceFiles
from service.usecases.apply_winner import plan_change
from service.usecases.repository_history import write_repository_history
from tests.command_line import Said, call_here
from tests.e2e.evolving import Evolve
from tests.repositories import LIBRARY, commit, git, make_problem, make_repository

TUNED = {
    **LIBRARY,
    "lib/core.py": "STEP = 7.5\n\n\ndef double(value):\n    return value + value\n",
    "bench.py": "from lib.core import STEP\n\nprint('size:', abs(STEP - 3))\n",
    "run.sh": "#!/bin/sh\n",
}
WHO = {
    "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@localhost",
    "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@localhost",
}  # fmt: skip


def evolve(home: Path, *words: str) -> Said:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    return call_here(words, kept | WHO | {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a repository of two commits and a run on the second."""
    top = tmp_path_factory.mktemp("home").resolve()
    make_repository(top / "library", LIBRARY)
    commit(top / "library", TUNED, "Add a step")
    make_problem(top / "problem")
    said = evolve(top, "run", str(top / "problem"), "--evaluations", "25", "--set", "seed=4", "--json")
    assert said.code == 0, said.err
    assert said.lines[-1]["best"]["fitness"] > -4.5
    return top


def test_the_difference_to_a_parent_shows_the_lines_of_the_commit_that_changed(home: Path) -> None:
    said = evolve(home, "diff", "last", "last.0.0", "--json")
    assert said.code == 0, said.err
    (shown,) = said.lines
    assert (shown["added"], shown["removed"]) == (1, 1)
    assert "+STEP = 7.5" in shown["diff"]
    assert ".evolve" not in shown["diff"]
    (walked,) = evolve(home, "lineage", "last", "--json").lines
    assert all(step["added"] <= 2 for step in walked["steps"][1:])


def test_the_history_stands_on_the_real_commit(home: Path, tmp_path: Path) -> None:
    said = evolve(home, "export", "last", "--git", str(tmp_path / "history"), "--json")
    assert said.code == 0, said.err
    history, head = tmp_path / "history", git(home / "library", "rev-parse", "HEAD")
    assert git(history, "rev-parse", "refs/evolve/base") == head
    assert git(history, "merge-base", "main", head) == head
    assert git(history, "log", "--format=%s", head).splitlines() == ["Add a step", "a change"]
    assert git(history, "diff", "--name-only", head, "main").splitlines() == ["lib/core.py"]
    assert git(history, "diff", head, "refs/evolve/0.0") == ""
    assert git(history, "status", "--porcelain") == ""


def test_the_winner_becomes_a_branch_of_the_repository(home: Path) -> None:
    said = evolve(home, "apply", "last", "--branch", "faster", "--json")
    assert said.code == 0, said.err
    library = home / "library"
    assert git(library, "diff", "--name-only", "HEAD", "faster").splitlines() == ["lib/core.py"]
    assert git(library, "status", "--porcelain") == ""
    patch = json.loads(evolve(home, "apply", "last", "--patch", "--json").out)["patch"]
    assert "--- a/lib/core.py" in patch


def test_a_file_that_changed_since_is_not_overwritten(home: Path) -> None:
    core = home / "library" / "lib" / "core.py"
    before = core.read_text()
    core.write_text(before + "\n# mine\n")
    try:
        said = evolve(home, "apply", "last")
        assert said.code != 0
        assert "changed since the run began" in said.err
    finally:
        core.write_text(before)


def test_a_person_changes_and_removes_files_of_the_commit(home: Path, tmp_path: Path) -> None:
    problem, database = make_problem(tmp_path / "problem", path=str(home / "library")), f"sqlite:///{tmp_path / 'db'}"
    (tmp_path / "core.py").write_text(TUNED["lib/core.py"].replace("7.5", "3.5"))
    words = ("--db", database)
    assert evolve(home, "run", str(problem), "--evaluations", "1", *words, "-q").code == 0
    assert evolve(home, "extend", "last", "--evaluations", "3", *words, "-q").code == 0
    refused = evolve(home, "insert", "last", "--remove", "bench.py", *words)
    assert (refused.code, "bench.py may not change" in refused.err) == (2, True)
    assert evolve(home, "insert", "last", *words).code == 2
    (tmp_path / "lib").mkdir()
    (tmp_path / "core.py").rename(tmp_path / "lib" / "core.py")
    with contextlib.chdir(tmp_path):
        said = evolve(home, "insert", "last", "lib/core.py", "--remove", "lib/spare.py", *words)
        assert said.code == 0, said.err
        said = evolve(home, "insert", "last", "--remove", "lib/spare.py", *words)
        assert said.code == 0, said.err
    assert evolve(home, "run", "--resume", "last", *words, "-q").code == 0
    shown = evolve(home, "export", "last", "-o", "-", *words)
    manual = [one for one in map(json.loads, shown.out.splitlines()) if one["operator"] == "manual"]
    assert [(one["outcome"], one["scores"]["size"]) for one in manual] == [("ok", 0.5), ("ok", 4.5)]
    assert [sorted(one["files"]) for one in manual] == [[".evolve/base", "lib/core.py"], [".evolve/base"]]
    assert all(one["files"][".evolve/base"].endswith("removed lib/spare.py\n") for one in manual)


def ordinary() -> list[str]:
    """Words that make the superuser an ordinary user, who still reaches the interpreter of these tests."""
    if os.geteuid() != 0:
        return []
    words = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"]
    if shutil.which("unshare") is None or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("the superuser cannot become another user here")
    return words


def test_an_ordinary_user_searches_a_repository_of_their_own(tmp_path: Path) -> None:
    """Its setup is kept in their cache, and the sandbox has no superuser's rights."""
    make_repository(tmp_path / "library", TUNED)
    problem = make_problem(tmp_path / "problem", more='setup = "test $(id -u) != 0 && echo 1 > made.txt"')
    user = Evolve(tmp_path, ordinary())
    lines = user.lines("run", str(problem), "--evaluations", "6", "--json")
    scored = [line["outcome"] for line in lines if line["kind"] == "candidate.evaluated"]
    assert (len(scored), scored[0]) == (6, "ok")
    assert len(list((tmp_path / ".cache" / "evolve" / "repositories").iterdir())) == 1


def candidates(base: Repository) -> list[dict[str, Any]]:
    """A seed, a child that adds and removes a file, and a child of it that takes both back."""
    seed = base.seed()
    moved = base.program({"lib/new.py": "N = 1\n", "run.sh": "#!/bin/sh\necho\n"}, ["lib/spare.py"])
    programs = {"0.0": seed, "1.0": moved, "2.0": base.program({"lib/core.py": "STEP = 1.0\n"}, ())}
    parents = {"0.0": [], "1.0": ["0.0"], "2.0": ["1.0"]}
    return [
        {
            "candidate_id": f"cnd_{'0' * 20}_{name.replace('.', '_')}",
            "name": name,
            "status": "evaluated",
            "files": dict(program.files),
            "parents": [
                {"candidate_id": f"cnd_{'0' * 20}_{parent.replace('.', '_')}", "role": "parent"}
                for parent in parents[name]
            ],
            "created_at": "2026-01-01T00:00:00+00:00",
            "policy": "syntax", "scores": {"size": 1.0}, "outcome": "ok", "operator": "mutate", "reason": "",
            "fitness": -1.0,
        }
        for name, program in programs.items()
    ]  # fmt: skip


@pytest.mark.parametrize("local", [True, False])
def test_files_come_and_go_along_the_history(home: Path, tmp_path: Path, local: bool) -> None:
    loaded = load_problem(make_problem(home / "moved"))
    origin = origin_of(loaded.bundle)
    assert origin is not None
    assert loaded.problem.repository is not None
    rows = candidates(loaded.problem.repository)
    assert write_repository_history(tmp_path / "out", rows, rows[1]["candidate_id"], origin, local=local) == 3
    changed = git(tmp_path / "out", "diff", "--name-status", "refs/evolve/0.0", "refs/evolve/1.0").split()
    assert changed == ["A", "lib/new.py", "D", "lib/spare.py", "M", "run.sh"]
    assert git(tmp_path / "out", "diff", "--name-only", "refs/evolve/base", "refs/evolve/2.0") == "lib/core.py"
    assert (tmp_path / "out" / "lib" / "new.py").read_text() == "N = 1\n"
    assert len(git(tmp_path / "out", "log", "--format=%s", "refs/evolve/base").splitlines()) == (2 if local else 1)


def test_a_folder_that_the_problem_names_is_not_read_for_others(home: Path, tmp_path: Path) -> None:
    origin = RepositoryOrigin(commit="a" * 40, folder="ext::sh -c id", files={"a.txt": b"a\n"})
    assert write_repository_history(tmp_path / "out", [], None, origin, local=True) == 0
    assert git(tmp_path / "out", "show", "refs/evolve/base:a.txt") == "a"


def test_added_and_removed_files_are_applied(home: Path) -> None:
    files = SourceFiles(folder=home / "library", paths={})
    before, after = {"lib/spare.py": TUNED["lib/spare.py"]}, {"lib/new.py": "N = 1\n"}
    change = plan_change(before, after, files)
    assert (dict(change.before), dict(change.after)) == (before, after)
    with pytest.raises(ConflictError, match=r"lib/spare.py changed since"):
        plan_change({"lib/spare.py": "other\n"}, {}, files)
