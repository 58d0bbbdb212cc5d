"""The benchmark of the catalogue: what its report says of runs, and how each system runs on the same project."""

import json
import math
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import openevolve, shinka
from benchmarks.catalogue import Result, comparisons, race, table
from benchmarks.catalogue_comparison import compared
from benchmarks.catalogue_systems import (
    EVOLVE,
    OPENEVOLVE,
    SHINKA,
    TITLES,
    TUNED,
    by_openevolve,
    systems,
    write_project,
)
from benchmarks.counts import sign_test
from service.problems.load import load_problem

OPTIONS = Namespace(
    evaluations=10, cores=1, first_seed=0, seeds=1, problems=["circles-26"], total=math.inf, limit=60.0, keep=None,
    openevolve=Path("openevolve"), shinka=Path("shinka"),
)  # fmt: skip


def _result(seed: float, best: float, evaluations: int = 11) -> Result:
    return {"steps": [(1, seed), (4, best)], "evaluations": evaluations, "seconds": 2.0}


def test_scores_return_to_the_unit_of_their_problem(tmp_path: Path) -> None:
    """The bounds of tsp-berlin52 are 7000 and 40000, and the proven optimum is 7542: a share of 32458 / 33000."""
    shares = [(40000 - length) / 33000 for length in (8980, 7882, 7542)]
    runs = {EVOLVE: {"tsp-berlin52": {0: _result(shares[0], shares[1]), 1: _result(shares[0], shares[2])}}}
    (row,) = table(runs, 10, tmp_path)
    assert (row["seed"], row["known_best"]) == (8980.0, 7542)
    assert (row[f"{EVOLVE}: best"], row[f"{EVOLVE}: median"], row[f"{EVOLVE}: gap"]) == (7542.0, 7712.0, 0.0)
    assert row[f"{EVOLVE}: mean"] == 7712.0
    assert row[f"{EVOLVE}: way"] == pytest.approx((1098 / 1438 + 1) / 2, abs=5e-4)
    assert (row[f"{EVOLVE}: runs"], row[f"{EVOLVE}: evaluations"], row[f"{EVOLVE}: cut_off"]) == (2, 22, 0)


def test_a_run_with_fewer_evaluations_was_cut_off_and_missing_ones_are_not_counted(tmp_path: Path) -> None:
    runs = {
        EVOLVE: {"circles-26": {0: _result(0.5, 0.75), 1: _result(0.5, 0.5, evaluations=10)}},
        OPENEVOLVE: {"circles-26": {0: _result(0.5, 0.6)}, "speed-convolution": {0: _result(0.1, 0.2)}},
    }
    circles, speed = table(runs, 10, tmp_path)
    assert (circles[f"{EVOLVE}: cut_off"], circles[f"{OPENEVOLVE}: runs"]) == (1, 1)
    assert circles[f"{EVOLVE}: gap"] == pytest.approx(2.6359830849 - 0.75 * 2.7)
    assert f"{EVOLVE}: best" not in speed
    assert (speed[f"{OPENEVOLVE}: gap"], speed[f"{OPENEVOLVE}: way"]) == (None, None)


def test_sign_test_is_that_of_the_binomial_distribution() -> None:
    """Two or fewer tails of 19 come in 1 + 19 + 171 of 2^19 cases, and as many have two or fewer heads."""
    assert sign_test(17, 2) == sign_test(2, 17) == pytest.approx(2 * 191 / 2**19)
    assert sign_test(0, 0) == sign_test(3, 3) == 1.0


def test_systems_are_compared_by_means_over_the_seeds_that_both_have() -> None:
    def runs(*bests: float) -> dict[int, Sequence[tuple[int, float]]]:
        return {seed: [(1, 0.1), (4, best)] for seed, best in enumerate(bests)}

    own = {"a": runs(0.5, 0.3, 0.9), "b": runs(0.2), "c": runs(0.2), "d": runs(0.9)}
    peer = {"a": runs(0.3, 0.4), "b": runs(0.3), "c": runs(0.2), "e": runs(0.9)}
    found = compared(own, peer, 11)
    assert found is not None
    assert {key: found[key] for key in ("problems", "ahead", "equal", "behind", "behind_on", "p")} == {
        "problems": 3, "ahead": 1, "equal": 1, "behind": 1, "behind_on": ["b"], "p": 1.0,
    }  # fmt: skip
    assert compared({"d": own["d"]}, peer, 11) is None


def test_evaluations_to_the_best_of_a_peer_are_those_of_the_first_that_is_as_good() -> None:
    """Ratios of 2 of 8, 11 (never reached, so the last) of 8, and 1 of 1: the peer never left the seed."""
    own = {"a": {0: [(1, 0.1), (2, 0.6), (9, 0.7)]}, "b": {0: [(1, 0.1), (2, 0.5)]}, "c": {0: [(1, 0.1), (3, 0.2)]}}
    peer = {"a": {0: [(1, 0.1), (8, 0.6)]}, "b": {0: [(1, 0.1), (8, 0.6)]}, "c": {0: [(1, 0.1)]}}
    found = compared(own, peer, 11)
    assert found is not None
    way = found["to_best_of_peer"]
    assert way["ratio"] == pytest.approx((2 / 8 * 11 / 8) ** (1 / 3), abs=1e-3)
    assert (way["runs"], way["not_reached"]) == (3, 1)


def test_every_system_of_evolve_is_compared_with_every_other_system_that_ran() -> None:
    by_problem = {"circles-26": {0: _result(0.5, 0.6)}}
    found = dict.fromkeys((EVOLVE, TUNED, SHINKA), by_problem)
    assert list(comparisons(found, 10)) == [f"{EVOLVE} beside {SHINKA}", f"{TUNED} beside {SHINKA}"]


def test_a_kept_run_has_its_steps_and_older_lines_are_not_used(tmp_path: Path) -> None:
    old = {"system": EVOLVE, "problem": "circles-26", "seed": 0, "evaluations": 10}
    keep = tmp_path / "kept.jsonl"
    keep.write_text(json.dumps(old | {"result": {"seed": 0.5, "best": 0.9, "evaluations": 11, "seconds": 1.0}}) + "\n")
    asked = []

    def run(name: str, seed: int, home: Path, options: Any) -> list[float]:
        asked.append((name, seed))
        return [0.5, 0.4, 0.6, 0.6, 0.7]

    options = Namespace(**vars(OPTIONS) | {"keep": keep})
    for _ in range(2):
        (result,) = race({EVOLVE: run}, options, tmp_path)[EVOLVE]["circles-26"].values()
        assert [tuple(step) for step in result["steps"]] == [(1, 0.5), (3, 0.6), (5, 0.7)]
    assert asked == [("circles-26", 0)]


def test_seeds_before_the_first_are_not_run(tmp_path: Path) -> None:
    options = Namespace(**vars(OPTIONS) | {"first_seed": 3, "seeds": 5})
    found = race({EVOLVE: lambda *_: [0.5, 0.6]}, options, tmp_path)
    assert list(found[EVOLVE]["circles-26"]) == [3, 4]


def test_only_the_chosen_systems_run_and_only_their_environments_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def install(folder: Path) -> Path:
        made.append(folder)
        return folder

    monkeypatch.setattr(shinka, "install_shinka", install)
    assert list(systems(["shinka", "tuner"], OPTIONS)) == [TUNED, SHINKA]
    assert made == [Path("shinka").absolute()]
    assert list(TITLES) == ["evolve", "tuner", "openevolve", "shinka"]


def test_openevolve_has_its_budget_of_evaluations_although_some_iterations_evaluate_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def every_second_evaluates(
        python: Path, project: Path, output: Path, iterations: int, limit_seconds: float, enough: Callable[[], bool]
    ) -> None:
        scores = ["0.5\n"]
        for iteration in range(iterations):
            scores += ["0.6\n"] * (iteration % 2)
            (project / "scores.txt").write_text("".join(scores))
            if enough():
                break

    monkeypatch.setattr(openevolve, "run_openevolve", every_second_evaluates)
    assert by_openevolve(Path("python"), "circles-26", 0, tmp_path, OPTIONS) == [0.5] + [0.6] * OPTIONS.evaluations
    assert f"max_iterations: {2 * OPTIONS.evaluations}\n" in (tmp_path / "project" / "config.yaml").read_text()


def _project(folder: Path, name: str = "circles-26") -> Path:
    return write_project(folder, name, "http://127.0.0.1:1/v1", 0, OPTIONS)


FAILURES = {
    "return bytearray(10 << 30)": "MemoryError",
    "raise SystemExit(0)": "SystemExit: 0",
    "import os; os._exit(0)": "the program ended its process",
    "while True: pass": "the program takes longer than 0.5 s",
    "return {1, 2}": "not JSON serializable",
}


def test_a_failure_has_its_reason_and_counts_as_an_evaluation(tmp_path: Path) -> None:
    project = _project(tmp_path / "project")
    paths = [tmp_path / f"{number}.py" for number in range(len(FAILURES))]
    for path, body in zip(paths, FAILURES, strict=True):
        path.write_text(f"print('[]')\ndef pack():\n    {body}\n")
    code = (
        "import evaluator, json, sys; seed = evaluator.examine('initial_program.py'); evaluator.SECONDS = 0.5; "
        "print(json.dumps([seed, *map(evaluator.examine, sys.argv[1:])]))"
    )
    done = subprocess.run([sys.executable, "-c", code, *paths], cwd=project, capture_output=True, check=True)
    (seed, fine), *broken = json.loads(done.stdout)
    assert (seed > 0.0, fine) == (True, None)
    assert [score for score, _ in broken] == [0.0] * len(FAILURES)
    for (_, reason), expected in zip(broken, FAILURES.values(), strict=True):
        assert expected in reason
    assert (project / "scores.txt").read_text().splitlines() == [repr(seed), *["0.0"] * len(FAILURES)]


def test_a_task_of_shinkaevolve_has_a_process_that_holds_the_evaluator_score_its_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, broken = _project(tmp_path / "project"), tmp_path / "broken.py"
    broken.write_text("def pack():\n    raise ValueError('none')\n")
    told: list[Any] = []

    def run_peer(command: Sequence[str], log: Path, limit_seconds: float, enough: Callable[[], bool]) -> Namespace:
        del limit_seconds, enough
        task = Path(command[command.index("--task-dir") + 1])
        for program in (task / "initial.py", broken):
            results = log.parent / program.stem
            words = [sys.executable, str(task / "evaluate.py"), "--program_path", str(program)]
            subprocess.run([*words, "--results_dir", str(results)], check=True)
            told.append([json.loads((results / name).read_text()) for name in ("metrics.json", "correct.json")])
        return Namespace(in_time=True)

    monkeypatch.setattr(shinka, "run_peer", run_peer)
    assert shinka.run_shinka(Path(sys.executable), project, "", tmp_path / "out", 10, 1, 60.0, lambda: False)
    (seed, fine), (nothing, failure) = told
    assert seed["combined_score"] > 0.0
    assert (fine, nothing["combined_score"]) == ({"correct": True, "error": None}, 0.0)
    assert "ValueError: none" in failure["error"]
    assert (project / "scores.txt").read_text().splitlines() == [repr(seed["combined_score"]), "0.0"]


@pytest.mark.parametrize("name", ["circles-26", "speed-convolution"])
def test_no_system_stops_a_program_before_the_evaluator_does(tmp_path: Path, name: str) -> None:
    project = _project(tmp_path / "project", name)
    limit = load_problem(project).problem.limits
    within: Mapping[str, float] = {"circles-26": 5.0, "speed-convolution": 30.0}
    assert limit.wall_seconds == limit.cpu_seconds == within[name] + 60.0
    assert f"  timeout: {within[name] + 60.0:.0f}\n" in (project / "config.yaml").read_text()
