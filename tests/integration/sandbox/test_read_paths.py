"""Paths outside that a problem opens to its programs: they can be read and run at every level, and never written to."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evolve.evaluation import Outcome
from evolve.problem import Integrity
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import GOOD, LIMITS, outcome_of, program, sandbox

READING = """
def solve():
    return float(open("{path}").read())
"""
SCORER = """
import os
def score(outputs, program):
    return {{"score": outputs[0]["value"] + float(open("{path}").read()), "feedback": os.environ["EVOLVE_READ"]}}
"""
WRITING = """
import os
def solve():
    found = []
    for action in (
        lambda: open("{folder}/number", "w"), lambda: open("{folder}/new", "w"), lambda: os.unlink("{folder}/number"),
        lambda: open("{folder}/number", "a"), lambda: os.mkdir("{folder}/more"),
    ):
        try: found.append(repr(action()))
        except OSError: found.append("blocked")
    return found
"""


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that every user may pass, with a number and a program."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o777)
        (folder / "number").write_text("2.5")
        (folder / "number").chmod(0o666)
        (folder / "seven").write_text("#!/bin/sh\necho 7\n")
        (folder / "seven").chmod(0o755)
        yield folder


@pytest.mark.parametrize("force", list(IsolationLevel))
async def test_program_and_scorer_read_what_is_opened_at_every_level(
    tmp_path: Path, outside: Path, force: IsolationLevel
) -> None:
    number = outside / "number"
    scorer = SCORER.format(path=number)
    async with sandbox(tmp_path, scorer, read=(str(outside),), force=force) as opened:
        found = await opened.evaluate(program(READING.format(path=number)), "evl_1")
    assert (found.outcome, found.scores, found.feedback) == (Outcome.OK, {"score": 5.0}, str(outside)), found.reason


@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM])
@pytest.mark.parametrize("key", ["read", "path"])
async def test_nothing_that_is_opened_can_be_written_to(
    tmp_path: Path, outside: Path, force: IsolationLevel, key: str
) -> None:
    spec: dict[str, Any] = {key: (str(outside),)}
    async with sandbox(tmp_path, force=force, **spec) as opened:
        found = await opened.evaluate(program(WRITING.format(folder=outside)), "evl_1")
    assert found.feedback == repr(["blocked"] * 5)
    assert (outside / "number").read_text() == "2.5"


@pytest.mark.parametrize("force", list(IsolationLevel))
async def test_programs_of_an_opened_folder_stand_first_on_the_path(
    tmp_path: Path, outside: Path, force: IsolationLevel
) -> None:
    (outside / "awk").write_text("#!/bin/sh\necho 3\n")
    (outside / "awk").chmod(0o755)
    command = ("/bin/sh", "-c", 'echo "$(seven)$(awk)"')
    async with sandbox(tmp_path, path=(str(outside),), command=command, force=force) as opened:
        found = await opened.evaluate(GOOD, "evl_1")
    assert found.scores == {"score": 73}, found.reason


@pytest.mark.root
async def test_a_file_and_a_folder_below_a_closed_folder_are_shown_and_nothing_else_of_it(
    tmp_path: Path, outside: Path
) -> None:
    closed = outside / "closed"
    for name in ("shown", "hidden"):
        (closed / name).mkdir(parents=True)
        (closed / name / "number").write_text("4.5")
    (closed / "alone").write_text("1.5")
    closed.chmod(0o700)
    read = (str(closed / "shown"), str(closed / "alone"))
    async with sandbox(tmp_path, read=read) as opened:
        for path, value in ((closed / "shown" / "number", 4.5), (closed / "alone", 1.5)):
            found = await opened.evaluate(program(READING.format(path=path)), "evl_1")
            assert found.scores == {"score": value}, found.reason
        hidden = await opened.evaluate(program(READING.format(path=closed / "hidden" / "number")), "evl_2")
    assert hidden.reason.startswith("FileNotFoundError")
    assert hidden.reason.endswith(f": the sandbox does not show {closed}/hidden/number: add it to evaluator.read")


@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM])
async def test_a_program_that_looks_further_is_told_the_key(
    tmp_path: Path, outside: Path, force: IsolationLevel
) -> None:
    reason = (await outcome_of(tmp_path, READING.format(path=outside / "number"), force=force)).reason
    assert reason.startswith("PermissionError: ")
    assert reason.endswith(f" in solve): the sandbox does not show {outside}/number: add it to evaluator.read")


@pytest.mark.parametrize("integrity", list(Integrity))
async def test_an_evaluator_that_looks_further_is_told_the_key(
    tmp_path: Path, outside: Path, integrity: Integrity
) -> None:
    evaluator = """
        def load():
            try:
                return open("{path}").read()
            except OSError as error:
                raise RuntimeError("no data") from error
        def score(outputs, program):
            return {{"score": load()}}
        def evaluate(path):
            return {{"score": load()}}
    """.format(path=outside / "number")  # fmt: skip
    async with sandbox(tmp_path, evaluator, integrity=integrity) as opened:
        reason = (await opened.evaluate(GOOD, "evl_1")).reason
    assert reason.startswith("the evaluator failed: RuntimeError: no data (line ")
    assert reason.endswith(f": the sandbox does not show {outside}/number: add it to evaluator.read")


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ('open("/nowhere/at/all")', "'/nowhere/at/all' (line 3 of main.py, in solve)"),
        ('open("/var/new", "w")', "the sandbox lets nothing be written outside of the working folder"),
        ('raise PermissionError("of its own")', "PermissionError: of its own (line 3 of main.py, in solve)"),
        ('raise PermissionError(13, "no", 5)', "(line 3 of main.py, in solve)"),
    ],
)
async def test_no_key_is_named_for_what_the_sandbox_does_not_hide(tmp_path: Path, body: str, ending: str) -> None:
    reason = (await outcome_of(tmp_path, f"\ndef solve():\n    {body}\n")).reason
    assert reason.endswith(ending)
    assert "evaluator.read" not in reason


@pytest.mark.root
async def test_an_opened_file_that_its_permissions_close_is_named(tmp_path: Path, outside: Path) -> None:
    (outside / "number").chmod(0o600)
    source = READING.format(path=outside / "number")
    reason = (await outcome_of(tmp_path, source, read=(str(outside),))).reason
    assert f"its permissions close {outside}/number to the user that programs run as: chmod" in reason


async def test_large_data_is_mapped_beyond_the_limit_on_memory_and_shared(tmp_path: Path, outside: Path) -> None:
    """Pages of a file are the system's: they count in no evaluation, and evaluations share them."""
    with (outside / "large").open("wb") as file:
        file.truncate(3 << 30)
    scorer = f"""
        import mmap
        def score(outputs, program):
            with open("{outside}/large", "rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            seen = sum(data[place] for place in range(0, 300 << 20, 4096))
            return {{"score": len(data) + seen}}
    """
    limits = replace(LIMITS, memory_mb=64)
    async with sandbox(tmp_path, scorer, read=(str(outside),), limits=limits) as opened:
        for number in range(2):
            found = await opened.evaluate(GOOD, f"evl_{number}")
            assert found.scores == {"score": float(3 << 30)}, found.reason
