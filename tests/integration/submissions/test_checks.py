"""A problem is checked as it was sent, its seeds run once, without a trace."""

import asyncio
import sys
import tempfile
from pathlib import Path

import pytest

from evolve.evaluation import Outcome
from service.bootstrap.submissions import make_submissions
from service.errors import RefusedError, UnreachableError
from service.ports import ProblemReport, RunRequest, Upload
from service.queue.memory import MemoryBroker
from tests.integration.submissions.conftest import FILES, TENANT, Build, House
from tests.unit.problems.folders import NATIVE


async def check(house: House, **files: bytes) -> ProblemReport:
    named = {name.replace("_py", ".py").replace("_toml", ".toml"): content for name, content in files.items()}
    return await house.submissions.check_problem(Upload(name="", files={**FILES, **named}))


async def test_a_sound_problem_has_its_seeds_scored_and_nothing_is_stored(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    report = await check(house)
    assert (report.name, report.complaints) == ("p", ())
    (seed,) = report.seeds
    assert (seed.name, seed.evaluation.outcome, seed.evaluation.scores) == ("seed.py", Outcome.OK, {"gain": 1.0})
    assert report.document["objectives"][0]["name"] == "gain"
    assert list(scratch.iterdir()) == []
    assert house.storage.reader.runs() == []


async def test_a_seed_that_fails_is_a_complaint(house: House) -> None:
    report = await check(house, seed_py=b"def solve():\n    raise ValueError('no')\n")
    assert "the seed seed.py fails" in report.complaints[0]
    assert report.seeds[0].evaluation.outcome is Outcome.ERROR


async def test_what_cannot_be_read_is_complained_about_and_nothing_is_run(house: House) -> None:
    report = await check(house, problem_toml=b"schema = 2\n")
    assert any("schema = 1" in complaint for complaint in report.complaints)
    assert (report.seeds, report.document) == ((), {})


async def test_what_may_not_run_here_is_refused(house: House) -> None:
    with pytest.raises(RefusedError, match=r"limits\.network"):
        await check(house, problem_toml=(NATIVE + "[limits]\nnetwork = true\n").encode())


async def test_an_interpreter_that_the_operator_does_not_name_is_never_started(house: House, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    program = tmp_path / "interpreter"
    program.write_text(f"#!/bin/sh\necho started >> {trace}\n")
    program.chmod(0o755)
    document = NATIVE.replace('entry = "solve"', f'entry = "solve"\npython = "{program}"\nrequirements = ["numpy"]')
    with pytest.raises(RefusedError, match="names the interpreter"):
        await check(house, problem_toml=document.encode())
    house.problem(files={**FILES, "problem.toml": document.encode()})
    with pytest.raises(RefusedError, match="names the interpreter"):
        house.submit(problem="p")
    assert not trace.exists()


async def test_an_interpreter_that_the_operator_names_is_used(build: Build) -> None:
    house = build()
    permitting = house.settings.sandbox.model_copy(update={"interpreters": (sys.executable,)})
    settings = house.settings.model_copy(update={"sandbox": permitting})
    document = NATIVE.replace('entry = "solve"', f'entry = "solve"\npython = "{sys.executable}"')
    submissions = make_submissions(settings, house.stores)
    report = await submissions.check_problem(Upload(name="", files={**FILES, "problem.toml": document.encode()}))
    assert report.complaints == ()


async def test_a_check_by_workers_waits_only_so_long(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    house = build()
    monkeypatch.setattr("service.usecases.submit_run.CHECK_SECONDS", 0.2)
    alone = make_submissions(house.settings, house.stores, broker=MemoryBroker(house.clock))
    with pytest.raises(UnreachableError, match="no worker is free"):
        async with asyncio.timeout(20):
            await alone.check_problem(Upload(name="", files=FILES))


TOO_MUCH = [
    ("wall_seconds = 1e12", "limits.wall_seconds", "sandbox.max_wall_seconds"),
    ("cpu_seconds = 1382400.5", "limits.cpu_seconds", "sandbox.max_cpu_seconds"),
    ("memory_mb = 100_000_000", "limits.memory_mb", "sandbox.max_memory_mb"),
    ("processes = 1025", "limits.processes", "sandbox.max_processes"),
    ("disk_mb = 4097", "limits.disk_mb", "sandbox.max_disk_mb"),
    ("output_kb = 65537", "limits.output_kb", "sandbox.max_output_kb"),
    ("repeats = 1_000_000_000", "evaluator.repeats", "sandbox.max_repeats"),
]


@pytest.mark.parametrize(("line", "key", "setting"), TOO_MUCH)
@pytest.mark.parametrize("queue", [None, "redis://127.0.0.1:1/0"], ids=["here", "workers"])
async def test_a_problem_that_asks_for_more_than_is_permitted_is_refused(
    build: Build, queue: str | None, line: str, key: str, setting: str
) -> None:
    house = build()
    submissions = make_submissions(house.settings, house.stores, queue=queue)
    repeats = key == "evaluator.repeats"
    text = NATIVE.replace('entry = "solve"', f'entry = "solve"\n{line}') if repeats else f"{NATIVE}\n[limits]\n{line}\n"
    files = {**FILES, "problem.toml": text.encode()}
    with pytest.raises(RefusedError, match=f"{key} .* {setting}"):
        await submissions.check_problem(Upload(name="", files=files))
    house.problem(files=files)
    with pytest.raises(RefusedError, match=f"{key} .* {setting}"):
        submissions.submit(TENANT, RunRequest(problem="p"))


async def test_the_operator_may_permit_more(build: Build) -> None:
    house = build()
    generous = house.settings.sandbox.model_copy(update={"max_wall_seconds": 200000})
    settings = house.settings.model_copy(update={"sandbox": generous})
    house.problem(files={**FILES, "problem.toml": f"{NATIVE}\n[limits]\nwall_seconds = 200000\n".encode()})
    submissions = make_submissions(settings, house.stores)
    assert submissions.submit(TENANT, RunRequest(problem="p")).problem_name == "p"
