"""The benchmark of bandits: how its runs are compared, and that a small one comes to its report."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bandits import OFF, ON, compared, improvements, target_of
from service.problems.load import load_problem

ROOT = Path(__file__).parents[2]


def test_only_what_is_better_than_all_before_is_a_step() -> None:
    assert improvements([None, 1.0, 1.0, None, 0.5, 2.0]) == [(2, 1.0), (6, 2.0)]
    assert improvements([None]) == []


@pytest.mark.parametrize(("example", "sign"), [("cap_set", 1.0), ("function_minimisation", -1.0)])
def test_a_target_lies_between_the_seed_and_the_best_known(example: str, sign: float) -> None:
    best = load_problem(ROOT / "examples" / example).problem.known_best
    assert best is not None
    assert target_of(example, 2.0) == pytest.approx((2.0 + sign * best) / 2)


def test_on_is_compared_with_off_run_by_run() -> None:
    """The target of cap_set from 0 is 56: off takes 40 and, not reached, 100 evaluations; on takes 10 and 25."""
    off, slow = [(1, 0.0), (40, 60.0)], [(1, 0.0), (90, 30.0)]
    on, fast = [(1, 0.0), (10, 60.0)], [(1, 0.0), (25, 70.0)]
    found = compared({OFF: {"cap_set": [off, slow]}, ON: {"cap_set": [on, fast]}}, 100)
    assert found["targets"] == {"cap_set": 56.0}
    assert found["reached"] == {OFF: {"cap_set": 1}, ON: {"cap_set": 2}}
    assert found["ratio"] == pytest.approx(0.25)
    assert found["ends"] == {"cap_set": {"ahead": 1, "behind": 0}}


def test_a_small_benchmark_comes_to_its_report(tmp_path: Path) -> None:
    words = ["--seeds", "1", "--evaluations", "12", "--comparisons", "policies", "--keep", str(tmp_path / "kept")]
    command = [sys.executable, "-m", "benchmarks.bandits", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    kept = [json.loads(line) for line in (tmp_path / "kept").read_text().splitlines()]
    assert [(line["bandit"], line["example"]) for line in kept] == [(OFF, "maze"), (ON, "maze")]
    assert set(json.loads(done.stdout)["policies"]["reached"]) == {OFF, ON}
