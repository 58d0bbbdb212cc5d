"""A training job under a trainer's lease: the lease is renewed in time, and what happens is recorded."""

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from service.errors import LeaseLostError, ServiceError, StorageError, UsageError
from service.ports import JOB_CANCELLED, Clock, TrainingBackend, TrainingJob, TrainingStep, TrainingStore

LEASE_SECONDS = 12.0
RENEW_SECONDS = 4.0
POLL_SECONDS = 1.0
TELL_SECONDS = 2.0
MAX_STEP = 1 << 53

log = structlog.get_logger(__name__)


class TrainerObserver:
    """Is called with what a trainer does. This one ignores it."""

    def event(self, job: TrainingJob, kind: str, payload: Mapping[str, Any]) -> None:
        """An event of a job was recorded, or the job was given back."""

    def waiting(self) -> None:
        """No further job is queued."""


class JobCancelledError(Exception):
    """Somebody wants the job cancelled."""


class TrainerLeavingError(Exception):
    """The trainer is told to leave."""


@dataclass(slots=True, kw_only=True)
class JobLease:
    """A job that this trainer holds."""

    store: TrainingStore
    job: TrainingJob
    fence: int
    leaving: threading.Event
    observer: TrainerObserver
    renewed: float = 0.0
    told: float = 0.0
    newest: TrainingStep | None = None
    checkpoint: Mapping[str, Any] = field(default_factory=dict)

    def renew(self, *, now: bool = False) -> None:
        """Renew the lease in time, or `now`.

        Raises:
            JobCancelledError, TrainerLeavingError: the job is not to go on here.
            LeaseLostError: another trainer took it.
        """
        leaving = self.leaving.is_set()
        if not (now or leaving) and time.monotonic() - self.renewed < RENEW_SECONDS and self.renewed:
            return
        desired = self.store.renew(self.job.id, self.fence, LEASE_SECONDS)
        self.renewed = time.monotonic()
        if desired == JOB_CANCELLED:  # also on leaving: maybe nobody looks at the job again
            raise JobCancelledError
        if leaving:
            raise TrainerLeavingError

    def kept(self) -> "_LeaseRenewal":
        """Renews the lease in a thread for as long as the block lasts."""
        return _LeaseRenewal(self)

    def record(self, kind: str, payload: Mapping[str, Any], **changes: Any) -> None:
        """Record an event."""
        self.store.record(self.job.id, self.fence, kind, payload, **changes)
        self.observer.event(self.job, kind, payload)

    def step(self, found: TrainingStep | None) -> None:
        """Take note of a step."""
        self.newest = found or self.newest

    def look(self, backend: TrainingBackend, folder: Path, *, now: bool = False) -> None:
        """Renew, and record the newest step and checkpoint, at most every few seconds unless `now`."""
        self.renew()
        if not now and time.monotonic() - self.told < TELL_SECONDS:
            return
        self.told = time.monotonic()
        found = newest_checkpoint(backend, folder)
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

    def __init__(self, hold: JobLease) -> None:
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
            except (JobCancelledError, TrainerLeavingError, LeaseLostError):
                self._stopped.set()
                return
            except ServiceError as error:  # the next write says so
                log.warning("training.lease", job_id=self._hold.job.id, reason=str(error))


def newest_checkpoint(backend: TrainingBackend, folder: Path) -> dict[str, Any]:
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
