"""Workers on a cluster are replaced when they are lost, and a cluster that can start none is told."""

import threading
from collections.abc import Callable, Sequence

import pytest

from service.cli import exit_codes
from service.errors import RefusedError, ServiceError
from service.launchers.replicas import MAX_FIRST_FAILURES, Replicas, WorkerLoss, WorkerPhase, WorkerStatus
from service.launchers.worker_command import HOPELESS_EXIT_CODES
from service.launchers.worker_process import WorkerEnd
from service.net.retry import Backoff

AT_ONCE = Backoff(first_seconds=0.0, max_seconds=0.0, jitter=0.0)
DRAINED = WorkerEnd(exit_code=0, log=())


class ScriptedCluster:
    """Workers by number; `script` says how each is at its nth look, until it is drained."""

    def __init__(self, script: Callable[[int, int], WorkerStatus], stop: threading.Event, looks: int) -> None:
        self.script, self.stop, self.looks = script, stop, looks
        self.started = 0
        self.seen: dict[int, int] = {}
        self.drained: list[int] = []
        self.discarded: list[int] = []

    def start(self) -> int:
        self.started += 1
        return self.started

    def statuses(self, workers: Sequence[int]) -> list[WorkerStatus]:
        self.looks -= 1
        if self.looks == 0:
            self.stop.set()
        return [self._status(worker) for worker in workers]

    def _status(self, worker: int) -> WorkerStatus:
        self.seen[worker] = self.seen.get(worker, 0) + 1
        return DRAINED if worker in self.drained else self.script(worker, self.seen[worker])

    def drain(self, workers: Sequence[int]) -> None:
        self.drained += workers

    def discard(self, workers: Sequence[int]) -> None:
        self.discarded += workers


def keep(script: Callable[[int, int], WorkerStatus], count: int, looks: int = 40) -> tuple[ScriptedCluster, list[str]]:
    stop, said = threading.Event(), list[str]()
    cluster = ScriptedCluster(script, stop, looks)
    Replicas(cluster, said.append, poll_seconds=0.0, backoff=AT_ONCE).run(count, stop)
    return cluster, said


def test_all_live_until_they_are_drained_once() -> None:
    cluster, said = keep(lambda _worker, _look: WorkerPhase.ALIVE, 3)
    assert (cluster.started, cluster.drained, cluster.discarded, said) == (3, [1, 2, 3], [], [])


def test_those_that_never_found_room_are_given_up_and_not_waited_for() -> None:
    cluster, _ = keep(lambda worker, _look: WorkerPhase.ALIVE if worker == 1 else WorkerPhase.WAITING, 2)
    assert (cluster.started, cluster.drained, cluster.discarded) == (2, [1], [2])


@pytest.mark.parametrize("end", [WorkerLoss(reason="no node"), WorkerEnd(exit_code=-9, log=("first", "last"))])
def test_a_worker_that_is_lost_or_fails_is_replaced(end: WorkerEnd | WorkerLoss) -> None:
    cluster, said = keep(lambda worker, look: end if (worker, look) == (1, 20) else WorkerPhase.ALIVE, 2)
    assert (cluster.started, cluster.drained) == (3, [2, 3])
    (line,) = said
    assert "no node" in line or "exit code -9, another is started: last" in line


def test_workers_that_were_drained_from_elsewhere_are_not_replaced_and_end_the_launcher() -> None:
    cluster, said = keep(lambda _worker, look: DRAINED if look == 3 else WorkerPhase.ALIVE, 2, looks=1000)
    assert cluster.looks > 900
    assert (cluster.started, cluster.drained, len(said)) == (2, [], 2)


@pytest.mark.parametrize("code", HOPELESS_EXIT_CODES)
def test_a_worker_that_can_never_work_ends_the_launcher_and_drains_the_others(code: int) -> None:
    stop = threading.Event()
    refusal = WorkerEnd(exit_code=code, log=("evolve: the key is refused",))
    cluster = ScriptedCluster(lambda worker, _look: refusal if worker == 1 else WorkerPhase.ALIVE, stop, 40)
    with pytest.raises(RefusedError, match="a worker refused to start: the key is refused"):
        Replicas(cluster, lambda _line: None, poll_seconds=0.0, backoff=AT_ONCE).run(2, stop)
    assert cluster.drained == [2]


def test_the_codes_of_no_use_are_those_of_wrong_words_and_of_refusals() -> None:
    assert HOPELESS_EXIT_CODES == (exit_codes.USAGE, exit_codes.REFUSED)


def test_a_cluster_that_can_start_none_is_told_with_its_reason() -> None:
    stop = threading.Event()
    cluster = ScriptedCluster(lambda _worker, _look: WorkerLoss(reason="no module named service"), stop, 1000)
    with pytest.raises(ServiceError, match="no module named service"):
        Replicas(cluster, lambda _line: None, poll_seconds=0.0, backoff=AT_ONCE).run(1, stop)
    assert cluster.started == MAX_FIRST_FAILURES


def test_one_that_has_lived_is_replaced_however_often_the_next_fail() -> None:
    def script(worker: int, look: int) -> WorkerStatus:
        return WorkerPhase.ALIVE if worker == 1 or look < 2 else WorkerLoss(reason="no node")

    cluster, said = keep(script, 2, looks=60)
    assert cluster.started > MAX_FIRST_FAILURES + 10
    assert len(said) in (cluster.started - 2, cluster.started - 1)  # whether the last is still alive


def test_failed_starts_wait_longer_each_time_and_a_lost_machine_does_not() -> None:
    waits = list[float]()

    class Recorded(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if timeout:
                waits.append(timeout)
            return self.is_set()

    def run(script: Callable[[int, int], WorkerStatus]) -> list[float]:
        waits.clear()
        stop = Recorded()
        backoff = Backoff(first_seconds=1.0, max_seconds=4.0, jitter=0.0)
        Replicas(ScriptedCluster(script, stop, 30), lambda _line: None, 0.0, backoff).run(2, stop)
        return list(waits)

    assert run(lambda worker, look: WorkerLoss(reason="") if worker == 1 and look == 15 else WorkerPhase.ALIVE) == []
    failing = run(lambda worker, _look: WorkerPhase.ALIVE if worker == 1 else WorkerLoss(reason=""))
    assert failing[:3] == [1.0, 2.0, 4.0]
