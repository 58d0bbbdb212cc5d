"""The driver in memory and the runner with its log decide the same, whatever the order in which the world answers."""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.configuration import BudgetConfig, DeterministicConfig, RunConfig
from evolve.errors import PolicyRefused
from evolve.evaluation import PLAIN, Evaluation, ScoringRequest
from evolve.events import Event
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Proposal, Reply
from evolve.search.driver import Driver
from evolve.search.ensemble import EnsembleMember
from evolve.search.result import Result
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.timestamps import SystemClock
from tests.contract.story import RUN, new_run
from tests.databases import sqlite_file
from tests.fakes.world import toy_problem
from tests.integration.runner.scene import Notes, ToyEvaluator, ToyPolicy, job, play
from tests.patience import PATIENCE_SECONDS


async def dawdle(order: np.random.Generator) -> None:
    for _ in range(int(order.integers(6))):
        await asyncio.sleep(0)


@dataclass
class UnevenPolicy(ToyPolicy):
    """What it answers depends on the proposal alone, when it answers on `order`; every fifth it refuses."""

    order: np.random.Generator = None  # type: ignore[assignment] # always given

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        if proposal.number % 5 == 0:
            raise PolicyRefused("not this one")
        async for reply in super().propose(proposal):
            await dawdle(self.order)
            yield reply


@dataclass
class UnevenEvaluator(ToyEvaluator):
    order: np.random.Generator = None  # type: ignore[assignment] # always given

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        await dawdle(self.order)
        return await super().evaluate(program, evaluation_id, scoring)


def parts(problem: Problem, order: int, calls: int, slots: int) -> dict[str, Any]:
    rng = np.random.default_rng(order)
    return {
        "problem": problem,
        "policies": [EnsembleMember(policy=UnevenPolicy(concurrency=calls, order=rng))],
        "evaluator": UnevenEvaluator(problem, slots=slots, order=rng),
    }


def driven(config: RunConfig, **given: Any) -> Result:
    async def scene() -> Result:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await Driver(RUN, config=config, monotonic=time.monotonic, **given).run()

    return asyncio.run(scene())


def recorded(config: RunConfig, **given: Any) -> list[Event]:
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(sqlite_file(Path(folder) / "runs.db"))
        log = SqlRunLog(database, SystemClock())
        log.create(new_run())
        notes = Notes()
        play(replace(job(log), config=config, **given), notes)
        database.close()
    return [logged.event for logged in notes.events]


def decided(events: list[Event] | tuple[Event, ...]) -> list[tuple[str, Any]]:
    """What the search decided; what a runner says of the run itself names its owner."""
    return [(str(event.kind), event.payload) for event in events if not event.kind.startswith("run.")]


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**31),
    window=st.integers(1, 9),
    islands=st.integers(1, 3),
    order=st.integers(0, 1000),
    calls=st.integers(1, 4),
    slots=st.integers(1, 4),
    several=st.booleans(),
    closely=st.booleans(),
)
def test_the_driver_and_the_runner_are_equal_in_every_id_and_score(
    seed: int, window: int, islands: int, order: int, calls: int, slots: int, several: bool, closely: bool
) -> None:
    problem = toy_problem(several=several, seeds=(0.0, 6.0))
    if closely:  # with bars for repeats, and an examination at the end
        spec = replace(problem.evaluator, repeats=4, min_repeats=2, holdout=True, audit=2)
        problem = replace(problem, evaluator=spec)
    config = RunConfig(
        islands=islands,
        migration_interval=4,
        reset_after=7,
        budget=BudgetConfig(evaluations=25),
        deterministic=DeterministicConfig(window=window),
        seed=seed,
    )
    result = driven(config, **parts(problem, order, calls, slots))
    events = recorded(config, **parts(problem, order + 1, 5 - calls, 5 - slots))
    assert decided(result.events) == decided(events)
    finished = events[-1].payload
    assert result.reason == finished["reason"]
    assert (result.best.candidate_id if result.best else None, result.fitness) == (
        finished["candidate_id"],
        finished["fitness"],
    )
