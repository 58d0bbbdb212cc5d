"""Small projects in the layouts of ShinkaEvolve and SkyDiscover, searched on as they are."""

import json
import os
from pathlib import Path

import pytest

from tests.command_line import Said, call_here
from tests.unit.problems.folders import write

SHINKA = """
import argparse

from shinka.core import run_shinka_eval


def valid(total):
    return (total <= 100, "the total is above 100")


def aggregate(totals):
    return {
        "combined_score": totals[0],
        "public": {"total": totals[0], "words": "as shown"},
        "private": {"secret": 42.0},
        "text_feedback": "larger is better",
        "extra_data": [1],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path")
    parser.add_argument("--results_dir")
    given = parser.parse_args()
    run_shinka_eval(
        program_path=given.program_path,
        results_dir=given.results_dir,
        experiment_fn_name="total",
        num_runs=2,
        get_experiment_kwargs=lambda number: {"more": number},
        validate_fn=valid,
        aggregate_metrics_fn=aggregate,
    )
"""
FILES = """
import argparse
import json
import pathlib
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--program_path")
parser.add_argument("--results_dir")
given = parser.parse_args()
done = subprocess.run([sys.executable, given.program_path], capture_output=True, text=True)
folder = pathlib.Path(given.results_dir)
correct = done.returncode == 0
score = float(done.stdout) if correct else 0.0
folder.joinpath("metrics.json").write_text(json.dumps({"combined_score": score}))
folder.joinpath("correct.json").write_text(json.dumps({"correct": correct, "error": done.stderr[-80:]}))
"""
SKY = """
from skydiscover.evaluation.evaluation_result import EvaluationResult
from weights import WEIGHT
import runpy


def evaluate(program_path):
    value = runpy.run_path(program_path)["VALUE"]
    return EvaluationResult(metrics={"combined_score": value * WEIGHT}, artifacts={"seen": str(value)})
"""
LAYOUTS: dict[str, dict[str, str | bytes]] = {
    "shinka": {
        "initial.py": "STEP = 3  # EVOLVE-BLOCK\ndef total(more):\n    return 10.0 + STEP + more\n",
        "evaluate.py": SHINKA,
        "run_evo.py": "task_sys_msg = 'Make the total large.'\n",
    },
    "shinka without its library": {
        "initial.py": "STEP = 12\nprint(STEP + 1)\n",
        "evaluate.py": FILES,
    },
    "skydiscover": {
        "initial_program.py": "# EVOLVE-BLOCK-START\nVALUE = 13\n# EVOLVE-BLOCK-END\n",
        "evaluator/evaluator.py": SKY,
        "evaluator/weights.py": "WEIGHT = 1\n",
        "evaluator/evaluate.sh": "python /benchmark/evaluator.py $1\n",
        "config.yaml": "diff_based_generation: true\nmax_iterations: 3\nsearch: {type: adaevolve}\n",
    },
}


def evolve(home: Path, *words: str) -> Said:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    return call_here(words, kept | {"HOME": str(home)})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_project_is_checked_and_searched_on_as_it_is(layout: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "project", dict(LAYOUTS[layout]))
    found = evolve(tmp_path, "problem", "check", str(folder), "--json")
    assert found.code == 0, found.out + found.err
    (seed,) = json.loads(found.out)["seeds"]
    assert seed["scores"]["combined_score"] == 13.0
    words = ["--policy", "syntax", "--evaluations", "20", "--seed", "1", "--json"]
    done = evolve(tmp_path, "run", str(folder), *words)
    assert done.code == 0, done.err
    summary = json.loads(done.out.splitlines()[-1])
    assert (summary["evaluations"], summary["seed_fitness"]) == (20, 13.0)
    assert summary["best"]["fitness"] > 13.0


def test_what_shinka_keeps_private_reaches_people_and_no_policy(tmp_path: Path) -> None:
    folder = write(tmp_path / "project", dict(LAYOUTS["shinka"]))
    (seed,) = json.loads(evolve(tmp_path, "problem", "check", str(folder), "--json").out)["seeds"]
    assert seed["scores"] == {"total": 13.0, "combined_score": 13.0}
    assert seed["artifacts"] == {"words": "as shown"}
    assert "larger is better" in seed["feedback"]
    assert "secret" not in seed["feedback"]
    assert "private: {'secret': 42.0}" in seed["printed"]["both"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return 101", "the evaluator says: Validation failed: the total is above 100"),
        ("raise ValueError('no')", "the evaluator says: no"),
        ("return float('nan')", "the evaluator says: Validation failed: the total is above 100"),
    ],
)
def test_a_program_that_is_not_correct_fails_with_its_reason(tmp_path: Path, body: str, reason: str) -> None:
    files = {**LAYOUTS["shinka"], "initial.py": f"def total(more):\n    {body}\n"}
    folder = write(tmp_path / "project", files)
    said = evolve(tmp_path, "problem", "check", str(folder))
    assert said.code == 8
    assert reason in said.out


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_imported_project_gives_the_same_scores(layout: str, tmp_path: Path) -> None:
    folder, target = write(tmp_path / "project", dict(LAYOUTS[layout])), tmp_path / "imported"
    done = evolve(tmp_path, "problem", "import", str(folder), str(target))
    assert done.code == 0, done.err
    assert done.out.splitlines()[0].startswith("form: a ")
    assert (target / "problem.toml").read_text().startswith("schema = 1\n")
    found = [json.loads(evolve(tmp_path, "problem", "check", str(one), "--json").out) for one in (folder, target)]
    assert [one["seeds"][0]["scores"] for one in found] == [found[0]["seeds"][0]["scores"]] * 2
    assert [len(one["taken"]) for one in found] == [5, 0]
    again = evolve(tmp_path, "problem", "import", str(folder), str(target))
    assert again.code != 0
    assert "is not empty: name a new folder" in again.err
