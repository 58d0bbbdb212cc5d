"""Flywheels of a database, for front doors that only show them."""

from collections.abc import Sequence

from service.errors import NotFoundError
from service.ports import BatchStore, Readers, RunFilter, RunReader, RunRecord, TrainingJobs
from service.projections.batches import batch_reply
from service.projections.columns import columns_of
from service.projections.flywheel import FlywheelRound, FlywheelRounds, flywheel_round
from service.projections.series import moments_behind
from service.projections.series_point import series_point
from service.projections.training import event_reply, job_reply
from service.schemas.batches import MAX_RUNS, Batch
from service.schemas.series import SeriesPoint
from service.schemas.training import TrainingEvent, TrainingJob
from service.usecases.flywheel import flywheel_batches, recorded_rounds, round_result

POINTS = 400
PAGE = 200


class StoredFlywheels:
    """The port Flywheels over the stores.

    Args:
        batches: of all tenants.
        training: jobs of all tenants.
        readers: runs by tenant.
    """

    def __init__(self, batches: BatchStore, training: TrainingJobs, readers: Readers) -> None:
        self._batches, self._training, self._readers = batches, training, readers

    def flywheels(self, tenant: str) -> list[FlywheelRounds]:
        """The flywheels of a tenant by name."""
        found = flywheel_batches(_TenantBatches(self._batches, self._readers.of(tenant), tenant))
        return [
            FlywheelRounds(name=name, rounds=max(rounds), began=rounds[min(rounds)].created_at)
            for name, rounds in sorted(found.items())
        ]

    def rounds(self, tenant: str, name: str) -> list[FlywheelRound]:
        """The rounds of a flywheel, in order.

        Raises:
            NotFoundError: the tenant has none of the name.
        """
        reader = self._readers.of(tenant)
        jobs = _TenantJobs(self._training, tenant)
        recorded = recorded_rounds(name, _TenantBatches(self._batches, reader, tenant), jobs)
        if not recorded:
            raise NotFoundError(f"there is no flywheel {name[:64]!r}: begin it with evolve flywheel run")

        def points(run: RunRecord) -> Sequence[SeriesPoint]:
            return [series_point(moment) for moment in moments_behind(columns_of(reader, run), 0, POINTS)]

        return [
            flywheel_round(one.number, one.batch.id, one.runs, one.job, round_result(jobs, one), points)
            for one in recorded
        ]


class _TenantBatches:
    """The port RecordedBatches."""

    def __init__(self, store: BatchStore, reader: RunReader, tenant: str) -> None:
        self._store, self._reader, self._tenant = store, reader, tenant

    def batches(self, limit: int) -> list[Batch]:
        """Batches, newest first."""
        return [batch_reply(batch) for batch in self._store.batches(self._tenant, limit=limit)]

    def runs(self, batch_id: str) -> list[RunRecord]:
        """The runs of a batch, oldest first."""
        return self._reader.runs(MAX_RUNS, only=RunFilter(batch_id=batch_id), oldest_first=True)


class _TenantJobs:
    """The port RecordedJobs."""

    def __init__(self, jobs: TrainingJobs, tenant: str) -> None:
        self._jobs, self._tenant = jobs, tenant

    def jobs(self, limit: int) -> list[TrainingJob]:
        """Jobs, newest first."""
        return [job_reply(job) for job in self._jobs.jobs(self._tenant, limit=limit)]

    def events(self, job_id: str, after: int) -> list[TrainingEvent]:
        """Events of a job behind a sequence number."""
        return [event_reply(event) for event in self._jobs.events(self._tenant, job_id, after, PAGE)]
