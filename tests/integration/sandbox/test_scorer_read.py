"""Data outside of a problem that its evaluator alone may read: no program can, whoever runs the sandbox."""

import contextlib
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from evolve.errors import ProblemError
from evolve.evaluation import Outcome
from evolve.problem import EvaluatorSpec, Integrity
from service.errors import RefusedError
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import program, sandbox

SCORER = """
import os
def score(outputs, program):
    (place,) = os.environ["EVOLVE_SCORER_READ"].split(":")
    return {"score": float(open(place + "/number").read()), "feedback": repr(outputs[0]["value"])}
"""
# Every way to a file that a program might try; what it reads ends the list.
READING = """
import os
def solve():
    place = "PLACE"
    def linked():
        os.symlink(place + "/number", "link")
        return open("link").read()
    def hard():
        os.link(place + "/number", "hard")
        return open("hard").read()
    def below():
        folder = os.open(place, os.O_PATH)
        return os.read(os.open("number", os.O_RDONLY, dir_fd=folder), 9)
    def child():
        import subprocess
        return subprocess.run(["cat", place + "/number"], capture_output=True, check=True).stdout
    def through_proc():
        return open("/proc/self/root" + place + "/number").read()
    def bound():
        import ctypes
        if ctypes.CDLL(None).mount(place.encode(), os.getcwd().encode(), None, 4096, None):
            raise OSError("mount")
        return open("number").read()
    found = [name for name in os.environ if "SCORER" in name]
    for way in (lambda: open(place + "/number").read(), lambda: os.listdir(place), linked, hard, below, child,
                through_proc, bound):
        try:
            found.append(repr(way()))
        except Exception:
            pass
    return found
"""
UNPRIVILEGED = """
import asyncio, json, pathlib, sys
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import program, sandbox
from tests.integration.sandbox.test_scorer_read import READING, SCORER

async def main(place, folder):
    found = {}
    for level in (IsolationLevel.STRONG, IsolationLevel.MEDIUM):
        reading = program(READING.replace("PLACE", place))
        async with sandbox(pathlib.Path(folder) / level, SCORER, scorer_read=(place,), force=level) as opened:
            result = await opened.evaluate(reading, "evl_1")
        found[level] = [str(result.outcome), dict(result.scores), result.feedback, result.reason]
    print(json.dumps(found))

asyncio.run(main(*sys.argv[1:]))
"""
NOBODY = 65534


@pytest.fixture
def answers() -> Iterator[Path]:
    """A folder that every user may read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        (folder / "number").write_text("2.5")
        (folder / "number").chmod(0o644)
        yield folder


@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM])
async def test_the_evaluator_reads_what_no_program_can(tmp_path: Path, answers: Path, force: IsolationLevel) -> None:
    reading = program(READING.replace("PLACE", str(answers)))
    async with sandbox(tmp_path, SCORER, scorer_read=(str(answers),), force=force) as opened:
        for _ in range(2):
            found = await opened.evaluate(reading, "evl_1")
            assert (found.outcome, found.scores, found.feedback) == (Outcome.OK, {"score": 2.5}, "[]"), found.reason
    async with sandbox(tmp_path / "open", SCORER.replace("SCORER_", ""), read=(str(answers),), force=force) as opened:
        assert "2.5" in (await opened.evaluate(reading, "evl_1")).feedback  # the same ways lead to what is opened


def below_a_closed_folder(folder: Path) -> Path:
    inner = folder / "inner"
    inner.mkdir(mode=0o755)
    (inner / "number").write_text("4.5")
    folder.chmod(0o700)
    return inner


@pytest.mark.root
async def test_a_closed_folder_is_opened_to_the_evaluator_alone(tmp_path: Path, answers: Path) -> None:
    closed = below_a_closed_folder(answers)
    reading = program(READING.replace("PLACE", str(closed)))
    async with sandbox(tmp_path, SCORER, scorer_read=(str(closed),)) as opened:
        found = await opened.evaluate(reading, "evl_1")
    assert (found.scores, found.feedback) == ({"score": 4.5}, "[]"), found.reason


def interpreters() -> Iterator[str]:
    """Interpreters of this version that a user without rights can start."""
    for python in (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"):
        with contextlib.suppress(OSError):
            subprocess.run(
                [python, "-V"], user=NOBODY, group=NOBODY, cwd="/", capture_output=True, check=True, timeout=60
            )
            yield python


@pytest.mark.root
def test_it_holds_for_a_user_without_rights(answers: Path) -> None:
    python = next(interpreters(), None)
    if python is None:
        pytest.skip("no interpreter here can be started by a user without rights")
    path = os.pathsep.join([str(Path(__file__).parents[3]), sysconfig.get_paths()["purelib"]])
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, NOBODY, NOBODY)
        kept = {"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": folder, "PYTHONPATH": path}
        done = subprocess.run(
            [python, "-c", UNPRIVILEGED, str(answers), folder],
            env=kept, cwd=folder, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for level, result in json.loads(done.stdout).items():
        assert result[:3] == ["ok", {"score": 2.5}, "[]"], (level, result)


@pytest.mark.parametrize("force", [IsolationLevel.WEAK, IsolationLevel.NONE])
async def test_what_a_level_cannot_hide_is_refused(tmp_path: Path, answers: Path, force: IsolationLevel) -> None:
    with pytest.raises(RefusedError, match=f"evaluator.scorer_read needs a sandbox that reaches medium.*{force}"):
        async with sandbox(tmp_path, SCORER, scorer_read=(str(answers),), force=force):
            raise AssertionError


def test_shared_integrity_hides_nothing() -> None:
    with pytest.raises(ProblemError, match="scorer_read hides files from programs, which shared integrity cannot"):
        EvaluatorSpec(integrity=Integrity.SHARED, scorer_read=("/srv/answers",))


async def test_inputs_may_come_of_it(tmp_path: Path, answers: Path) -> None:
    inputs = "def inputs():\n    return [float(open(os.environ['EVOLVE_SCORER_READ'] + '/number').read())]\n"
    async with sandbox(tmp_path, SCORER + inputs, scorer_read=(str(answers),)) as opened:
        found = await opened.evaluate(program("def solve(x):\n    return 2 * x\n"), "evl_1")
    assert found.feedback == "5.0"
