"""Trainer: drives one training job at a time, and continues those that another trainer left."""

import math
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
    UsageError,
)
from service.ports import (
    JOB_CANCELLED,
    JOB_FAILED,
    JOB_RUNNING,
    JOB_SUCCEEDED,
    Clock,
    TrainingBackend,
    TrainingJob,
    TrainingStep,
    TrainingStore,
)
from service.process.identity import is_gone
from service.trainer.backend_process import BackendProcess, one_line

LEASE_SECONDS = 12.0
RENEW_SECONDS = 4.0
POLL_SECONDS = 1.0
TELL_SECONDS = 2.0
# Of a job in a row, without a step or a checkpoint in between.
MAX_STARTS = 5
MAX_STEP = 1 << 53

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


class _CancelledError(Exception):
    """Somebody wants the job cancelled."""


class _LeavingError(Exception):
    """The trainer is told to leave."""


class Trainer:
    """Drives jobs until it is told to leave.

    Args:
        store: where jobs are.
        backends: train, by name.
        publisher: gives bases and takes models.
        clock: times of jobs.
        owner: who holds the leases.
        root: folder of the jobs' folders. Trainers that share it continue each other's jobs.
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
    ) -> None:
        self._store, self._backends, self._publisher = store, backends, publisher
        self._clock, self._owner, self._root = clock, owner, root
        self._leaving, self._busy = threading.Event(), False
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
            if found is None:
                self._leaving.wait(POLL_SECONDS)
            else:
                self._busy = True
                self._drive(*found)
                self._busy = False

    def leave(self) -> None:
        """Let go of the job as it stands. Another trainer continues it from its checkpoint."""
        self._leaving.set()

    def _drive(self, job: TrainingJob, fence: int) -> None:
        hold = _Hold(store=self._store, job=job, fence=fence, leaving=self._leaving)
        try:
            self._train(job, hold)
        except _CancelledError:
            hold.end("training.cancelled", JOB_CANCELLED, self._clock)
        except _LeavingError:
            log.info("training.released", job_id=job.id)
        except LeaseLostError as error:
            log.info("training.lost", job_id=job.id, reason=str(error))
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

    def _train(self, job: TrainingJob, hold: "_Hold") -> None:
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
        hold.record("training.started", {"checkpoint": _checkpoint(backend, folder)}, **started)
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

    def _run(self, command: Any, backend: TrainingBackend, folder: Path, hold: "_Hold") -> None:
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


@dataclass(slots=True, kw_only=True)
class _Hold:
    """A job in this trainer's hands."""

    store: TrainingStore
    job: TrainingJob
    fence: int
    leaving: threading.Event
    renewed: float = 0.0
    told: float = 0.0
    newest: TrainingStep | None = None
    checkpoint: Mapping[str, Any] = field(default_factory=dict)

    def renew(self, *, now: bool = False) -> None:
        """Renew the lease in time, or `now`.

        Raises:
            _CancelledError, _LeavingError: the job is not to go on here.
            LeaseLostError: another trainer took it.
        """
        leaving = self.leaving.is_set()
        if not (now or leaving) and time.monotonic() - self.renewed < RENEW_SECONDS and self.renewed:
            return
        desired = self.store.renew(self.job.id, self.fence, LEASE_SECONDS)
        self.renewed = time.monotonic()
        if desired == JOB_CANCELLED:  # also on leaving: maybe nobody looks at the job again
            raise _CancelledError
        if leaving:
            raise _LeavingError

    def kept(self) -> "_LeaseRenewal":
        """Renews the lease in a thread for as long as the block lasts."""
        return _LeaseRenewal(self)

    def record(self, kind: str, payload: Mapping[str, Any], **changes: Any) -> None:
        """Record an event."""
        self.store.record(self.job.id, self.fence, kind, payload, **changes)

    def step(self, found: TrainingStep | None) -> None:
        """Take note of a step."""
        self.newest = found or self.newest

    def look(self, backend: TrainingBackend, folder: Path, *, now: bool = False) -> None:
        """Renew, and record the newest step and checkpoint, at most every few seconds unless `now`."""
        self.renew()
        if not now and time.monotonic() - self.told < TELL_SECONDS:
            return
        self.told = time.monotonic()
        found = _checkpoint(backend, folder)
        if found and found != self.checkpoint:
            self.checkpoint = found
            self.record("training.checkpoint", found, checkpoint=found)
        if self.newest is not None:
            progress, self.newest = _progress(self.newest), None
            self.record("training.progress", progress, progress=progress)

    def end(
        self,
        kind: str,
        state: str,
        clock: Clock,
        *,
        error: str = "",
        payload: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Record how the job ended. If another trainer took it, that one does."""
        told = dict(payload or {}) | ({"error": error} if error else {})
        try:
            self.record(kind, told, state=state, error=error, finished_at=clock.now(), **more)
        except (LeaseLostError, StorageError) as problem:
            log.warning("training.unsettled", job_id=self.job.id, reason=str(problem))


class _LeaseRenewal:
    """Renews a lease beside work that does not look, and tells it when the job is not to go on here."""

    def __init__(self, hold: _Hold) -> None:
        self._hold, self._over, self._stopped = hold, threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def __enter__(self) -> threading.Event:
        self._thread.start()
        return self._stopped

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _keep(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            try:
                self._hold.renew()
            except (_CancelledError, _LeavingError, LeaseLostError):
                self._stopped.set()
                return
            except ServiceError as error:  # the next write says so
                log.warning("training.lease", job_id=self._hold.job.id, reason=str(error))


def _checkpoint(backend: TrainingBackend, folder: Path) -> dict[str, Any]:
    """The newest checkpoint of a back end. Empty: there is none.

    Raises:
        UsageError: it has no stage and step.
    """
    found = dict(backend.checkpoint(folder))
    if found and not (found.keys() == {"stage", "step"} and isinstance(found["stage"], str) and _counts(found["step"])):
        raise UsageError("the back end named a checkpoint without a stage and a step: correct the back end")
    return found


def _progress(step: TrainingStep) -> dict[str, Any]:
    """A step as an event has it. JSON has no figures that are not finite: they are left out.

    Raises:
        UsageError: the number of the step, or of the steps, is none.
    """
    if not (_counts(step.step) and _counts(step.steps)):
        raise UsageError("the back end told a step without a number: correct the back end")
    figures = {name: float(value) for name, value in step.figures.items() if _finite(value)}
    return {"stage": step.stage, "step": step.step, "steps": step.steps, "figures": figures}


def _counts(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_STEP


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except (OverflowError, TypeError):  # an integer that no float holds, or no number
        return False
