"""Trainer: drives one training job at a time, and continues those that another trainer left."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import structlog

from evolve.errors import EvolveError
from service.errors import (
    ConflictError,
    LeaseLostError,
    RefusedError,
    ServiceError,
    StorageAwayError,
    StorageError,
)
from service.ports import (
    JOB_CANCELLED,
    JOB_FAILED,
    JOB_RUNNING,
    JOB_SUCCEEDED,
    Clock,
    TrainingBackend,
    TrainingJob,
    TrainingStore,
)
from service.process.identity import is_gone
from service.trainer.backend_process import BackendProcess, one_line
from service.trainer.job_lease import (
    LEASE_SECONDS,
    POLL_SECONDS,
    JobCancelledError,
    JobLease,
    TrainerLeavingError,
    TrainerObserver,
    newest_checkpoint,
)

# Of a job in a row, without a step or a checkpoint in between.
MAX_STARTS = 5

log = structlog.get_logger(__name__)


class Publisher(Protocol):
    """Gives a job its base, and stores what comes of it."""

    def base(self, job: TrainingJob) -> Path | None:
        """Folder of the version that a job starts from. None: it starts from scratch.

        Raises:
            NotFoundError, UsageError: the version is not there any more.
        """

    def check(self, job: TrainingJob) -> None:
        """Refuse a job whose runs may not be trained on any more.

        Raises:
            RefusedError: the permission was revoked.
        """

    def prepare(self, job: TrainingJob, backend: TrainingBackend, base: Path | None, folder: Path) -> None:
        """Write what a job learns from into the job's folder, as far as it is not in its request.

        Raises:
            NotFoundError, UsageError: there is nothing to learn from, or a run was deleted.
        """

    def forget(self, folder: Path) -> None:
        """Remove the runs of a job from its folder."""

    def publish(
        self, job: TrainingJob, backend: TrainingBackend, folder: Path, stopped: threading.Event
    ) -> "PublishedVersion":
        """Store the model in a job's folder as a version, evaluate it, and promote it if the job asks for it.

        Raises:
            ConflictError: `stopped` was set, for example.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedVersion:
    """A version that a job made.

    Attributes:
        evaluation: means, difference and interval against the promoted version. Empty: there was none.
        promoted: whether its policy's name stands for it now.
        refusal: reason of the gate. Empty: it was not asked, or let it pass.
    """

    version: int
    evaluation: Mapping[str, Any] = field(default_factory=dict)
    promoted: bool = False
    refusal: str = ""


class Trainer:
    """Drives jobs until it is told to leave.

    Args:
        store: where jobs are.
        backends: train, by name.
        publisher: gives bases and takes models.
        clock: times of jobs.
        owner: who holds the leases.
        root: folder of the jobs' folders. Trainers that share it continue each other's jobs.
        observer: is called with what happens.
    """

    def __init__(
        self,
        store: TrainingStore,
        backends: Mapping[str, TrainingBackend],
        publisher: Publisher,
        clock: Clock,
        owner: str,
        *,
        root: Path,
        observer: TrainerObserver | None = None,
    ) -> None:
        self._store, self._backends, self._publisher = store, backends, publisher
        self._clock, self._owner, self._root = clock, owner, root
        self._observer = observer or TrainerObserver()
        self._leaving, self._busy, self._idle = threading.Event(), False, True
        self._reasons = {name: reason for name, one in backends.items() if (reason := one.missing())}
        self._able = tuple(name for name in backends if name not in self._reasons)

    @property
    def able(self) -> Sequence[str]:
        """The back ends that can train here."""
        return self._able

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why the other back ends cannot train here, by name."""
        return self._reasons

    @property
    def busy(self) -> bool:
        """Whether it works on a job."""
        return self._busy

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Drive jobs until `leave` is called, or `until` says so between two of them."""
        while not self._leaving.is_set() and not until():
            try:
                found = self._store.claim(self._owner, LEASE_SECONDS, self._able, is_gone)
                if found is None:
                    self._store.pass_over(self._able, self._reasons)
            except StorageError as error:
                log.warning("trainer.storage_away", reason=str(error))
                found = None
            if found is not None:
                self._busy, self._idle = True, False
                self._drive(*found)
                self._busy = False
                continue
            if not self._idle:
                self._idle = True
                self._observer.waiting()
            self._leaving.wait(POLL_SECONDS)

    def leave(self) -> None:
        """Let go of the job as it stands. Another trainer continues it from its checkpoint."""
        self._leaving.set()

    def _drive(self, job: TrainingJob, fence: int) -> None:
        hold = JobLease(store=self._store, job=job, fence=fence, leaving=self._leaving, observer=self._observer)
        try:
            self._train(job, hold)
        except JobCancelledError:
            hold.end("training.cancelled", JOB_CANCELLED, self._clock)
        except TrainerLeavingError:
            log.info("training.released", job_id=job.id)
            self._observer.event(job, "training.released", {})
        except LeaseLostError as error:
            log.info("training.lost", job_id=job.id, reason=str(error))
            self._observer.event(job, "training.lost", {"reason": str(error)})
        except StorageAwayError as error:
            log.warning("training.storage_away", job_id=job.id, reason=str(error))
            self._leaving.wait(POLL_SECONDS)
        except (ServiceError, EvolveError) as error:
            hold.end("training.failed", JOB_FAILED, self._clock, error=one_line(str(error)))
        except Exception as error:  # a back end may raise anything, and the trainer has other jobs
            log.warning("training.backend_fault", job_id=job.id, exc_info=True)
            said = one_line(f"the back end failed: {type(error).__name__}: {error}")
            hold.end("training.failed", JOB_FAILED, self._clock, error=said)
        finally:
            self._release(job, fence)

    def _train(self, job: TrainingJob, hold: JobLease) -> None:
        backend = self._backends[str(job.request["backend"])]
        hold.renew()
        self._refuse_repeated(job)
        folder = self._root / job.id
        folder.mkdir(parents=True, exist_ok=True)
        self._check(job, folder)
        base = self._publisher.base(job)
        with hold.kept():
            self._publisher.prepare(job, backend, base, folder)
        started = {"state": JOB_RUNNING, "started_at": job.started_at or self._clock.now()}
        hold.record("training.started", {"checkpoint": newest_checkpoint(backend, folder)}, **started)
        command = backend.command(job, base, folder)
        self._run(command, backend, folder, hold)
        try:
            with hold.kept() as stopped:
                found = self._publisher.publish(job, backend, folder, stopped)
        except ConflictError:
            hold.renew(now=True)  # says why it was stopped, if it was
            raise
        self._publisher.forget(folder)
        told = {"version": found.version, "promoted": found.promoted, "evaluation": dict(found.evaluation)}
        told |= {"refusal": found.refusal} if found.refusal else {}
        hold.end("training.succeeded", JOB_SUCCEEDED, self._clock, payload=told, version=found.version)

    def _check(self, job: TrainingJob, folder: Path) -> None:
        """Refuse a job whose runs may not be trained on any more, and remove what is here of them."""
        try:
            self._publisher.check(job)
        except RefusedError:
            self._publisher.forget(folder)
            raise

    def _run(self, command: Any, backend: TrainingBackend, folder: Path, hold: JobLease) -> None:
        """Run the command to its end, and record its steps. It is stopped when the job is not to go on."""
        process = BackendProcess(command)
        began = time.monotonic()
        limit = float(hold.job.request.get("max_seconds") or 0)
        try:
            while not process.ended:
                for line in process.lines(POLL_SECONDS):
                    hold.step(backend.read(line))
                hold.look(backend, folder)
                if limit and time.monotonic() - began > limit:
                    hold.look(backend, folder, now=True)
                    raise ConflictError(f"the training took longer than its budget of {limit:g} seconds")
        finally:
            process.stop()
        if reason := process.fault():
            raise ConflictError(reason)
        hold.look(backend, folder, now=True)

    def _refuse_repeated(self, job: TrainingJob) -> None:
        """Refuse a job that no trainer survives.

        Raises:
            ConflictError: trainers have started it several times, and each died before its first step.
        """
        newest = self._store.events(job.id, max(0, job.sequence - MAX_STARTS), MAX_STARTS)
        if len(newest) == MAX_STARTS and all(event.kind == "training.started" for event in newest):
            raise ConflictError(
                f"trainers started this job {MAX_STARTS} times and died before its first step: look into their logs,"
                " give them more memory, and resume the job"
            )

    def _release(self, job: TrainingJob, fence: int) -> None:
        try:
            self._store.release(job.id, fence)
        except StorageError as error:  # it lapses by itself
            log.warning("training.storage_away", job_id=job.id, reason=str(error))
