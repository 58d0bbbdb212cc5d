"""Light-weight workers for `benchmarks.worker_fleet`: they lease, hold and complete as workers do, and only wait.

Each client is one slot with the real leases, over Redis or over HTTP. An evaluation lasts a drawn time. A client may
die in it without a word, or go silent for longer than a lease lasts and then come with a late result.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from evolve.evaluation import Evaluation, Outcome
from evolve.version import __version__
from service.client.leases import RemoteEvaluationLeases, connect_service
from service.errors import UnreachableError
from service.ports import EvaluationLeases, Lease, LeaseState, WorkerHeartbeat
from service.queue.connection import connect
from service.queue.lease_settings import LeaseSettings
from service.queue.redis import RedisEvaluationLeases
from service.worker.worker import WorkerIntervals

POOL = "cpu"
# As many clients share a connection pool: each that waits for a task holds a connection, as a worker of its own does.
CLIENTS_PER_POOL = 500
FILL, MEASURE, FINISH, END = "fill", "measure", "finish", "end"
TAIL = 8.0  # times the mean, beyond which evaluation times are cut off
_SETTINGS, _INTERVALS = LeaseSettings(), WorkerIntervals()


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """What a fleet does.

    Attributes:
        mean_seconds: of an evaluation, before the scale.
        sigma: of the logarithm of its time.
        scale: by how much every time is stretched: of evaluations, leases, renewals and heartbeats.
        deaths: chance that a client dies in an evaluation.
        stalls: chance that it goes silent in one for longer than its lease lasts.
        apart: seconds between the beginnings of two runs, once the clients wait; None: all runs begin before the
            clients.
    """

    clients: int
    runs: int
    mean_seconds: float
    sigma: float
    scale: float
    deaths: float
    stalls: float
    apart: float | None = None

    @property
    def terms(self) -> LeaseSettings:
        """Those of the product, stretched."""
        return LeaseSettings(
            lease_seconds=_SETTINGS.lease_seconds * self.scale,
            beat_seconds=_SETTINGS.beat_seconds * self.scale,
            claim_seconds=_SETTINGS.claim_seconds * self.scale,
            forget_seconds=_SETTINGS.forget_seconds * self.scale,
        )

    def draw_seconds(self, rng: np.random.Generator) -> float:
        """A time of a log-normal distribution of the mean, cut off at its far end."""
        drawn = float(rng.lognormal(math.log(self.mean_seconds) - self.sigma**2 / 2, self.sigma))
        return min(drawn, TAIL * self.mean_seconds) * self.scale


@dataclass
class Tally:
    """What the clients of a process saw.

    Attributes:
        held: by second of the clock of all, how many clients had a task of each run, by the number of the run.
    """

    held: dict[int, dict[int, int]] = field(default_factory=dict)
    lease_seconds: list[float] = field(default_factory=list)
    waited_seconds: list[float] = field(default_factory=list)
    idle_seconds: float = 0.0
    alive_seconds: float = 0.0
    leases: int = 0
    redelivered: int = 0
    completed: list[str] = field(default_factory=list)
    refused: int = 0
    lost: int = 0
    died: int = 0
    stalled: int = 0
    unreachable: int = 0


class Phase:
    """What the fleet shall do now, told through Redis."""

    def __init__(self) -> None:
        self.name = FILL
        self.finishing = asyncio.Event()

    async def follow(self, url: str) -> None:
        """Follow it to the end."""
        async with connect(url) as client:
            while self.name != END:
                found: Any = await client.get("fleet:phase")
                self.name = (found or FILL.encode()).decode()
                if self.name in {FINISH, END}:
                    self.finishing.set()
                await asyncio.sleep(0.2)

    async def wait(self, seconds: float) -> None:
        """Wait, but no longer once the fleet finishes."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.finishing.wait()


class FleetClient:
    """One slot of the fleet, until it dies or the fleet ends."""

    def __init__(
        self, plan: FleetPlan, leases: EvaluationLeases, name: str, phase: Phase, tally: Tally, seed: Sequence[int]
    ) -> None:
        self._plan, self._leases, self._name, self._phase, self._tally = plan, leases, name, phase, tally
        self._rng = np.random.default_rng(seed)
        self._silent = False
        self.run_number: int | None = None
        self._heartbeat = WorkerHeartbeat(
            worker_id=name,
            pool=POOL,
            slots=1,
            busy=0,
            isolation="none",
            version=__version__,
            started_at=datetime.now(UTC),
        )

    async def run(self) -> None:
        """Work; a death is replaced by a client of another name, as a scheduler of jobs does it."""
        beating = asyncio.create_task(self._beat())
        try:
            await asyncio.sleep(self._rng.random() * _INTERVALS.heartbeat * self._plan.scale)
            while self._phase.name != END:
                began = asyncio.get_running_loop().time()
                lease = await self._take(began)
                if lease is None:
                    continue
                self.run_number = int(lease.task.bundle_hash, 16)
                lives = await self._work(lease)
                self.run_number = None
                if not lives:
                    self._tally.died += 1
                    self._silent = True
                    return
        finally:
            beating.cancel()
            await asyncio.wait([beating])

    async def _take(self, began: float) -> Lease | None:
        clock = asyncio.get_running_loop()
        lease = None
        while lease is None and self._phase.name != END:
            try:
                lease = await self._leases.lease(_INTERVALS.ask)
            except UnreachableError:
                self._tally.unreachable += 1
                await asyncio.sleep(_INTERVALS.wait)
        if lease is not None and self._phase.name == MEASURE:
            idle = clock.time() - began
            self._tally.idle_seconds += idle
            self._tally.alive_seconds += idle
            self._tally.lease_seconds.append(idle)
            self._tally.leases += 1
            if lease.delivery == 1:
                self._tally.waited_seconds.append(lease.waited_seconds)
        if lease is not None:
            self._tally.redelivered += lease.delivery > 1
        return lease

    async def _work(self, lease: Lease) -> bool:
        """Evaluate; whether the client lives on."""
        clock, plan = asyncio.get_running_loop(), self._plan
        seconds, fate = plan.draw_seconds(self._rng), float(self._rng.random())
        if self._phase.finishing.is_set():
            seconds, fate = 0.0, 1.0
        began, measured = clock.time(), self._phase.name == MEASURE
        if fate < plan.deaths:
            await self._phase.wait(seconds * float(self._rng.random()))
            return False
        standing = LeaseState.HELD
        if fate < plan.deaths + plan.stalls:
            self._tally.stalled += 1
            self._silent = True
            await asyncio.sleep((1.5 + self._rng.random()) * plan.terms.lease_seconds)
            self._silent = False
        else:
            standing = await self._hold(lease, began + seconds)
        if standing is LeaseState.HELD:
            await self._complete(lease)
        else:
            self._tally.lost += standing is LeaseState.LOST
        if measured and self._phase.name == MEASURE:
            self._tally.alive_seconds += clock.time() - began
        return True

    async def _hold(self, lease: Lease, until: float) -> LeaseState:
        clock = asyncio.get_running_loop()
        while (left := until - clock.time()) > 0 and not self._phase.finishing.is_set():
            await self._phase.wait(min(left, _INTERVALS.renew * self._plan.scale))
            if clock.time() < until and not self._phase.finishing.is_set():
                with suppress(UnreachableError):
                    if (standing := await self._leases.renew(lease)) is not LeaseState.HELD:
                        return standing
        return LeaseState.HELD

    async def _complete(self, lease: Lease) -> None:
        first, second = (int(lease.task.program.id[at : at + 8], 16) / 2**32 for at in (4, 12))
        scores = {"first": first, "second": second}
        while self._phase.name != END:
            try:
                taken = await self._leases.complete(
                    lease, Evaluation(outcome=Outcome.OK, scores=scores, worker=self._name)
                )
            except UnreachableError:
                self._tally.unreachable += 1
                await asyncio.sleep(_INTERVALS.wait)
                continue
            if taken:
                self._tally.completed.append(lease.task.evaluation_id)
            else:
                self._tally.refused += 1
            return

    async def _beat(self) -> None:
        while True:
            if not self._silent:
                try:
                    await self._leases.heartbeat(self._heartbeat)
                except UnreachableError:
                    self._tally.unreachable += 1
            await asyncio.sleep(_INTERVALS.heartbeat * self._plan.scale)


OpenLeases = Callable[[str], EvaluationLeases]


@asynccontextmanager
async def redis_leases(url: str, plan: FleetPlan) -> AsyncIterator[OpenLeases]:
    """Leases over Redis; some hundred clients share a pool of connections."""
    async with AsyncExitStack() as stack:
        pools = [
            await stack.enter_async_context(connect(url)) for _ in range(math.ceil(plan.clients / CLIENTS_PER_POOL))
        ]
        made = 0

        def opened(name: str) -> EvaluationLeases:
            nonlocal made
            made += 1
            return RedisEvaluationLeases(pools[made % len(pools)], POOL, name, plan.terms)

        yield opened


@asynccontextmanager
async def http_leases(url: str, key: str) -> AsyncIterator[OpenLeases]:
    """Leases over HTTP; each client has the connections that it needs."""
    async with AsyncExitStack() as stack:
        shared = await stack.enter_async_context(connect_service(url, key, allow_http=True))
        yield lambda name: RemoteEvaluationLeases(shared, POOL, name)


async def work(opened: OpenLeases, queue: str, plan: FleetPlan, process: int, tally: Tally) -> None:
    """Let the clients of this process work, until the fleet ends, and count what they see."""
    phase = Phase()
    following = asyncio.create_task(phase.follow(queue))
    clients: dict[int, FleetClient] = {}
    sampling = asyncio.create_task(_sample(clients, phase, tally))

    async def slot(number: int) -> None:
        generation = 0
        while phase.name != END:
            name = f"fleet-{process}-{number}-{generation}"
            seed = (process, number, generation)
            clients[number] = FleetClient(plan, opened(name), name, phase, tally, seed)
            await clients[number].run()
            generation += 1
            await phase.wait(plan.terms.lease_seconds)

    await asyncio.gather(*(slot(number) for number in range(plan.clients)))
    await asyncio.gather(following, sampling)


async def _sample(clients: Mapping[int, FleetClient], phase: Phase, tally: Tally) -> None:
    """Note once a second, while the fleet is measured, whose tasks the clients have."""
    while phase.name != END:
        if phase.name == MEASURE:
            numbers = (client.run_number for client in clients.values())
            tally.held[int(time.time())] = dict(Counter(number for number in numbers if number is not None))
        await asyncio.sleep(1.0)
