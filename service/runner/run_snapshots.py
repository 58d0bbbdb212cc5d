"""Snapshots of a run: taken beside its commits, and begun from by whoever takes the run up again.

A snapshot is a cache. Its head says what it was made of: the code, the problem and configuration, and the last event in
it. Where any of that is another now, or cannot be read, the snapshot is passed over and the log is folded whole.
"""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from datetime import UTC
from functools import cache, partial
from pathlib import Path
from typing import Any

import structlog

import evolve
from evolve.configuration import RunConfig
from evolve.errors import SnapshotError
from evolve.problem import Problem
from evolve.search.deterministic_schedule import DeterministicSchedule
from evolve.search.search import Search
from evolve.search.snapshot import FORMAT, SnapshotDraft, draft, encode, search_digest
from evolve.version import __version__
from service import projections
from service.errors import ServiceError
from service.ports import LoggedEvent, RunLog, StoredSnapshot
from service.runner.run_job import RunJob
from service.runner.status import StatusFold
from service.runner.storage_retry import STILL_SECONDS

# A restart folds at most so many events, or this share of those that are in a snapshot, whichever is more.
MIN_EVENTS = 50_000
GROWTH = 0.25
# Of the time of a sitting, at most this share goes into snapshots.
MAX_SHARE = 0.02

_log = structlog.get_logger("runner")


@cache
def code_digest() -> str:
    """A digest of the code that folds events: another version may decide otherwise, and its folds count for nothing."""
    sha = hashlib.sha256()
    for folder in (Path(evolve.__file__).parent, Path(projections.__file__).parent, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            sha.update(f"{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return sha.hexdigest()


class ResumePoint:
    """A snapshot that fits a run.

    Attributes:
        sequence: of the last event in it.
        fold: where the run stood then.
        content: what the search knew.
    """

    def __init__(self, sequence: int, fold: StatusFold, content: bytes) -> None:
        self.sequence, self.fold, self.content = sequence, fold, content


class RunSnapshots:
    """The snapshots of one run in one sitting.

    Args:
        job: the run; without a store of snapshots nothing is kept.
        min_events: the fewest between two snapshots; None: `MIN_EVENTS`.
    """

    def __init__(self, job: RunJob, min_events: int | None = None) -> None:
        self._job, self._min_events = job, MIN_EVENTS if min_events is None else min_events
        self._last, self._due_at = 0, 0.0
        self._work: asyncio.Task[None] | None = None
        self._off = job.snapshots is None

    def load(self) -> ResumePoint | None:
        """The snapshot that a replay may begin with; None: there is none that fits. It reads the database."""
        stored = self._job.snapshots.load(self._job.run_id) if self._job.snapshots is not None else None
        if stored is None:
            return None
        try:
            point = read_snapshot(self._job.log, self._job.run_id, self._job.problem, self._job.config, stored)
        except SnapshotError as error:
            self.ignore(stored.sequence, error)
            return None
        self._last = stored.sequence
        return point

    def ignore(self, sequence: int, error: Exception) -> None:
        """Say that a snapshot is not used, and why; the next takes its place."""
        self._last = 0
        _log.warning("snapshot.ignored", run_id=self._job.run_id, sequence=sequence, reason=str(error))

    def draft(self, search: Search | DeterministicSchedule, sequence: int) -> SnapshotDraft | None:
        """Copy what a search knows, where a snapshot is due; None: it is not.

        Args:
            search: it knows all events that were written, and nothing else.
            sequence: of the last event that was written.
        """
        grown = sequence - self._last
        if self._off or grown < max(self._min_events, GROWTH * self._last):
            return None
        began = self._job.clock.monotonic()
        if began < self._due_at or (self._work is not None and not self._work.done()):
            return None
        try:
            drafted = draft(search)
        except SnapshotError as error:
            self._off = True
            _log.info("snapshot.off", run_id=self._job.run_id, reason=str(error))
            return None
        self._last, self._due_at = sequence, began + (self._job.clock.monotonic() - began) / MAX_SHARE
        return drafted

    def keep(self, drafted: SnapshotDraft, last: LoggedEvent, fold: StatusFold) -> None:
        """Store a draft, whose last event is committed now, in a thread beside the run."""
        self._work = asyncio.create_task(asyncio.to_thread(partial(self._store, drafted, last, fold.saved())))
        self._work.add_done_callback(self._tell_failure)

    async def finish(self) -> None:
        """Wait a moment for a snapshot that is being stored."""
        if self._work is not None and not self._work.done():
            await asyncio.wait([self._work], timeout=STILL_SECONDS)

    def _tell_failure(self, work: asyncio.Task[None]) -> None:
        """A run does not end by what its snapshots fail by."""
        if not work.cancelled() and (error := work.exception()) is not None:
            _log.error("snapshot.failed", run_id=self._job.run_id, reason=repr(error))

    def _store(self, drafted: SnapshotDraft, last: LoggedEvent, status: Mapping[str, Any]) -> None:
        assert self._job.snapshots is not None
        began = self._job.clock.monotonic()
        content = encode(drafted)
        made_of = _made_of(self._job.problem, self._job.config, last)
        head = {**made_of, "status": status, "digest": hashlib.sha256(content).hexdigest()}
        stored = StoredSnapshot(sequence=last.sequence, content=json.dumps(head).encode() + b"\n" + content)
        try:
            self._job.snapshots.save(self._job.run_id, stored)
        except ServiceError as error:
            _log.warning("snapshot.not_stored", run_id=self._job.run_id, reason=str(error))
            return
        seconds = self._job.clock.monotonic() - began
        self._due_at += seconds / MAX_SHARE
        _log.info(
            "snapshot.stored",
            run_id=self._job.run_id,
            sequence=stored.sequence,
            bytes=len(stored.content),
            seconds=round(seconds, 3),
        )


def read_snapshot(log: RunLog, run_id: str, problem: Problem, config: RunConfig, stored: StoredSnapshot) -> ResumePoint:
    """A snapshot that was stored of a run, checked against what the run is now.

    Raises:
        SnapshotError: it does not fit, or cannot be read.
    """
    head_text, _, content = stored.content.partition(b"\n")
    try:
        head = json.loads(head_text)
        told = {name: head[name] for name in ("format", "code", "search", "event")}
        fold = StatusFold.restored(run_id, head["status"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SnapshotError(f"its head cannot be read: {error!r}") from error
    last = next(log.events(run_id, stored.sequence - 1, 1), None)
    if last is None:
        raise SnapshotError("the run has no such event")
    for name, value in _made_of(problem, config, last).items():
        if told[name] != value:
            raise SnapshotError(_ANOTHER[name])
    if head.get("digest") != hashlib.sha256(content).hexdigest():
        raise SnapshotError("its content is damaged")
    return ResumePoint(stored.sequence, fold, content)


def _made_of(problem: Problem, config: RunConfig, last: LoggedEvent) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "code": f"{__version__} {code_digest()}",  # the files may be newer than what this process has loaded
        "search": search_digest(problem, config),
        "event": _event_digest(last),
    }


_ANOTHER = {
    "format": "it is of another format",
    "code": "another version of Evolve made it",
    "search": "the problem or the configuration of the run is another now",
    "event": "the last event in it is another now",
}


def _event_digest(logged: LoggedEvent) -> str:
    told = [logged.sequence, str(logged.event.kind), logged.at.astimezone(UTC).isoformat(), logged.event.payload]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
