"""What runs leave that nobody drives to their end, removed by the process that ends or deletes them."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from service.config import Settings
from service.ports import AT_WORK, ENDED, LoadedVersions, RunRecord
from service.usecases.run_leftovers import RunLeftovers

if TYPE_CHECKING:
    from service.db.storage import SqlStorage


def make_leftovers(settings: Settings, storage: "SqlStorage") -> RunLeftovers:
    """Removes what runs leave. It reads the operator's policies if a run trained its policy."""

    def versions(run: RunRecord) -> LoadedVersions | None:
        from service.bootstrap.policies import ConfiguredPolicies

        return ConfiguredPolicies(settings.policies, storage.problems.bundle, storage.policies).loaded(run)

    return RunLeftovers(storage.training, storage.policies, storage.readers, storage.clock, versions)


def remove_before_deletion(leftovers: RunLeftovers, runs: Sequence[RunRecord]) -> None:
    """Remove what runs leave that are queued or paused. Ended runs have left nothing, and others are not deleted."""

    async def remove() -> None:
        await asyncio.gather(*(leftovers.remove(run) for run in runs if run.state not in ENDED | AT_WORK))

    asyncio.run(remove())
