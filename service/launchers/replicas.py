"""Keeps a number of workers alive on a cluster whose machines come and go, until it is told to drain them."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, Protocol, TypeVar

from service.errors import RefusedError, ServiceError
from service.launchers.worker_command import HOPELESS_EXIT_CODES
from service.launchers.worker_process import WorkerEnd
from service.net.retry import Backoff

# A worker has lived that was alive so often: its end is no failed start.
LIVED_POLLS = 10
# Failed starts in a row before any worker has lived: the cluster cannot start one at all.
MAX_FIRST_FAILURES = 5


class WorkerPhase(Enum):
    """A worker that has not ended, as far as its cluster knows."""

    WAITING = auto()
    ALIVE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLoss:
    """The cluster has lost a worker, with its machine or its process.

    Attributes:
        reason: as the cluster tells it.
    """

    reason: str


WorkerStatus = WorkerPhase | WorkerEnd | WorkerLoss
ClusterWorker = TypeVar("ClusterWorker")


class Cluster(Protocol[ClusterWorker]):
    """Where workers are started."""

    def start(self) -> ClusterWorker:
        """Ask for a worker, which starts as soon as there is room.

        Raises:
            UnreachableError: the cluster does not answer.
        """

    def statuses(self, workers: Sequence[ClusterWorker]) -> list[WorkerStatus]:
        """How workers are. One that does not answer in a moment is as it was before."""

    def drain(self, workers: Sequence[ClusterWorker]) -> None:
        """Have workers finish what they have, and end."""

    def discard(self, workers: Sequence[ClusterWorker]) -> None:
        """Give up workers that wait for room."""


@dataclass(slots=True)
class _Replica(Generic[ClusterWorker]):
    worker: ClusterWorker
    polls_alive: int = 0


class Replicas(Generic[ClusterWorker]):
    """Workers on a cluster, started anew when they are lost or fail.

    Args:
        cluster: where they are.
        report: is told of each worker that ends.
        poll_seconds: between two looks.
        backoff: the waits after failed starts.
    """

    def __init__(
        self,
        cluster: Cluster[ClusterWorker],
        report: Callable[[str], None],
        poll_seconds: float = 1.0,
        backoff: Backoff | None = None,
    ) -> None:
        self._cluster, self._report, self._poll_seconds = cluster, report, poll_seconds
        self._backoff = backoff or Backoff(first_seconds=1.0, max_seconds=60.0, jitter=0.0)
        self._replicas: list[_Replica[ClusterWorker]] = []
        self._failures, self._lived = 0, False

    def run(self, count: int, stop: threading.Event) -> None:
        """Keep so many alive until told to stop, or until all were drained from elsewhere; then drain the rest.

        Raises:
            RefusedError: a worker can never work, such as with a key that is refused.
            UnreachableError: the cluster does not answer.
            ServiceError: no worker can be started.
        """
        try:
            self._start(count)
            while self._replicas and not stop.wait(self._poll_seconds):
                missing = self._look()
                if self._failures:
                    stop.wait(self._backoff.seconds(self._failures))
                if missing and not stop.is_set():
                    self._start(missing)
        finally:
            self._leave()

    def _start(self, count: int) -> None:
        self._replicas += [_Replica(self._cluster.start()) for _ in range(count)]

    def _look(self) -> int:
        """Put away the workers that ended, and count those that are to be started anew."""
        missing, failed, standing = 0, list[str](), []
        for replica, status in zip(self._replicas, self._statuses(), strict=True):
            if isinstance(status, WorkerPhase):
                replica.polls_alive += status is WorkerPhase.ALIVE
                standing.append(replica)
            elif (reason := self._reason_to_replace(status)) is not None:
                missing += 1
                failed += [reason] if replica.polls_alive < LIVED_POLLS else []
        self._replicas = standing
        self._count_failures(failed)
        return missing

    def _statuses(self) -> list[WorkerStatus]:
        return self._cluster.statuses([replica.worker for replica in self._replicas])

    def _reason_to_replace(self, status: WorkerEnd | WorkerLoss) -> str | None:
        """Why another worker is started in the place of one; None: none is."""
        if isinstance(status, WorkerLoss):
            self._report(f"A worker was lost, another is started: {status.reason}")
            return status.reason
        said = (status.log[-1] if status.log else "its log is empty").removeprefix("evolve: ")
        if status.exit_code in HOPELESS_EXIT_CODES:
            raise RefusedError(f"a worker refused to start: {said}")
        if status.exit_code == 0:
            self._report("A worker was drained, and ended")
            return None
        self._report(f"A worker failed with exit code {status.exit_code}, another is started: {said}")
        return said

    def _count_failures(self, failed: Sequence[str]) -> None:
        if any(replica.polls_alive == LIVED_POLLS for replica in self._replicas):  # this one has now lived
            self._failures, self._lived = 0, True
        if failed:
            self._failures += 1
            alone = not self._lived and not any(replica.polls_alive for replica in self._replicas)
            if self._failures >= MAX_FIRST_FAILURES and alone:
                raise ServiceError(f"no worker can be started on this cluster: {failed[0]}")

    def _leave(self) -> None:
        """Drain those that live, and wait for them."""
        statuses = self._statuses()
        pairs = list(zip(self._replicas, statuses, strict=True))
        self._cluster.discard([replica.worker for replica, status in pairs if status is WorkerPhase.WAITING])
        self._replicas = [replica for replica, status in pairs if status is WorkerPhase.ALIVE]
        self._cluster.drain([replica.worker for replica in self._replicas])
        pause = threading.Event()
        while self._replicas:
            pairs = list(zip(self._replicas, self._statuses(), strict=True))
            self._replicas = [replica for replica, status in pairs if isinstance(status, WorkerPhase)]
            pause.wait(self._poll_seconds / 4)
