"""Workers on a real Dask: lost machines and workers cost no candidate, and others are started."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.launchers.launching import launching
from tests.launchers.service import WorkerService
from tests.patience import PATIENCE_SECONDS
from tests.services import free_port

# Warnings of Dask are for those who write it.
pytestmark = [pytest.mark.launchers, pytest.mark.filterwarnings("default")]


class DaskProcesses:
    """A scheduler, and the processes of its workers."""

    def __init__(self) -> None:
        self.address = f"tcp://127.0.0.1:{free_port()}"
        port = self.address.rpartition(":")[2]
        self.scheduler = self._start("distributed.cli.dask_scheduler", "--port", port, "--no-dashboard")
        self.workers = [self.add_worker() for _ in range(2)]

    def add_worker(self) -> subprocess.Popen[bytes]:
        # Without its nanny: what is killed is the machine, and nothing starts it again.
        words = ["--nthreads", "2", "--no-nanny", "--no-dashboard"]
        return self._start("distributed.cli.dask_worker", self.address, *words)

    def _start(self, module: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", module, *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait(PATIENCE_SECONDS)


@contextmanager
def dask_processes() -> Iterator[DaskProcesses]:
    found = DaskProcesses()
    try:
        yield found
    finally:
        found.end()


@pytest.fixture(scope="module")
def cluster() -> Iterator[DaskProcesses]:
    with dask_processes() as found:
        yield found


def test_a_machine_that_is_lost_costs_no_candidate_and_its_worker_is_replaced(
    service: WorkerService, cluster: DaskProcesses
) -> None:
    words = ["dask", "--address", cluster.address, "--workers", "2", "--slots", "2"]
    with service.run() as run, launching(service, *words) as launch:
        workers = launch.wait_for_workers(2)
        run.read_until(6)
        cluster.workers[0].kill()
        cluster.workers[0].wait(PATIENCE_SECONDS)
        launch.wait_for_workers(1, besides=workers)  # on the other machine, which is all that there is
        run.finish()
        cluster.workers.append(cluster.add_worker())
        assert launch.end(signal.SIGTERM) == 0
        assert "A worker was lost, another is started: " in "".join(launch.log)


def test_a_worker_that_is_killed_is_replaced_and_costs_no_candidate(
    service: WorkerService, cluster: DaskProcesses
) -> None:
    with service.run() as run, launching(service, "dask", "--address", cluster.address, "--workers", "2") as launch:
        first, second = launch.wait_for_workers(2)
        run.read_until(6)
        os.kill(first, signal.SIGKILL)
        launch.wait_for_workers(1, besides=[first, second])
        run.finish()
        assert launch.end(signal.SIGINT) == 0
        assert "A worker failed with exit code -9" in "".join(launch.log)


def test_a_launcher_that_is_killed_leaves_no_worker(service: WorkerService, cluster: DaskProcesses) -> None:
    with launching(service, "dask", "--address", cluster.address) as launch:
        launch.wait_for_workers(1)
        assert launch.end(signal.SIGKILL) == -signal.SIGKILL
        launch.wait_for_workers(0)


def test_a_key_that_the_service_refuses_ends_the_launcher_with_the_reason(
    service: WorkerService, cluster: DaskProcesses
) -> None:
    service.key_file.write_text("evo_nobodys\n")
    with launching(service, "dask", "--address", cluster.address) as launch:
        assert launch.wait() == 4
        assert "a worker refused to start: " in "".join(launch.log)


def test_a_scheduler_that_is_gone_ends_the_launcher_with_a_sentence(service: WorkerService) -> None:
    with dask_processes() as cluster, launching(service, "dask", "--address", cluster.address) as launch:
        launch.wait_for_workers(1)
        cluster.scheduler.kill()
        assert launch.wait() == 6, launch.log
        assert "the scheduler of Dask is gone" in "".join(launch.log)


def test_an_address_where_no_dask_is_is_told(service: WorkerService) -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    with launching(service, "dask", "--address", address) as launch:
        assert launch.wait() == 6
        assert f"no scheduler of Dask answers at {address}" in "".join(launch.log)
