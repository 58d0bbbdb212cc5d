"""What the API tells of all runs is what the database holds."""

import asyncio
from pathlib import Path

from evolve.events import EventKind
from service.queue.metrics import QUEUED, keep_gauges
from tests.api.told import open_told
from tests.contract.story import Story, new_run
from tests.patience import PATIENCE_SECONDS

RUNS = [f"run_0190bbbb00000000000000000000000{number}" for number in range(3)]


async def told_of(number: int) -> None:
    """Wait until the gauge tells so many."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while QUEUED._value.get() != number:  # noqa: ASYNC110 - it is set by another task
            await asyncio.sleep(0.01)


async def test_runs_are_queued_until_a_runner_takes_them_up(tmp_path: Path) -> None:
    async with open_told(tmp_path) as told:
        reading = asyncio.create_task(keep_gauges(told.parts.workers, told.parts.queued, 0.01))
        for number, run_id in enumerate(RUNS, start=1):
            told.create(new_run(run_id))
            await told_of(number)
        story = Story(RUNS[0])
        told.append([story.tell(EventKind.RUN_STARTED, by="test")])
        await told_of(2)
        other = Story(RUNS[1])
        told.append([other.tell(EventKind.RUN_CANCELLED, by="ada")])
        await told_of(1)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
