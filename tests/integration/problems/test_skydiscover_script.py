"""Evaluators of SkyDiscover that are a script: called without their container, with a training and a test part."""

import os
from pathlib import Path

import pytest

from service.bootstrap.runs import check_folder
from service.config import DatabaseSettings, PoliciesSettings, Settings
from service.errors import InvalidProblemError
from service.problems.check import CheckReport
from service.problems.load import load_problem
from tests.command_line import call_here
from tests.unit.problems.folders import write

Files = dict[str, str | bytes]
IGNORING = '#!/usr/bin/env bash\nPROGRAM="$1"\n# MODE ($2) is ignored\npython /benchmark/evaluator.py "$PROGRAM"\n'
DIVIDED = '#!/usr/bin/env bash\nset -euo pipefail\nMODE="$2"\npython /benchmark/evaluator.py "$1" "$MODE"\n'
DOCKERFILE = """
FROM python:3.12-slim
WORKDIR /benchmark
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY . .
RUN chmod +x evaluate.sh
ENTRYPOINT ["./evaluate.sh"]
"""
# The test part weighs otherwise, and its data lie where the container has them.
EVALUATOR = """
import json, runpy, sys
part = sys.argv[2] if len(sys.argv) > 2 else "train"
weight = json.load(open("/benchmark/weights.json"))[part]
value = runpy.run_path(sys.argv[1])["solve"]()
print("looking at", sys.argv[1], file=sys.stderr)
print(json.dumps({"status": "success", "combined_score": weight * value, "metrics": {"value": value, "note": "x"},
                  "artifacts": {"part": part}}))
"""


def skydiscover(script: str, evaluator: str = EVALUATOR, dockerfile: str = DOCKERFILE) -> Files:
    return {
        "initial_program.py": "def solve():\n    return 3.0\n",
        "config.yaml": "max_iterations: 4\n",
        "evaluator/Dockerfile": dockerfile,
        "evaluator/evaluate.sh": script,
        "evaluator/evaluator.py": evaluator,
        "evaluator/weights.json": '{"train": 2, "test": 100}',
    }


async def check(place: Path, files: Files) -> CheckReport:
    settings = Settings(
        database=DatabaseSettings(url=f"sqlite:///{place}/runs.db"),
        policies=PoliciesSettings(file=place / "policies.toml"),
    )
    return await check_folder(settings, write(place / "problem", files))


async def test_the_script_of_a_plain_container_is_called_without_it(tmp_path: Path) -> None:
    report = await check(tmp_path, skydiscover(IGNORING))
    assert not report.complaints
    evaluation = report.seeds[0].evaluation
    assert evaluation.scores == {"combined_score": 6.0, "value": 3.0}
    assert "part:\n  train" in evaluation.feedback or "part: train" in evaluation.feedback
    assert not load_problem(tmp_path / "problem").problem.evaluator.holdout


async def test_the_training_part_steers_and_the_test_part_is_held_out(tmp_path: Path) -> None:
    report = await check(tmp_path, skydiscover(DIVIDED))
    assert not report.complaints
    assert report.seeds[0].evaluation.scores["combined_score"] == 6.0
    assert load_problem(tmp_path / "problem").problem.evaluator.holdout


def test_the_best_of_a_run_is_measured_on_the_test_part(tmp_path: Path) -> None:
    write(tmp_path / "problem", skydiscover(DIVIDED))
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    words = ("--local", "run", str(tmp_path / "problem"), "--policy", "syntax", "--evaluations", "4", "--json")
    said = call_here(words, kept | {"HOME": str(tmp_path)})
    assert said.code == 0, said.err
    best = said.lines[-1]["best"]
    shown = call_here(("--local", "show", "last", "--json"), kept | {"HOME": str(tmp_path)})
    held_out = {one["candidate_id"]: one["scores"] for one in shown.lines[0]["assessment"]["holdout"]}
    assert held_out[best["candidate_id"]]["combined_score"] == pytest.approx(50 * best["fitness"])


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo no JSON\n", "evaluate.sh printed something else than one JSON object: no JSON"),
        ("echo '[]'\n", "evaluate.sh printed no JSON object"),
        ("echo why >&2; exit 3\n", "evaluate.sh ended with status 3: why"),
        ("head -c 20000000 /dev/zero\n", "evaluate.sh printed 19 MB, and at most 16 MB are read"),
    ],
)
async def test_a_script_that_fails_ends_in_one_sentence(tmp_path: Path, script: str, sentence: str) -> None:
    report = await check(tmp_path, skydiscover(script))
    (complaint,) = report.complaints
    assert sentence in complaint


@pytest.mark.parametrize(
    "step", ["FROM ubuntu:22.04", "RUN apt-get update && \\\n  apt-get install -y git", "RUN curl x"]
)
def test_a_container_that_is_needed_is_refused_with_the_step(tmp_path: Path, step: str) -> None:
    folder = write(tmp_path, skydiscover(DIVIDED, dockerfile=f"FROM python:3.12\n{step}\n"))
    with pytest.raises(InvalidProblemError) as error:
        load_problem(folder)
    (complaint,) = error.value.complaints
    assert complaint.startswith(
        "evaluator/Dockerfile: the evaluator is a container, which Evolve does not start: write"
    )
    assert f"It is built with {' '.join(step.split()[:2])}" in complaint


def test_a_python_evaluator_without_a_test_part_is_called_itself(tmp_path: Path) -> None:
    files = skydiscover(IGNORING, "def evaluate(program_path):\n    return {'combined_score': 1}\n")
    assert load_problem(write(tmp_path, files)).problem.evaluator.file == "evaluator/evaluator.py"
