"""The statistics of a run in a notebook are those that are told of a stored run."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evolve
from evolve.events import EventKind
from evolve.problem import Measure, Objective
from service.bootstrap.runs import open_run
from service.bootstrap.storage import open_storage
from service.config import load_settings
from service.notebook.result import RunResult
from service.projections.run_site import stored_site
from service.runner.desired_state import RunOrders
from service.runner.run_loop import drive
from service.schemas.statistics import RunStatistics
from service.usecases.plan import RunOrder
from tests.databases import sqlite_file

EXAMPLES = Path(__file__).parents[3] / "examples"
PAGE = EXAMPLES.parent / "docs" / "how-to" / "notebook.md"
BINS, WIDTH = 5, 20.0


def value_of(source: str) -> float:
    space: dict[str, Any] = {}
    exec(source, space)
    return float(space["x"])


def traded(source: str) -> dict[str, float]:
    x = value_of(source)
    if x % 7 == 3:
        raise ValueError("unlucky")
    return {"small": -x, "even": 0.5 if x % 2 else 1.0, "x": x}


class Walking:
    """A policy that answers with a number drawn anew, that again, one that everybody had, and what is not a program."""

    __name__ = "walking"

    def __init__(self) -> None:
        self._rng = np.random.default_rng(1)

    def __call__(self, prompt: str) -> list[str]:
        drawn = int(self._rng.integers(100))
        return [f"x = {drawn}\n", f"x = {drawn}\n", "x = 7\n", "x = (\n"]


@pytest.fixture(scope="module")
def result() -> RunResult:
    return evolve.run(
        "x = 7\n",
        evaluate=traded,
        objectives=[Objective(name="small", low=-BINS * WIDTH, high=0), Objective(name="even", low=0, high=1)],
        measures=[Measure(name="x", low=0, high=BINS * WIDTH, bins=BINS)],
        policy=Walking(),
        answers=4,
        evaluations=30,
        islands=2,
        migration_interval=4,
        migration_rate=1.0,
        selection={"uniform": 1.0},
    )


def test_what_a_run_came_to_follows_from_its_records(result: RunResult) -> None:
    found, records = result.statistics, result.candidates
    evaluated = [record for record in records if record["status"] == "evaluated"]
    valid = [record for record in evaluated if record["fitness"] is not None]
    statuses = [record["status"] for record in records]
    assert 0 < len(valid) < len(evaluated) == found.evaluations == 30
    assert (found.run_id, found.valid) == (result.run_id, len(valid))
    assert found.duplicates == statuses.count("duplicate") > 0
    assert found.rejected == statuses.count("rejected") > 0
    assert found.best_fitness == result.fitness
    assert found.best_at == result.history.index(result.fitness) + 1
    assert found.front == len(result.front)
    assert found.cells == len({int(record["measures"]["x"] // WIDTH) for record in valid})
    assert found.coverage == found.cells / BINS
    assert found.rewards.distinct == len({tuple(record["scores"].values()) for record in valid})


def test_what_is_to_be_expected_of_one_answer_is_the_mean_over_answers(result: RunResult) -> None:
    seed, *answers = (record for record in result.candidates if record["status"] == "evaluated")
    worth = [max(record["fitness"] or seed["fitness"], seed["fitness"]) for record in answers]
    one, *_, every = result.statistics.answers.at
    assert one.best == pytest.approx(sum(worth) / len(worth))
    assert one.passed == pytest.approx(sum(value > seed["fitness"] for value in worth) / len(worth))
    assert (every.k, every.best) == (29, result.fitness)


def test_yields_and_migrants_are_counted(result: RunResult) -> None:
    (policy,) = result.statistics.policies
    assert (policy.name, policy.answers, policy.tokens) == ("walking", result.account.answers, 0)
    assert policy.improvements + 1 == len(set(result.history) - {None})  # beside the seed
    moved = [event.payload for event in result.events if event.kind is EventKind.ISLAND_MIGRATED]
    arrived = {(name, one["to"]) for one in moved for name in one["candidate_ids"]}
    assert result.statistics.migrations.arrivals == len(arrived) > 0


def test_statistics_are_computed_when_asked_for_and_once(result: RunResult) -> None:
    again = evolve.run("x = 7\n", evaluate=value_of, evaluations=3)
    assert "statistics" not in vars(again)
    assert again.statistics is again.statistics
    assert again.statistics.evaluations == 3
    assert "RunStatistics" not in repr(result)


class Deaf:
    """Hears nothing."""

    def committed(self, events: Any, status: Any) -> None:
        """Hear nothing."""


async def stored(folder: Path, url: str, flags: Mapping[str, Any]) -> RunStatistics:
    """What the run of a problem's folder came to, driven and stored as `evolve run` does."""
    settings = load_settings()
    with open_storage(settings, url) as storage:
        async with open_run(settings, RunOrder(problem=folder, flags=flags), storage) as opened:
            await drive(opened.job, observer=Deaf(), orders=RunOrders())
        return stored_site(storage.reader, storage.url).statistics(storage.reader.run(opened.job.run_id))


@pytest.mark.filterwarnings("ignore:isolation is weak", "ignore:programs run without isolation")
def test_a_stored_run_is_told_in_the_same_numbers(tmp_path: Path) -> None:
    flags: dict[str, Any] = {"evaluations": 12, "seed": 5, "islands": 2, "migration_interval": 2, "migration_rate": 1.0}
    flags["deterministic"] = {"window": 2}
    mine = evolve.run(EXAMPLES / "two_files", **flags).statistics
    told = asyncio.run(stored(EXAMPLES / "two_files", sqlite_file(tmp_path / "runs.db"), flags))
    assert mine.migrations.arrivals
    assert mine.programs.model_dump() == pytest.approx(told.programs.model_dump())  # a sum, in the order of the ids
    assert mine == told.model_copy(update={"run_id": mine.run_id, "programs": mine.programs})


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    first, (last,) = blocks[0], [block for block in blocks if "result.statistics" in block]
    space: dict[str, Any] = {}
    exec(first, space)
    capsys.readouterr()
    exec(last, space)
    said = capsys.readouterr().out
    assert f"{space['result'].fitness} after" in said
    assert re.search(r"^best of 1 answers: -?[\d.]+, better than the seed with probability \d+%$", said, re.MULTILINE)
    assert re.search(r"^syntax \d+ answers, \d+ improvements, 0 tokens$", said, re.MULTILINE)
