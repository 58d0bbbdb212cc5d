"""Workers, opened: where they take tasks, and what they evaluate with."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evolve.ports import Evaluator
from service.bootstrap.evaluators import SandboxEvaluators, queue_url
from service.client.key_file import key_in
from service.config import Settings
from service.errors import RefusedError, UsageError
from service.ports import Bundle, EvaluationLeases, EvaluatorRequest, WorkerHeartbeat
from service.problems.load import load_bundle
from service.queue.evaluator import CONTAINER_POOLS, CPU, GPU_POOLS
from service.sandbox.examination import require_sandbox

if TYPE_CHECKING:
    from service.queue.memory import MemoryBroker
    from service.sandbox.device_monitor import DeviceMonitor
    from service.worker.worker import Worker, WorkerIntervals

# A question over HTTP waits longer than one to Redis, to be asked less often; so long may a drain take.
REMOTE_ASK_SECONDS = 2.0
_POOL = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSource:
    """Where a worker takes tasks: at a service over HTTP, else at a queue; `queue` None: what the settings say."""

    queue: str | None = None
    server: str | None = None
    api_key_file: Path | None = None


@asynccontextmanager
async def open_worker(settings: Settings, place: TaskSource, pool: str, slots: int | None) -> AsyncIterator["Worker"]:
    """A worker of a pool, whose sandbox has tested itself and whose queue or service has answered.

    Args:
        settings: what the operator allows and requires.
        place: where it takes tasks.
        pool: whose tasks it takes.
        slots: evaluations at once; None: as many as this process has cores, or devices where the pool needs them.

    Raises:
        UsageError: no queue is named, a word is off, or there are more slots than devices in a pool that needs them.
        RefusedError: this machine offers less isolation than is required or has no device that the pool needs, or the
            service refuses the key.
        UnreachableError: the queue or the service does not answer.
    """
    check_pool(pool)
    leasing = _leasing(settings, place)
    devices = await _devices(settings, pool)
    heartbeat = await _first_heartbeat(settings, pool, _slots(pool, slots, devices))
    async with leasing(pool, heartbeat.worker_id) as (leases, pace):
        yield await _opening(settings, leases, heartbeat, pace, devices)


async def _devices(settings: Settings, pool: str) -> "DeviceMonitor":
    """The devices of a worker: none but in a pool whose problems need them.

    Raises:
        UsageError: the settings name another.
        RefusedError: such a pool has none here.
    """
    from service.sandbox.device_monitor import open_monitor
    from service.sandbox.devices import find_devices

    if pool not in GPU_POOLS:
        if settings.sandbox.devices:
            raise UsageError(f"--devices is for the pools {' and '.join(GPU_POOLS)}, and this worker takes {pool}")
        return await open_monitor(())
    found = await asyncio.to_thread(find_devices, settings.sandbox.devices)
    if not found:
        raise RefusedError(
            f"a worker of pool {pool} needs an accelerator, and this process can open none: neither /dev/nvidia0 nor"
            " /dev/dri/renderD128"
        )
    return await open_monitor(found)


def _slots(pool: str, slots: int | None, devices: "DeviceMonitor") -> int | None:
    if pool not in GPU_POOLS:
        return slots
    names = [device.name for device in devices.devices]
    if slots is not None and slots > len(names):
        raise UsageError(
            f"--slots {slots} needs as many devices, for each evaluation has one to itself, and this worker has"
            f" {', '.join(names)}: leave out --slots"
        )
    return slots or len(names)


def check_pool(pool: str) -> None:
    """Refuse the name of a pool that cannot be one.

    Raises:
        UsageError: it is none.
    """
    if not _POOL.fullmatch(pool):
        raise UsageError(f"--pool {pool[:70]!r} is not a name: letters a-z, digits, dots and dashes make one")


Leasing = Callable[[str, str], AbstractAsyncContextManager[tuple[EvaluationLeases, "WorkerIntervals | None"]]]


def _leasing(settings: Settings, place: TaskSource) -> Leasing:
    """How tasks are leased at a place, by pool and worker."""
    if place.server is not None:
        if place.queue is not None:
            raise UsageError("--queue and --server exclude each other: leave out one of them")
        if place.api_key_file is None:
            raise UsageError("name the file that holds the worker's key: --api-key-file FILE")
        return partial(_leased_remotely, place.server, key_in(place.api_key_file))
    url = queue_url(settings, place.queue)
    if url is None:
        raise UsageError(
            "name the queue to take tasks from: --queue redis://HOST:6379/0, or the setting queue.url; or a service:"
            " --server URL --api-key-file FILE"
        )
    return partial(_leased_from_redis, url)


@asynccontextmanager
async def _leased_from_redis(url: str, pool: str, worker_id: str) -> AsyncIterator[tuple[EvaluationLeases, None]]:
    from service.queue.connection import connect
    from service.queue.redis import RedisEvaluationLeases

    async with connect(url) as client:
        yield RedisEvaluationLeases(client, pool, worker_id), None


@asynccontextmanager
async def _leased_remotely(
    server: str, key: str, pool: str, worker_id: str
) -> AsyncIterator[tuple[EvaluationLeases, "WorkerIntervals"]]:
    from service.client.leases import RemoteEvaluationLeases, connect_service
    from service.worker.worker import WorkerIntervals

    async with connect_service(server, key) as client:
        yield RemoteEvaluationLeases(client, pool, worker_id), WorkerIntervals(ask=REMOTE_ASK_SECONDS)


@asynccontextmanager
async def open_local_worker(
    settings: Settings, broker: "MemoryBroker", slots: int | None = None, pool: str = CPU
) -> AsyncIterator["Worker"]:
    """A worker beside the runs that it works for, in the same process and event loop.

    Args:
        settings: what the operator allows and requires.
        broker: what submitters and workers share.
        slots: evaluations at once; None: as many as this process has cores.
        pool: whose tasks it takes.

    Raises:
        RefusedError: this machine offers less isolation than is required.
    """
    from service.queue.memory import MemoryEvaluationLeases

    devices = await _devices(settings, pool)
    heartbeat = await _first_heartbeat(settings, pool, _slots(pool, slots, devices))
    leases = MemoryEvaluationLeases(broker, pool, heartbeat.worker_id)
    yield await _opening(settings, leases, heartbeat, None, devices)


async def _first_heartbeat(settings: Settings, pool: str, slots: int | None) -> WorkerHeartbeat:
    from service.worker.worker import first_heartbeat  # and with it metrics that only workers have

    level = (await require_sandbox(settings.sandbox.for_others())).level
    return replace(first_heartbeat(pool, slots, level), containers=await _containers(settings, pool))


async def _containers(settings: Settings, pool: str) -> str:
    """What runs the containers of a pool for problems with an image; empty: its problems have none.

    Raises:
        RefusedError: nothing does here.
    """
    if pool not in CONTAINER_POOLS:
        return ""
    from service.sandbox.container_runtime import find_runtime

    try:
        return str(await find_runtime(settings.sandbox.container_runtime))
    except RefusedError as error:
        raise RefusedError(f"a worker of pool {pool} needs Podman or Docker, and {error}") from error


async def _opening(
    settings: Settings,
    leases: EvaluationLeases,
    heartbeat: WorkerHeartbeat,
    pace: "WorkerIntervals | None",
    devices: "DeviceMonitor",
) -> "Worker":
    from service.sandbox import scratch
    from service.worker.worker import Worker

    opener = _opener(settings, heartbeat.slots, devices)
    worker = Worker(leases, opener, heartbeat, pace, scratch.has_room, lambda: devices.states)
    await leases.heartbeat(worker.heartbeat)
    return worker


def _opener(
    settings: Settings, slots: int, devices: "DeviceMonitor"
) -> Callable[[Bundle], AbstractAsyncContextManager[Evaluator]]:
    evaluators = SandboxEvaluators(settings, serving=True, devices=devices)

    @asynccontextmanager
    async def opened(bundle: Bundle) -> AsyncIterator[Evaluator]:
        problem = load_bundle(bundle, "problem").problem
        async with evaluators.open(EvaluatorRequest(problem=problem, bundle=bundle, slots=slots, others=True)) as found:
            yield found.evaluator

    return opened
