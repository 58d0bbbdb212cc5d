"""What a run that trained its policy leaves where nobody drives it to its end: an open training job, and adapters."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

import structlog

from evolve.events import EventKind
from service.errors import ConflictError, NotFoundError, ServiceError
from service.ports import JOB_ENDED, Clock, LoadedVersions, PolicyStore, Readers, RunRecord, TrainingJob, TrainingStore
from service.usecases.run_learning import jobs_of_run

UNLOAD_SECONDS = 10.0
_log = structlog.get_logger("runner")

# The versions of a run's policy that a server may have. None: no server takes them.
VersionsOf = Callable[[RunRecord], LoadedVersions | None]


class RunLeftovers:
    """Removes what ended runs leave. A run that is driven to its end leaves nothing.

    Args:
        training: jobs of all tenants.
        registry: versions of all tenants.
        readers: runs by tenant.
        clock: the time at which jobs are cancelled.
        versions: reaches the server of a run's policy.
    """

    def __init__(
        self, training: TrainingStore, registry: PolicyStore, readers: Readers, clock: Clock, versions: VersionsOf
    ) -> None:
        self._training, self._registry, self._readers = training, registry, readers
        self._clock, self._versions = clock, versions

    async def remove(self, run: RunRecord) -> None:
        """Cancel the open training jobs of a run, and unload its adapters but the newest. What fails is logged."""
        if not run.config.get("learning", {}).get("every"):
            return
        try:
            jobs = await asyncio.to_thread(lambda: list(jobs_of_run(self._training, run.tenant, run.id)))
            await asyncio.to_thread(self._cancel, run, jobs)
            left = await asyncio.to_thread(self._left, run, jobs)
            versions = await asyncio.to_thread(self._versions, run) if left else None
        except ServiceError as error:
            _log.warning("run.leftovers", run_id=run.id, reason=str(error))
            return
        if versions is not None:
            await asyncio.gather(*(self._unload(run, versions, *one) for one in left.items()))

    def _cancel(self, run: RunRecord, jobs: list[TrainingJob]) -> None:
        for job in jobs:
            if job.state not in JOB_ENDED:
                with suppress(ConflictError):  # it has ended meanwhile
                    self._training.cancel(run.tenant, job.id, self._clock.now())

    def _left(self, run: RunRecord, jobs: list[TrainingJob]) -> Mapping[str, str]:
        """The versions that may be loaded but the newest, each with the hash of its folder."""
        recorded = dict(self._recorded(run))
        left = dict([*recorded.items()][:-1])
        for job in jobs:
            if job.version is not None and f"{job.policy}@{job.version}" not in recorded:  # its update was not recorded
                with suppress(NotFoundError):
                    found = self._registry.version(run.tenant, job.policy, job.version)
                    left[found.name] = found.bundle_hash
        return left

    def _recorded(self, run: RunRecord) -> Iterator[tuple[str, str]]:
        reader = self._readers.of(run.tenant)
        for event in reader.events(run.id, kinds=(str(EventKind.POLICY_UPDATED),)):
            told = event.as_json()
            if told.get("policy"):
                yield str(told["policy"]), str(told["model"])

    async def _unload(self, run: RunRecord, versions: LoadedVersions, policy: str, model: str) -> None:
        try:
            async with asyncio.timeout(UNLOAD_SECONDS):
                await versions.unload(policy, model)
        except (ServiceError, TimeoutError) as error:  # it takes room, and is not asked
            _log.warning("version.loaded", run_id=run.id, version=policy, reason=str(error))
