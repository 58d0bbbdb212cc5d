"""A lease that is held tells, with each renewal, how the server of the run's policy fares."""

import asyncio
from pathlib import Path

import pytest

from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.process.identity import this_process
from service.runner import lease
from service.runner.storage_retry import StorageRetry
from service.timestamps import SystemClock
from tests.contract.story import RUN, FixedClock, Story
from tests.contract.test_run_log import begin
from tests.patience import PATIENCE_SECONDS


async def test_what_is_known_of_the_server_is_told_with_each_renewal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.3)
    database = open_database(f"sqlite:///{tmp_path}/evolve.db")
    begin(SqlRunLog(database, FixedClock()), Story())  # by a process whose lease has lapsed long since
    reader, told = SqlRunReader(database), list[float]()
    seen = {"breaker": "closed", "retry_seconds": 0.0, "reachable": True, "running": 2.0, "calls": 4, "in_flight": 1}

    def health() -> dict[str, dict[str, object]]:
        told.append(float(len(told)))
        return {"syntax": seen | {"waiting": told[-1]}}

    patience = StorageRetry(SystemClock(), seconds=PATIENCE_SECONDS)
    async with lease.held(SqlRunLog(database, SystemClock()), RUN, this_process(), patience, health=health):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (found := reader.policy_health()) or found[0].waiting != 2.0:  # noqa: ASYNC110 - another thread's
                await asyncio.sleep(0.01)
    assert (found[0].run_id, found[0].policy, found[0].in_flight) == (RUN, "syntax", 1)
    database.close()
