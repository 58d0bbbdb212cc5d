"""The benchmark of exploration: what its tasks score, and that a small one comes to its report."""

import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cheap_tasks import CAPACITY, ITEMS, PLACES, TASKS, CheapTask
from benchmarks.counts import geometric
from benchmarks.exploration import BASE, InProcess, Searches, compared
from evolve.evaluation import Outcome
from evolve.program import Program

ROOT = Path(__file__).parents[2]
BY_NAME = {task.name: task for task in TASKS}
# Optimal ones: Knuth, The Art of Computer Programming, volume 3, 5.3.4; Babcock 1953.
NINETEEN = (
    (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7), (0, 1), (2, 3), (4, 5), (6, 7), (2, 4), (3, 5),
    (1, 4), (3, 6), (1, 2), (3, 4), (5, 6),
)  # fmt: skip
RULER = (0, 1, 6, 10, 23, 26, 34, 41, 53, 55)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_seed_of_a_task_scores_within_its_bounds(task: CheapTask) -> None:
    assert task.low <= task.run(task.seed) <= task.high


@pytest.mark.parametrize(
    ("name", "answer", "score"),
    [
        ("network", NINETEEN, 1 - 0.019),
        ("network", NINETEEN[:-1], None),
        ("golomb", RULER, 45 - 0.55),
        ("golomb", [mark - 1000 for mark in RULER], 45 - 0.55),
        ("golomb", range(10), 9 - 0.09),
        ("spread", [(x / 3, y / 3) for x in range(4) for y in range(4)][:13], 1 / 3),
        ("heilbronn", [(n / 10, n / 10) for n in range(11)], 0.0),
        ("tour", range(22), -sum(math.dist(PLACES[n], PLACES[n - 1]) for n in range(22))),
    ],
)
def test_a_known_answer_scores_what_it_is_worth(name: str, answer: Any, score: float | None) -> None:
    found = BY_NAME[name].score(answer)
    assert found == pytest.approx(score, abs=1e-12) if score is not None else found < 1


def test_the_score_of_a_packing_counts_its_bins() -> None:
    rooms: list[int] = []
    for item in ITEMS:  # the first of the tightest bins
        fits = [room for room in rooms if room >= item]
        if fits:
            rooms[rooms.index(min(fits))] -= item
        else:
            rooms.append(CAPACITY - item)
    found = BY_NAME["packing"].score(lambda _, room: -room)
    assert -len(rooms) - 0.001 * math.sqrt(CAPACITY) <= found <= -len(rooms)


@pytest.mark.parametrize("body", ["while True: pass", "raise SystemExit", "return [0]", "return [(float('nan'), 0)]"])
async def test_a_program_that_does_not_do_is_invalid_and_the_next_is_scored(body: str) -> None:
    evaluator, began = InProcess(BY_NAME["heilbronn"]), time.monotonic()
    bad = await evaluator.evaluate(Program.of({"program.py": f"def solve():\n    {body}\n"}), "one")
    good = await evaluator.evaluate(Program.of({"program.py": BY_NAME["heilbronn"].seed}), "two")
    assert (bad.outcome, good.outcome) == (Outcome.INVALID, Outcome.OK)
    assert [evaluation for evaluation, _ in evaluator.steps] == [2]
    assert time.monotonic() - began < 30


def test_a_search_that_does_not_get_there_counts_with_its_last_evaluation() -> None:
    found: Searches = {
        BASE: {"one": [[(1, 0.0), (10, 1.0)]] * 2},
        "other": {"one": [[(1, 0.0), (5, 2.0 / 3), (40, 1.0)], [(1, 0.9)]]},
    }
    report = compared(found, BASE, last=80)
    assert report["targets"] == {"one": 1.0}
    assert report["settings"]["other"]["reached_after"] == {"one": [40, None]}
    assert report["settings"]["other"]["not_reached"] == {"one": 1}
    assert report["settings"]["other"]["ratio"] == pytest.approx(math.sqrt(4 * 8), abs=5e-4)
    assert report["settings"][BASE]["ratio"] == 1
    ahead = {evaluations: [*of.values()] for evaluations, of in report["settings"]["other"]["best_after"].items()}
    assert ahead == {"5": [2, 0], "10": [0, 2], "20": [0, 2], "40": [0, 1], "80": [0, 1]}


def test_the_interval_of_a_ratio_holds_the_ratios_of_all_draws_of_two_seeds() -> None:
    found = geometric({"one": [20, 80]}, {"one": [10, 10]}, last=100)
    assert found == {"ratio": 4.0, "interval_95": [2.0, 8.0], "by_problem": {"one": 4.0}}


def test_a_small_run_reports_and_goes_on_where_it_was_left(tmp_path: Path) -> None:
    kept, out = tmp_path / "kept.jsonl", tmp_path / "report.json"
    command = [sys.executable, "-m", "benchmarks.exploration", "--seeds", "1", "--evaluations", "30"]
    command += [
        "--settings",
        "1 island, exponent 2",
        "--tasks",
        "golomb",
        "tour",
        "--keep",
        str(kept),
        "--out",
        str(out),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first = json.loads(out.read_text())
    settings = first["answers"]["1"]["settings"]
    assert settings.keys() == {BASE, "1 island, exponent 2"}
    assert settings[BASE]["ratio"] == 1
    assert not any(settings[BASE]["not_reached"].values())  # of one seed, the base gets to its own end
    lines = kept.read_text().splitlines()
    assert len(lines) == 2 * 2
    kept.write_text("".join(f"{line}\n" for line in lines[:-1]))
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert len(kept.read_text().splitlines()) == len(lines)
    assert kept.read_text().splitlines()[:-1] == lines[:-1]
