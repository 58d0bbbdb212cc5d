"""Commits of a run: what comes soon after one another goes together, and what people wait for does not wait."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pytest

from evolve.events import EventKind
from evolve.proposal import Proposal, Reply
from service.db.engine import Database
from service.db.log import SqlRunLog
from service.ports import LoggedEvent
from service.runner import run_loop as driving
from service.runner.desired_state import RunOrders
from service.runner.run_loop import drive
from service.timestamps import SystemClock
from tests.integration.runner.scene import Notes, SilentPolicy, ToyPolicy, job, play


@dataclass(frozen=True)
class Batch:
    began: float
    ended: float
    kinds: list[EventKind]


@dataclass
class SteadyPolicy(ToyPolicy):
    """Answers every few milliseconds."""

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        await asyncio.sleep(0.005)
        async for reply in super().propose(proposal):
            yield reply


class TimedLog(SqlRunLog):
    """Notes when it was given which batch."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, SystemClock())
        self.batches: list[Batch] = []

    def append(self, run_id: str, fence: int, events: Sequence[LoggedEvent]) -> None:
        began = time.monotonic()
        super().append(run_id, fence, events)
        self.batches.append(Batch(began, time.monotonic(), [entry.event.kind for entry in events]))


@pytest.mark.parametrize("moment", [driving.GATHERING_SECONDS, 0.5], ids=["little gathers", "much gathers"])
def test_a_commit_follows_the_last_after_a_moment_unless_much_waits(
    log: SqlRunLog, database: Database, monkeypatch: pytest.MonkeyPatch, moment: float
) -> None:
    monkeypatch.setattr(driving, "GATHERING_SECONDS", moment)
    timed = TimedLog(database)
    play(job(timed, SteadyPolicy(answers=1), evaluations=150), Notes())
    *unblocked, last = timed.batches
    pairs = list(pairwise(unblocked))
    assert len(pairs) > 2
    assert all(
        after.began - before.ended >= moment or len(after.kinds) >= driving.MAX_UNCOMMITTED for before, after in pairs
    )
    assert last.kinds[-1] is EventKind.RUN_FINISHED


def test_that_a_run_pauses_is_told_at_once(log: SqlRunLog, database: Database) -> None:
    timed, orders = TimedLog(database), RunOrders()
    notes = Notes(react=lambda _: orders.pause("tester"))  # as soon as anything is committed
    asyncio.run(drive(job(timed, SilentPolicy()), observer=notes, orders=orders))
    told = [batch for batch in timed.batches if EventKind.RUN_PAUSING in batch.kinds]
    assert len(told) == 1
    assert EventKind.RUN_PAUSED not in told[0].kinds
    assert timed.batches[-1].kinds[-1] is EventKind.RUN_PAUSED
