"""A fleet of workers some of which die or come back late: every evaluation of every run is committed exactly once."""

import asyncio
from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from benchmarks.fleet_clients import END, FINISH, POOL, FleetPlan, Tally, redis_leases, work
from benchmarks.fleet_runs import drive_runs
from evolve.event_types import CandidateCreated, CandidateEvaluated
from evolve.identity import evaluation_id
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.db.schema_upgrade import upgrade
from service.queue.connection import GROUP, tasks
from service.timestamps import SystemClock
from tests.patience import PATIENCE_SECONDS

PLAN = FleetPlan(clients=120, runs=12, mean_seconds=20.0, sigma=1.0, scale=0.1, deaths=0.1, stalls=0.1)


async def test_deaths_and_late_results_lose_and_double_nothing(redis_url: str, postgres_url: str) -> None:
    upgrade(postgres_url)
    tally = Tally()
    async with redis_leases(redis_url, PLAN) as opened, Redis.from_url(redis_url) as client:
        driving = asyncio.create_task(drive_runs(postgres_url, redis_url, PLAN))
        working = asyncio.create_task(work(opened, redis_url, PLAN, 0, tally))
        async with asyncio.timeout(4 * PATIENCE_SECONDS):
            while not seen_enough(tally):  # noqa: ASYNC110 - counts tell it
                await asyncio.sleep(0.1)
            await client.set("fleet:phase", FINISH)
            found = await driving
        left: Any = await client.xpending(tasks(POOL), GROUP)
        await client.set("fleet:phase", END)
        await working
    assert left["pending"] == 0
    # A task that three workers left is answered by the queue itself.
    given_up = [run["outcomes"].get("lost", 0) for run in found["runs"]]
    committed = logged(postgres_url, [run["id"] for run in found["runs"]])
    assert len(committed) == len(set(committed)) == len(tally.completed) + sum(given_up)
    assert len(tally.completed) == len(set(tally.completed))
    assert set(tally.completed) <= set(committed)


def seen_enough(tally: Tally) -> bool:
    return min(tally.died, tally.refused, tally.redelivered) >= 5 and len(tally.completed) >= PLAN.clients


def logged(database: str, runs: Sequence[str]) -> list[str]:
    """Ids of the evaluations in the logs of runs, in which no candidate lacks its own."""
    opened = open_database(database)
    log, found = SqlRunLog(opened, SystemClock()), []
    for run in runs:
        events = [logged.event.data for logged in log.events(run)]
        created = {data.candidate_id for data in events if isinstance(data, CandidateCreated)}
        evaluated = [data.candidate_id for data in events if isinstance(data, CandidateEvaluated)]
        assert created == set(evaluated)
        found += [evaluation_id(candidate, 1) for candidate in evaluated]
    opened.close()
    return found
