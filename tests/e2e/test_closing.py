"""What a run found is examined at its end, by this process or by workers, and shown wherever the run is."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.evolving import Evolve, make_problem
from tests.e2e.test_workers import WorkerProcess, workers

EVALUATOR = """
import random


def inputs():
    return [1.0, 10.0]


def score(outputs, program):
    return {"value": outputs[0]["value"], "noise": random.random()}


def holdout(outputs, program):
    return {"value": outputs[1]["value"]}
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
        made = Evolve(tmp_path)
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
