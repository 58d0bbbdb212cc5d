"""Workers on a real Ray: lost nodes, actors and workers cost no candidate, and others are started."""

import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

from tests.launchers.launching import launching
from tests.launchers.service import WorkerService

# Warnings of Ray are for those who write it.
pytestmark = [pytest.mark.launchers, pytest.mark.filterwarnings("default")]
ENVIRONMENT = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
CORES = 2


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of a head that runs nothing and two nodes, each with a raylet of its own."""
    # A folder of its own, whoever else has run Ray here, and a short one: it holds sockets.
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder:
        for name, value in {**ENVIRONMENT, "RAY_TMPDIR": folder}.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        for _ in range(2):
            found.add_node(num_cpus=CORES)
        yield found
        found.shutdown()


def test_a_node_that_is_lost_costs_no_candidate_and_its_worker_comes_back(service: WorkerService, cluster: Any) -> None:
    words = ["ray", "--address", cluster.address, "--workers", "2", "--slots", str(CORES)]
    with service.run() as run, launching(service, *words, environment=ENVIRONMENT) as launch:
        workers = launch.wait_for_workers(2)
        run.read_until(6)
        cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        left = launch.wait_for_workers(1)
        assert left[0] in workers
        run.finish()
        cluster.add_node(num_cpus=CORES)
        launch.wait_for_workers(1, besides=left)
        assert launch.end(signal.SIGTERM) == 0
        assert "A worker was lost, another is started" in "".join(launch.log)


def test_a_worker_that_is_killed_is_replaced_and_costs_no_candidate(service: WorkerService, cluster: Any) -> None:
    words = ["ray", "--address", cluster.address, "--workers", "2", "--slots", str(CORES)]
    with service.run() as run, launching(service, *words, environment=ENVIRONMENT) as launch:
        first, second = launch.wait_for_workers(2)
        run.read_until(6)
        os.kill(first, signal.SIGKILL)
        launch.wait_for_workers(1, besides=[first, second])
        run.finish()
        assert launch.end(signal.SIGINT) == 0
        assert "A worker failed with exit code -9" in "".join(launch.log)


def test_a_launcher_that_is_killed_leaves_no_worker(service: WorkerService, cluster: Any) -> None:
    with launching(service, "ray", "--address", cluster.address, environment=ENVIRONMENT) as launch:
        launch.wait_for_workers(1)
        assert launch.end(signal.SIGKILL) == -signal.SIGKILL
        launch.wait_for_workers(0)


def test_workers_that_find_no_room_are_given_up(service: WorkerService, cluster: Any) -> None:
    words = ["ray", "--address", cluster.address, "--workers", "3", "--slots", str(CORES)]
    with launching(service, *words, environment=ENVIRONMENT) as launch:
        launch.wait_for_workers(2)
        assert launch.end(signal.SIGINT) == 0


def test_a_key_that_the_service_refuses_ends_the_launcher_with_the_reason(service: WorkerService, cluster: Any) -> None:
    service.key_file.write_text("evo_nobodys\n")
    with launching(service, "ray", "--address", cluster.address, environment=ENVIRONMENT) as launch:
        assert launch.wait() == 4
        assert "a worker refused to start: " in "".join(launch.log)


def test_an_address_where_no_ray_is_is_told(service: WorkerService) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"ray://127.0.0.1:{taken.getsockname()[1]}"
        with launching(service, "ray", "--address", address, environment=ENVIRONMENT) as launch:
            assert launch.wait() == 6
            assert f"no Ray cluster answers at {address}" in "".join(launch.log)
