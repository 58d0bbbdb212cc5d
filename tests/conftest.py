"""Fixtures and rules of the whole test suite."""

import gc
import importlib.util
import os
import secrets
import signal
from collections.abc import Generator, Iterator
from typing import Any

import pytest
import redis
from hypothesis import settings

from tests import services
from tests.browser.chromium import REMEDY, find_chromium
from tests.container_runtimes import NO_RUNTIME, find_container_runtime
from tests.engines import change_engines
from tests.launchers.slurm_cluster import find_slurm

FORBID_SKIPS = "EVOLVE_FORBID_SKIPS"
VLLM_PYTHON = "EVOLVE_TEST_VLLM_PYTHON"
CLIENTS_PYTHON = "EVOLVE_TEST_CLIENTS_PYTHON"
NO_SLURM = "needs Slurm: apt-get install --no-install-recommends slurmctld slurmd slurm-client munge"
AGENTS_FOLDER = "EVOLVE_TEST_AGENTS"
RIBS = importlib.util.find_spec("ribs") is not None
TORCH = importlib.util.find_spec("torch") is not None
VERIFIERS = importlib.util.find_spec("verifiers") is not None
LAUNCHERS = importlib.util.find_spec("ray") is not None and importlib.util.find_spec("distributed") is not None
TRACKERS = importlib.util.find_spec("tensorboard") is not None

# What a terminal or a supervisor sends. `nohup`, background jobs and some CI systems start us with these ignored, which
# every process that a test starts would inherit.
_RESTORED: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGHUP: signal.SIG_DFL,
    signal.SIGTERM: signal.SIG_DFL,
}

# Time is no property of an example on a machine that runs other tests beside it.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")


def pytest_configure() -> None:
    gc.disable()  # until all tests are collected: what they are made of stays, and is looked at again and again
    for number, handler in _RESTORED.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _RESTORED)
    change_engines()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("faults") and config.getoption("markexpr") != "faults":
            item.add_marker(pytest.mark.skip(reason="takes minutes and all of the machine: make faults"))
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="holds for the superuser only: run as root"))
        if item.get_closest_marker("vllm") and VLLM_PYTHON not in os.environ:
            item.add_marker(pytest.mark.skip(reason="needs a vLLM of its own: make test-vllm"))
        if item.get_closest_marker("clients") and CLIENTS_PYTHON not in os.environ:
            item.add_marker(pytest.mark.skip(reason="needs generators of clients: make test-clients"))
        if item.get_closest_marker("agents") and AGENTS_FOLDER not in os.environ:
            item.add_marker(pytest.mark.skip(reason="needs a real coding agent: make test-agents"))
        if item.get_closest_marker("browser") and not find_chromium():
            item.add_marker(pytest.mark.skip(reason=REMEDY))
        if item.get_closest_marker("differential") and not RIBS:
            item.add_marker(pytest.mark.skip(reason="needs libraries of the field: make test-differential"))
        if item.get_closest_marker("trackers") and not TRACKERS:
            item.add_marker(pytest.mark.skip(reason="needs libraries of trackers: make test-trackers"))
        if item.get_closest_marker("verifiers") and not VERIFIERS:
            item.add_marker(pytest.mark.skip(reason="needs the library verifiers: make test-verifiers"))
        if item.get_closest_marker("launchers") and not LAUNCHERS:
            item.add_marker(pytest.mark.skip(reason="needs Ray and Dask: make test-launchers"))
        if item.get_closest_marker("slurm") and not find_slurm():
            item.add_marker(pytest.mark.skip(reason=NO_SLURM))
        if item.get_closest_marker("containers") and not find_container_runtime():
            item.add_marker(pytest.mark.skip(reason=NO_RUNTIME))
        if item.get_closest_marker("training") and not TORCH:
            item.add_marker(pytest.mark.skip(reason="needs torch, in an environment of its own: make test-training"))


@pytest.hookimpl(optionalhook=True)  # some environments have no pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """Three workers for two processors, by `-n logical`: tests wait half of the time, for processes and clocks."""
    return max(1, 3 * len(os.sched_getaffinity(0)) // 2)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave the tests out of garbage collections. A collection of these two million objects takes a second."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    report = yield
    return _forbidding_skips(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    report = yield
    return _forbidding_skips(report)


def _forbidding_skips(report: Any) -> Any:
    if os.environ.get(FORBID_SKIPS) == "1" and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{FORBID_SKIPS} is set, and this was left out: {reason}"
    return report


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[services.PostgresServer]:
    """A PostgreSQL server of this test process."""
    with services.postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_schema(postgres_server: services.PostgresServer) -> Iterator[str]:
    """An empty database of this version, to copy."""
    from service.db.schema_upgrade import upgrade  # half a second that not every test needs

    name = f"schema_{secrets.token_hex(8)}"
    upgrade(postgres_server.create_database(name))
    yield name
    postgres_server.drop_database(name)


@pytest.fixture(scope="session")
def postgres_template() -> str:
    """The database that each test's own is copied from; override it where a schema is wanted: `postgres_schema`."""
    return "template0"


@pytest.fixture
def postgres_url(postgres_server: services.PostgresServer, postgres_template: str) -> Iterator[str]:
    """The URL of a database of this test's own."""
    name = f"test_{secrets.token_hex(8)}"
    yield postgres_server.create_database(name, template=postgres_template)
    postgres_server.drop_database(name)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[services.RedisServer]:
    """A Redis server of this test process."""
    with services.redis_server() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: services.RedisServer) -> Iterator[str]:
    """The URL of an empty Redis database that no other test uses at the same time."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")  # not a fixture: some environments have no pytest-xdist
    url = redis_server.database_url(int(worker.removeprefix("gw")))
    with redis.Redis.from_url(url) as client:
        client.flushdb()
        yield url
        client.flushdb()
