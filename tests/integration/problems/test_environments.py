"""What requirements.txt beside an evaluator asks for: installed once, by those who may agree to it alone."""

import fcntl
import io
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from evolve.evaluation import Evaluation
from service.bootstrap.evaluators import open_sandbox
from service.cli.environment import _question
from service.config import SandboxSettings
from service.errors import InvalidProblemError
from service.problems import environments
from service.problems.declared_packages import declared_packages
from service.problems.environments import environment_of, make
from service.problems.evaluator_environment import missing_environment
from service.problems.folder import Folder
from service.problems.load import LoadedProblem, load_problem
from tests.command_line import Said, call_here
from tests.unit.problems.folders import project

RUN = environments._run
REQUIREMENT = "slug-of-our-tests==1.0  # from the folder of wheels"
EVALUATOR = """
import sys

import slug_of_our_tests

def evaluate(program_path):
    try:
        open(sys.prefix + "/written", "w")
        closed = 0.0
    except OSError:
        closed = 1.0
    return {"combined_score": slug_of_our_tests.VALUE, "closed": closed}
"""


def wheel(folder: Path) -> Path:
    """A folder with one package that no index has."""
    name, about = "slug_of_our_tests-1.0", "slug_of_our_tests-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as file:
        file.writestr("slug_of_our_tests.py", "VALUE = 7.0\n")
        file.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: slug-of-our-tests\nVersion: 1.0\n")
        file.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{about}/RECORD", "")
    return folder


@pytest.fixture(scope="session")
def empty_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pip alone. It takes Python seconds, so the processes of pytest-xdist share one."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "empty environment"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            subprocess.run([sys.executable, "-I", "-m", "venv", folder], check=True, capture_output=True)
            (folder / "whole").touch()
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, empty_environment: Path) -> Iterator[Path]:
    """A user whose pip knows nothing but a folder, and who agreed to the environment of the tests.

    Environments are copies of an empty one, into which pip installs. `test_a_problem_is_set_up_after_a_question` makes
    its own from nothing.
    """
    folder = tmp_path_factory.mktemp("home")
    wheels = wheel(tmp_path_factory.mktemp("wheels"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(wheels))
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        patch.setattr(environments, "_run", partial(run_or_copy, empty_environment))
        yield folder


def run_or_copy(empty: Path, words: Sequence[str], failure: str) -> None:
    if list(words[1:4]) == ["-I", "-m", "venv"]:
        shutil.copytree(empty, words[4], symlinks=True, copy_function=os.link)
    else:
        RUN(words, failure)


@pytest.fixture
def agreed(home: Path, tmp_path: Path) -> LoadedProblem:
    loaded = loaded_in(tmp_path)
    make(found(loaded))
    return loaded


def loaded_in(folder: Path, requirement: str = REQUIREMENT) -> LoadedProblem:
    place = folder / "p"
    place.mkdir()
    return load_problem(project(place, evaluator__py=EVALUATOR, requirements__txt=requirement + "\n"))


def found(loaded: LoadedProblem) -> environments.Environment:
    environment = environment_of(Folder(files={"requirements.txt": REQUIREMENT.encode()}), loaded.problem.evaluator)
    assert environment is not None
    return environment


async def scored(loaded: LoadedProblem, settings: SandboxSettings, *, others: bool) -> Evaluation:
    async with open_sandbox(loaded.problem, loaded.bundle, settings, slots=1, others=others) as evaluator:
        return await evaluator.evaluate(loaded.problem.seeds[0], "evl_1")


def evolve(*words: str) -> Said:
    return call_here(words, dict(os.environ))


def test_nothing_is_installed_where_nobody_agrees(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = loaded_in(tmp_path).place
    said = evolve("problem", "check", folder)
    assert said.code == 8
    cure = "install them with evolve problem setup PROBLEM"
    assert f"requirements.txt: not installed here: slug-of-our-tests==1.0: {cure}" in said.err
    monkeypatch.setattr(sys, "stdin", Person("n\n"))
    said = evolve("problem", "check", folder)
    assert said.code == 8
    assert "It runs code of these packages with your rights, outside of the sandbox." in said.err
    assert not (tmp_path / "cache").exists()


def test_a_problem_is_set_up_after_a_question(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "_run", RUN)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = loaded_in(tmp_path).place
    monkeypatch.setattr(sys, "stdin", Person("n\n"))
    said = evolve("problem", "setup", folder)
    assert (said.code, said.out) == (1, "✗ requirements.txt: nothing was installed. Answer y, or give --yes\n")
    said = evolve("problem", "check", folder)
    assert (
        "add the package of slug_of_our_tests to requirements.txt and install it with evolve problem setup" in said.out
    )
    said = evolve("problem", "setup", folder, "--yes", "--json")
    assert said.code == 0, said.err
    (found,) = said.lines
    assert (found["ready"], found["file"]) == (True, "requirements.txt")
    assert Path(found["python"]).is_file()
    assert evolve("problem", "check", folder).code == 0
    (tmp_path / "p" / "requirements.txt").unlink()
    said = evolve("problem", "setup", folder)
    assert said.code == 8
    assert "declares no packages: write them into requirements.txt, one a line" in said.err


class Person(io.StringIO):
    """Somebody at the terminal, who types."""

    def isatty(self) -> bool:
        return True


def test_who_agrees_is_asked_once(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = loaded_in(tmp_path).place
    monkeypatch.setattr(sys, "stdin", Person("y\n"))
    said = evolve("problem", "check", folder)
    assert said.code == 0, said.out + said.err
    assert "not installed" not in said.err
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    words = ["--policy", "syntax", "--evaluations", "2", "--db", f"sqlite:///{tmp_path}/runs.db", "--json"]
    done = evolve("run", folder, *words)
    assert done.code == 0, done.err
    assert json.loads(done.out.splitlines()[-1])["seed_fitness"] == 7.0


async def test_an_environment_is_used_in_the_sandbox_which_cannot_change_it(agreed: LoadedProblem) -> None:
    evaluation = await scored(agreed, SandboxSettings(), others=False)
    assert evaluation.scores == {"combined_score": 7.0, "closed": 1.0}, evaluation.reason


async def test_problems_of_others_get_none_unless_the_operator_agrees(agreed: LoadedProblem) -> None:
    refused = await scored(agreed, SandboxSettings(require="medium"), others=True)
    assert "No module named 'slug_of_our_tests'" in refused.reason
    allowed = await scored(agreed, SandboxSettings(require="medium", environments=True), others=True)
    assert allowed.scores["combined_score"] == 7.0


async def test_an_operator_who_agrees_is_not_asked(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    evaluation = await scored(loaded_in(tmp_path), SandboxSettings(require="medium", environments=True), others=True)
    assert evaluation.scores["combined_score"] == 7.0


def test_two_who_want_it_at_once_install_it_once(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    environment, calls, run = found(loaded_in(tmp_path)), [], environments._run

    def counted(words: list[str], failure: str) -> None:
        calls.append(words)
        run(words, failure)

    monkeypatch.setattr(environments, "_run", counted)
    threads = [threading.Thread(target=make, args=(environment,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert environment.ready
    assert len(calls) == 2  # the environment, and its packages


def test_what_pip_cannot_do_is_one_sentence_and_leaves_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = loaded_in(tmp_path, "no-such-slug-anywhere==9").place
    said = evolve("problem", "check", folder, "--yes")
    assert said.code == 8
    (line,) = said.err.splitlines()
    assert "requirements.txt cannot be installed: No matching distribution found for no-such-slug-anywhere==9" in line
    assert [path for path in (tmp_path / "cache/evolve/environments").iterdir() if path.is_dir()] == []


@pytest.mark.parametrize(
    "line",
    [
        "-r more.txt",
        "-e .",
        "./local",
        "../up",
        "/abs",
        "~/x",
        "x @ file:///x",
        "file:x",
        "git+file:///x",
        "x @ https://h/${PIP_INDEX_URL}",
        "--find-links x",
    ],
)
def test_what_lies_elsewhere_is_not_installed(home: Path, tmp_path: Path, line: str) -> None:
    environment = environments.Environment(folder=tmp_path / "e", lines=("numpy", line), file="requirements.txt")
    with pytest.raises(InvalidProblemError, match="cannot be installed: write names with versions"):
        make(environment)
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize(
    "text",
    ["numpy>=2 ; python_version > '3'", "a[b]==1", "--pre\nx", "-i https://host/simple\nx", "x @ https://h/x.whl"],
)
def test_names_versions_and_addresses_are_read(text: str) -> None:
    files = Folder(files={"requirements.txt": f"# why\n\n{text}  # so\n".encode()})
    declared = declared_packages(files, "evaluator.py")
    assert declared is not None
    lines = declared.lines
    assert lines == tuple(text.splitlines())
    assert not any(environments._ELSEWHERE.match(line) for line in lines)


def test_pip_sees_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "EVOLVE_API__SECRET", "PYTHONPATH"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("PIP_INDEX_URL", "kept")
    code = "import os, sys; sys.exit(','.join(sorted(n for n, v in os.environ.items() if v in ('secret', 'kept'))))"
    with pytest.raises(InvalidProblemError, match=r"why: PIP_INDEX_URL$"):
        environments._run([sys.executable, "-c", code], "why")


async def test_a_problem_that_names_its_interpreter_or_lacks_nothing_has_no_environment(
    home: Path, tmp_path: Path
) -> None:
    loaded = loaded_in(tmp_path, "pytest")
    assert await missing_environment(loaded.problem, loaded.bundle) is None
    spec = replace(loaded.problem.evaluator, python=sys.executable)
    assert environment_of(Folder(files={"requirements.txt": b"x"}), spec) is None


async def test_each_requirement_that_is_not_met_is_named_and_no_other(tmp_path: Path) -> None:
    lines = (
        "numpy",
        "numpy-of-nobody",
        "numpy>=999 ; python_version > '3'",
        "pytest>=1",
        "x @ https://h/x.whl",
        "--pre",
    )
    environment = environments.Environment(folder=tmp_path, lines=lines, file="requirements.txt")
    assert await environments.lacking(environment) == [lines[1], lines[2], lines[4]]


UV = """#!/bin/sh
echo "$@" >> {log}
if [ "$1" = venv ]; then exec {python} -m venv --without-pip "$5"; fi
"""


def test_uv_installs_where_it_is_there_and_pip_has_no_places_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, program = tmp_path / "log", tmp_path / "uv"
    program.write_text(UV.format(log=log, python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in [name for name in os.environ if name.startswith("PIP_") and name != "PIP_CONFIG_FILE"]:
        monkeypatch.delenv(name)
    environment = environments.Environment(folder=tmp_path / "e", lines=("networkx>=3",), file="requirements.txt")
    assert "uv installs them into " + str(tmp_path / "e") in _question(environment)
    make(environment)
    assert environment.ready
    venv, install = log.read_text().splitlines()
    assert venv == f"venv --quiet --python {sys.executable} {tmp_path}/e"
    assert install == f"pip install --python {tmp_path}/e/bin/python --quiet -r {tmp_path}/e/requirements.txt"
    monkeypatch.setenv("PIP_FIND_LINKS", "/somewhere")
    assert "pip installs them into" in _question(environment)


def test_where_packages_come_from_is_shown_first(tmp_path: Path) -> None:
    lines = (*(f"package-{number}" for number in range(30)), "--index-url https://elsewhere/simple")
    shown = _question(environments.Environment(folder=tmp_path, lines=lines, file="requirements.txt")).splitlines()
    assert shown[1] == "  --index-url https://elsewhere/simple"
    assert "  and 11 more" in shown
