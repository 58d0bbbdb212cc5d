"""How long data is kept, and how deleted runs are removed."""

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from service.config import RetentionSettings
from service.errors import StorageError, UsageError
from service.ports import PAUSED, RetentionPolicy
from service.usecases.control_runs import StoredControl
from service.usecases.maintenance import keep_partitions, read_retention, remove_deleted
from tests.patience import PATIENCE_SECONDS
from tests.unit.usecases.conftest import TENANT, Installation


def test_a_flag_wins_over_the_settings() -> None:
    settings = RetentionSettings(days=30, audit_days=90)
    assert read_retention(settings, None, []) == RetentionPolicy(runs=timedelta(days=30), audit=timedelta(days=90))
    kept = read_retention(settings, 7, ["keep", "team=a"])
    assert (kept.runs, kept.keep_labels) == (timedelta(days=7), ("keep", "team=a"))


def test_without_a_time_nothing_is_pruned() -> None:
    with pytest.raises(UsageError, match="--older-than DAYS"):
        read_retention(RetentionSettings(), None, [])


async def test_deleted_runs_are_removed_even_after_the_database_was_away(installation: Installation) -> None:
    storage = installation.storage
    run = installation.submitted()
    await asyncio.to_thread(StoredControl(storage, installation.submissions).want, run, PAUSED)
    storage.intents(TENANT).delete(run.id)
    assert run.id in storage.runs
    deletions, away = storage.deletions, [StorageError("the database is away")]

    class Interrupted:
        """Fails at first."""

        def advance(self) -> bool:
            if away:
                raise away.pop()
            return deletions.advance()

        def remove(self, run_id: str) -> None:
            deletions.remove(run_id)

    removing = asyncio.create_task(remove_deleted(Interrupted(), pause_seconds=0.001))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while storage.runs:  # noqa: ASYNC110 - the task under test sleeps between its steps
            await asyncio.sleep(0.001)
    removing.cancel()
    with suppress(asyncio.CancelledError):
        await removing


async def test_partitions_are_looked_after_again_and_again() -> None:
    looked, thrice = list[None](), asyncio.Event()
    loop = asyncio.get_running_loop()

    class Partitions:
        """Counts."""

        def prepare(self) -> None:
            looked.append(None)
            if len(looked) == 3:
                loop.call_soon_threadsafe(thrice.set)

    keeping = asyncio.create_task(keep_partitions(Partitions(), pause_seconds=0.001))
    await asyncio.wait_for(thrice.wait(), PATIENCE_SECONDS)
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping
