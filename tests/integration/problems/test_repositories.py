"""Repositories as problems: a commit becomes the base, and programs are scored over it in the sandbox."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from evolve.evaluation import Evaluation
from evolve.program import Program
from service.bootstrap.evaluators import open_sandbox
from service.config import SandboxSettings
from service.errors import InvalidProblemError
from service.problems.bundle import open_bundle, pack
from service.problems.load import LoadedProblem, load_bundle, load_problem
from tests.repositories import LIBRARY, commit, git, make_problem, make_repository

CORE = "lib/core.py"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def scored(loaded: LoadedProblem, *programs: Program) -> list[Evaluation]:
    async def score() -> list[Evaluation]:
        async with open_sandbox(loaded.problem, loaded.bundle, SandboxSettings(), slots=1) as evaluator:
            return [await evaluator.evaluate(program, f"e{number}") for number, program in enumerate(programs)]

    return asyncio.run(score())


def load(tmp_path: Path, more: str = "", **files: str | bytes) -> LoadedProblem:
    make_repository(
        tmp_path / "library", {**LIBRARY, **{path.replace("__", "/"): text for path, text in files.items()}}
    )
    return load_problem(make_problem(tmp_path / "problem", more=more))


def child(loaded: LoadedProblem, changed: dict[str, str], *removed: str) -> Program:
    assert loaded.problem.repository is not None
    return loaded.problem.repository.program(changed, removed)


def test_the_commit_is_the_seed_and_is_read_back_without_the_repository(tmp_path: Path) -> None:
    head = make_repository(tmp_path / "library")
    loaded = load_problem(make_problem(tmp_path / "problem"))
    repository = loaded.problem.repository
    assert repository is not None
    assert repository.commit == head
    assert loaded.problem.language == "python"
    assert set(repository.sizes) == set(LIBRARY)
    assert repository.focus[:3] == ("tests/check.py", "bench.py", CORE)
    git(tmp_path / "library", "checkout", "--orphan", "other")
    stored = load_bundle(loaded.bundle, "library").problem
    assert stored.repository == repository
    assert stored.seeds == loaded.problem.seeds == (repository.seed(),)


def test_programs_are_scored_over_the_commit(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    assert loaded.problem.repository is not None
    shorter = "double = lambda v: v + v\n"
    seed, better, wrong, split, broken = scored(
        loaded,
        loaded.problem.repository.seed(),
        child(loaded, {CORE: shorter}, "lib/spare.py"),
        child(loaded, {CORE: "double = lambda v: v\n"}),
        child(loaded, {CORE: "from lib.new.part import double\n", "lib/new/part.py": shorter}),
        child(loaded, {CORE: "from lib.spare import UNUSED\n"}, "lib/spare.py"),
    )
    assert seed.scores == {"size": len(LIBRARY[CORE])}
    assert better.scores == {"size": len(shorter)}
    assert (wrong.outcome, "AssertionError: double is wrong" in wrong.reason) == ("invalid", True)
    assert "double is wrong" in wrong.feedback
    assert split.scores == {"size": len("from lib.new.part import double\n")}
    assert "No module named 'lib.spare'" in broken.reason


@pytest.mark.parametrize(
    "attack",
    [
        "open('bench.py', 'w').write('print(\"size: 0\")')",
        "import os; os.unlink('bench.py'); open('bench.py', 'w').write('print(\"size: 0\")')",
        "import os; os.rename('README.md', 'bench.py')",
        "s = open('bench.py').read(); open('bench.py', 'w').write('1'); open('bench.py', 'w').write(s)",
    ],
)
def test_a_program_that_changes_what_may_not_change_while_it_runs_does_not_count(tmp_path: Path, attack: str) -> None:
    loaded = load(tmp_path)
    (found,) = scored(loaded, child(loaded, {CORE: f"{LIBRARY[CORE]}{attack}\n"}))
    assert found.outcome == "invalid"
    assert "the program changed bench.py while it ran" in found.reason or "README.md" in found.reason


def test_a_program_over_locked_paths_is_not_run(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    (found,) = scored(loaded, child(loaded, {"bench.py": "print('size: 0')\n"}))
    assert (found.outcome, "bench.py may not change" in found.reason) == ("invalid", True)


def test_large_data_is_a_link_to_the_base_which_nobody_can_write(tmp_path: Path) -> None:
    loaded = load(tmp_path, data__large_txt=b"x" * 70_000)
    look = "import os; assert os.path.islink('data/large_txt') and len(open('data/large_txt').read()) == 70_000\n"
    write = "open('data/large_txt', 'a').write('y')\n"
    seen, written, again = scored(
        loaded,
        child(loaded, {CORE: LIBRARY[CORE] + look}),
        child(loaded, {CORE: LIBRARY[CORE] + write}),
        child(loaded, {CORE: LIBRARY[CORE] + look}),
    )
    assert seen.ok, seen.reason
    assert not written.ok
    assert again.ok, again.reason


def test_setup_runs_once_and_its_files_are_there_for_every_program(tmp_path: Path) -> None:
    make = "mkdir built && date +%s%N > built/stamp && printf '#!/bin/sh\\\\necho run' > built/tool"
    setup = f'setup = "{make} && chmod +x built/tool"'
    loaded = load(tmp_path, setup)
    check = "import pathlib, subprocess; assert subprocess.check_output(['built/tool']) == b'run\\n'\nSTAMP = "
    program = child(
        loaded, {CORE: LIBRARY[CORE] + f"{check}pathlib.Path('built/stamp').read_text()\nraise SystemExit(STAMP)\n"}
    )
    first, second = scored(loaded, program, program)
    (third,) = scored(loaded, program)
    assert "status 1: 1" in first.reason, first.reason
    assert first.reason == second.reason == third.reason


def test_a_setup_that_fails_is_told_before_any_program_runs(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match=r"repository.setup ended with status 3: no compiler"):
        scored(load(tmp_path, 'setup = "echo no compiler >&2; exit 3"'))


def test_a_folder_of_a_repository_is_a_base_by_itself(tmp_path: Path) -> None:
    make_repository(
        tmp_path / "mono", {f"parts/library/{path}": text for path, text in LIBRARY.items()} | {"other": "x"}
    )
    loaded = load_problem(make_problem(tmp_path / "problem", path="../mono/parts/library"))
    assert loaded.problem.repository is not None
    assert set(loaded.problem.repository.sizes) == set(LIBRARY)


def test_a_problem_may_lie_at_the_top_of_its_repository(tmp_path: Path) -> None:
    make_repository(tmp_path / "library")
    loaded = load_problem(make_problem(tmp_path / "library", path="."))
    assert loaded.problem.repository is not None
    assert len(loaded.problem.repository.sizes) == len(LIBRARY)
    (seed,) = scored(loaded, loaded.problem.repository.seed())
    assert seed.ok, seed.reason


def test_what_is_not_in_the_commit_is_told(tmp_path: Path) -> None:
    top = tmp_path / "library"
    make_repository(top)
    os.symlink("core.py", top / "lib" / "link.py")
    os.symlink("/etc/hostname", top / "lib" / "outside")
    commit(top, {})
    (top / CORE).write_text("changed\n")
    loaded = load_problem(make_problem(tmp_path / "problem"))
    assert loaded.problem.repository is not None
    assert loaded.problem.repository.texts["lib/link.py"] == LIBRARY[CORE]
    assert loaded.warnings == (
        "the commit's links that lead to no file of it are left out: lib/outside",
        "changes that are not committed are left out: lib/core.py",
    )


@pytest.mark.parametrize(
    ("path", "more", "complaint"),
    [
        ("../nowhere", "", "is not in a git repository"),
        ("../library", 'commit = "nope"', "has no commit 'nope'"),
        ("../empty", "", "has no commit yet: commit your files with git add and git commit"),
        ("../library", 'exclude = ["../x"]', "'../x' is not a pattern of paths"),
        ("../library", 'exclude = ["lib"]', "repository.mutable matches no text of the commit"),
        ("../library", 'setup = "echo \'"', "repository.setup: --command"),
        ("../library", "sets = 1", "unknown key 'repository.sets'"),
        ("../library", '[evaluator]\nentry = "solve"', "evaluator.entry comes from \\[repository\\]"),
    ],
)
def test_a_table_that_cannot_be_used_is_a_complaint(tmp_path: Path, path: str, more: str, complaint: str) -> None:
    make_repository(tmp_path / "library")
    git(tmp_path, "init", "--quiet", "empty")
    with pytest.raises(InvalidProblemError, match=complaint):
        load_problem(make_problem(tmp_path / "problem", path=path, more=more))


def test_a_commit_that_is_too_large_names_its_largest_files(tmp_path: Path) -> None:
    make_repository(tmp_path / "library", {**LIBRARY, "big.bin": b"\0" * (65 << 20)})
    with pytest.raises(InvalidProblemError, match=r"The largest files are big.bin \(68.2 MB\)"):
        load_problem(make_problem(tmp_path / "problem"))
    loaded = load_problem(make_problem(tmp_path / "problem", more='exclude = ["*.bin"]'))
    assert loaded.problem.repository is not None
    assert "big.bin" not in loaded.problem.repository.sizes


def test_links_to_a_large_file_count_with_its_size(tmp_path: Path) -> None:
    top = tmp_path / "library"
    make_repository(top, {**LIBRARY, "large.txt": b"x" * (20 << 20)})
    for number in range(3):
        os.symlink("large.txt", top / f"link{number}.txt")
    commit(top, {})
    with pytest.raises(InvalidProblemError, match="its links included"):
        load_problem(make_problem(tmp_path / "problem"))


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    top = tmp_path / "library"
    make_repository(top)
    (top / os.fsdecode(b"lib/caf\xe9.py")).write_text("")
    commit(top, {})
    with pytest.raises(InvalidProblemError, match="a problem cannot hold the name"):
        load_problem(make_problem(tmp_path / "problem"))


@pytest.mark.parametrize("target", ["", "/dev/zero", "pipe"])
def test_what_stands_in_the_place_of_a_file_is_not_read(tmp_path: Path, target: str) -> None:
    """A pipe never ends, and neither does the device that a link leads to."""
    top = tmp_path / "library"
    make_repository(top)
    os.mkfifo(tmp_path / "pipe")
    (top / CORE).unlink()
    if target:
        os.symlink(tmp_path / target, top / CORE)
    else:
        os.mkfifo(top / CORE)
    assert load_problem(make_problem(tmp_path / "problem")).warnings == (
        "changes that are not committed are left out: lib/core.py",
    )


@pytest.mark.parametrize("trap", ["core.fsmonitor", "filter.trap.clean", "remote.origin.url"])
def test_reading_a_repository_starts_no_program_that_it_names(tmp_path: Path, trap: str) -> None:
    """A folder that somebody else packed brings the configuration of its repository."""
    top, sprung = tmp_path / "library", tmp_path / "sprung"
    make_repository(top, {**LIBRARY, ".gitattributes": "*.md filter=trap\n"})
    (top / "README.md").write_text("B library.\n")
    if trap == "remote.origin.url":
        git(top, "config", "protocol.ext.allow", "always")
        git(top, "config", "extensions.partialClone", "origin")
        git(top, "config", "remote.origin.promisor", "true")
        blob = git(top, "rev-parse", "HEAD:lib/spare.py")
        (top / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    git(top, "config", trap, f"ext::touch {sprung}" if trap.startswith("remote") else f"touch {sprung} #")
    try:
        found = load_problem(make_problem(tmp_path / "problem")).warnings
    except InvalidProblemError as error:
        found = tuple(error.complaints)
    assert not sprung.exists()
    expected = "this clone lacks files of" if trap.startswith("remote") else "not committed are left out: README.md"
    assert expected in " ".join(found)


@pytest.mark.parametrize(
    "made",
    [
        "7",
        "[1]",
        "{'lib/a.py': 1}",
        "{'lib/a.py': '%'}",
        "{'a\\x00b': ''}",
        "{'lib': ''}",
        "{'../../x': ''}",
        "{'': ''}",
    ],
)
def test_a_setup_that_claims_what_cannot_be_is_a_complaint(tmp_path: Path, made: str) -> None:
    """Whoever uploads a problem may bring an evaluator of their own in place of the written one."""
    loaded = load(tmp_path, 'setup = "true"')
    evaluator = f"def evaluate(path):\n    pass\n\n\ndef setup():\n    return {{'made': {made}, 'executable': []}}\n"
    files = open_bundle(loaded.bundle)
    forged = pack(replace(files, files={**files.files, "evolve_repository/evaluator.py": evaluator.encode()}))
    problem = replace(load_bundle(forged, "library").problem, bundle=forged.hash)
    with pytest.raises(InvalidProblemError, match=r"repository.setup"):
        scored(replace(loaded, problem=problem, bundle=forged))


def test_a_file_in_the_way_of_what_setup_made_fails_its_program_alone(tmp_path: Path) -> None:
    loaded = load(tmp_path, 'setup = "mkdir lib/made.py && touch lib/made.py/file"')
    assert loaded.problem.repository is not None
    clash, under, seed = scored(
        loaded,
        child(loaded, {"lib/made.py": "X = 1\n"}),
        child(loaded, {"lib/made.py/file/new.py": "X = 1\n"}),
        loaded.problem.repository.seed(),
    )
    for found in (clash, under):
        assert (found.outcome, "cannot lie over what repository.setup made" in found.reason) == ("invalid", True), found
    assert seed.ok, seed.reason
