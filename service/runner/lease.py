"""Lease: holds a run for one process, renewed beside whatever the process does with it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial

from service.errors import ConflictError, ServiceError, StorageError
from service.ports import Health, RunLog, unknown_health
from service.process.identity import is_gone
from service.runner.storage_retry import StorageRetry, undisturbed

# Another process must have the run of one that died within 15 seconds, and it takes some time to look.
LEASE_SECONDS = 12.0
RELEASE_SECONDS = 5.0


class RunLease:
    """A run's lease in this process's hands.

    Attributes:
        fence: the fencing token that every write carries.
    """

    def __init__(self, log: RunLog, run_id: str, fence: int, patience: StorageRetry, health: Health) -> None:
        self.fence = fence
        self._health = health
        self._log = log
        self._run_id = run_id
        self._patience = patience
        self._failure: ServiceError | None = None

    def check(self) -> None:
        """Nothing while the lease is held as far as is known.

        Raises:
            LeaseLostError: another took the run.
            StorageError: the lease cannot be renewed.
        """
        if self._failure is not None:
            raise self._failure

    async def keep(self, failed: Callable[[], None]) -> None:
        """Renew the lease until that fails for good; `failed` is called then."""
        while True:
            await asyncio.sleep(LEASE_SECONDS / 3)
            try:
                renew = partial(self._log.renew, self._run_id, self.fence, LEASE_SECONDS, self._health())
                await self._patience.call(renew)
            except (ConflictError, StorageError) as error:
                self._failure = error
                failed()
                return


@contextlib.asynccontextmanager
async def held(
    log: RunLog,
    run_id: str,
    owner: str,
    patience: StorageRetry,
    failed: Callable[[], None] = lambda: None,
    health: Health = unknown_health,
) -> AsyncIterator[RunLease]:
    """Hold a run; its lease is renewed meanwhile and given back at the end.

    Args:
        log: where the run is.
        run_id: the run.
        owner: who holds it.
        patience: with which it is renewed.
        failed: is called when the lease is lost; `check` says why.
        health: is noted with each renewal.

    Raises:
        NotFoundError: no such run.
        ConflictError: another holds it.
        StorageError: the database cannot take it.
    """
    hold = RunLease(log, run_id, await _take(log, run_id, owner), patience, health)
    keeping = asyncio.create_task(hold.keep(failed))
    try:
        yield hold
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        # A lease that cannot be given back lapses by itself.
        with contextlib.suppress(StorageError, TimeoutError):
            async with asyncio.timeout(RELEASE_SECONDS):
                await undisturbed(partial(log.release, run_id, hold.fence))


async def _take(log: RunLog, run_id: str, owner: str) -> int:
    fences: list[int] = []
    try:
        await undisturbed(lambda: fences.append(log.take(run_id, owner, LEASE_SECONDS, is_gone)))
    except asyncio.CancelledError:
        for fence in fences:
            await asyncio.to_thread(log.release, run_id, fence)
        raise
    return fences[0]
