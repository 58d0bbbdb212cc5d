"""What a run found is examined at its end, by this process or by workers, and shown wherever the run is."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.evolving import Evolve, EvolveHere, make_problem
from tests.e2e.test_workers import WorkerProcess, read_until, start_run, workers
from tests.patience import PATIENCE_SECONDS

EVALUATOR = """
import random


def inputs():
    return [1.0]


def holdout_inputs():
    return [10.0]


def score(outputs, program):
    return {"value": outputs[0]["value"], "noise": random.random()}


def holdout(outputs, program):
    return {"value": outputs[0]["value"]}
"""
SEED = "def give(x):\n    a = 1.5\n    b = 2.5\n    return a * b * x\n"


def examined(folder: Path) -> Path:
    problem = make_problem(folder, evaluations=12)
    text = (problem / "problem.toml").read_text()
    (problem / "problem.toml").write_text(text.replace('entry = "give"', 'entry = "give"\nholdout = true\naudit = 2'))
    (problem / "program.py").write_text(SEED)
    (problem / "evaluator.py").write_text(EVALUATOR)
    return problem


@pytest.fixture
def evolve(tmp_path: Path) -> Iterator[Evolve]:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        made = EvolveHere(tmp_path)
        made.environment |= {"TMPDIR": scratch}
        yield made


def check(evolve: Evolve, problem: Path) -> None:
    summary = evolve.lines("run", str(problem), "--json")[-1]
    assert (summary["reason"], summary["evaluations"]) == ("evaluations", 12)
    assessment = summary["assessment"]
    first, *_, seed = assessment["holdout"]
    assert first["candidate_id"] == summary["best"]["candidate_id"]
    assert first["fitness"] != first["recorded_fitness"]
    assert (seed["recorded_fitness"], seed["fitness"]) == (3.75, 37.5)
    assert (assessment["audit"]["made"], assessment["audit"]["holds"]) == (2, True)
    shown = evolve.json("show", "last")
    assert shown["assessment"] == assessment
    report = problem.parent / "report.html"
    evolve.call("report", "last", "-o", str(report))
    assert "Audit of the best" in report.read_text()
    text = evolve.call("show", "last")
    assert "held out" in text
    assert "the scores hold within 0.01 in 2 evaluations under other seeds" in text


def test_a_run_of_one_process_is_examined(evolve: Evolve, tmp_path: Path) -> None:
    problem = examined(tmp_path / "toy")
    assert "holdout" not in evolve.call("problem", "check", str(problem))
    check(evolve, problem)


def test_a_run_whose_programs_workers_score_is_examined_by_them(evolve: Evolve, tmp_path: Path, redis_url: str) -> None:
    evolve.environment |= {"EVOLVE_QUEUE__URL": redis_url}
    with workers(evolve) as started:
        started.append(WorkerProcess(evolve, slots=2))
        check(evolve, examined(tmp_path / "toy"))


def test_a_runner_that_is_killed_meanwhile_leaves_the_rest_to_the_next(evolve: Evolve, tmp_path: Path) -> None:
    problem = examined(tmp_path / "toy")
    toml = problem / "problem.toml"
    toml.write_text(toml.read_text().replace("audit = 2", "audit = 12"))
    (problem / "program.py").write_text("import time\n" + SEED.replace("    return", "    time.sleep(0.1)\n    return"))
    process = start_run(evolve, problem)
    told = read_until(process, "audit.scored", 2)
    process.kill()
    process.communicate(timeout=PATIENCE_SECONDS)
    run_id = told[0]["run_id"]
    summary = evolve.lines("run", "--resume", run_id, "--json")[-1]
    assert (summary["state"], summary["reason"], summary["evaluations"]) == ("succeeded", "evaluations", 12)
    assert (summary["assessment"]["audit"]["made"], summary["assessment"]["audit"]["holds"]) == (12, True)
    kinds = ["run.closing", "audit.scored", "run.finished"]
    events = [one for one in evolve.lines("watch", run_id, "--json")[:-1] if one["kind"] in kinds]
    assert [one["kind"] for one in events] == ["run.closing", *["audit.scored"] * 12, "run.finished"]
    assert [one["number"] for one in events[1:-1]] == list(range(1, 13))
