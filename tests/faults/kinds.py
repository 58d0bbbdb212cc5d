"""Kinds of faults: what each does to which processes, and what ends it."""

import random
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tests.faults.processes import Role, Victim, pids_of, send
from tests.faults.servers import Postgres, Redis

# The longest silence that others must not take for a death is over after 12 s for a runner, 6 s for a worker.
STALL_SECONDS = {
    "runner": (15.0, 17.0),
    "worker": (6.5, 9.0),
    "api": (1.0, 6.0),
    "redis": (2.0, 8.0),
    "postgres": (2.0, 8.0),
}
DOWN_SECONDS = (0.0, 3.0)
# Now and then longer than a lease lasts.
CUT_SECONDS = (2.0, 14.0)
REFUSAL_SECONDS = (2.0, 8.0)
WRONG_SECONDS = (5.0, 20.0)
CLOCK_OFFSETS = (20, -20, 3600, -3600)

End = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """What can befall the processes of a kind.

    Attributes:
        name: as the report counts it.
        victim: the kind of process.
        seconds: how long it lasts, at least and at most.
        begin: does it to a process, and returns what ends it.
        occupies: whether nothing else befalls the process meanwhile.
    """

    name: str
    victim: str
    seconds: tuple[float, float]
    begin: Callable[[Any], End]
    occupies: bool = True


def kinds(victims: Sequence[Victim], draw: random.Random, before_api_dies: Callable[[], None]) -> list[FaultKind]:
    """Every fault that can be done here to processes such as these.

    Args:
        victims: all processes.
        draw: of what is left open.
        before_api_dies: is called a moment before the API is killed.
    """
    found = []
    for kind, seconds in STALL_SECONDS.items():
        prepare = partial(_amid_requests, draw, before_api_dies) if kind == "api" else _nothing
        found.append(FaultKind(name="kill", victim=kind, seconds=DOWN_SECONDS, begin=partial(_kill, prepare)))
        found.append(FaultKind(name="stall", victim=kind, seconds=seconds, begin=_stall))
    for server in ("postgres", "redis", "api"):
        found.append(FaultKind(name="cut off", victim=server, seconds=CUT_SECONDS, begin=_cut))
        found.append(FaultKind(name="lose answers of", victim=server, seconds=CUT_SECONDS, begin=_lose_answers))
        found.append(FaultKind(name="lose host of", victim=server, seconds=DOWN_SECONDS, begin=_lose_host))
    found += _POSTGRES_KINDS
    if any(isinstance(victim, Postgres) and victim.has_own_disk for victim in victims):
        found.append(FaultKind(name="fill disk of", victim="postgres", seconds=REFUSAL_SECONDS, begin=_fill_disk))
    found += _REDIS_KINDS
    clocks = {victim.kind for victim in victims if isinstance(victim, Role) and victim.clock is not None}
    wrong = FaultKind(
        name="wrong clock of", victim="", seconds=WRONG_SECONDS, begin=partial(_set_clock, draw), occupies=False
    )
    return found + [replace(wrong, victim=kind) for kind in sorted(clocks)]


def _nothing() -> None:
    pass


def _amid_requests(draw: random.Random, before: Callable[[], None]) -> None:
    before()
    time.sleep(draw.uniform(0.0, 0.03))  # somewhere in the midst of what it is asked


def _kill(prepare: Callable[[], None], victim: Victim) -> End:
    prepare()
    victim.kill()
    return victim.start


def _stall(victim: Victim) -> End:
    stopped = pids_of(victim) if victim.kind == "postgres" else [victim.pid]
    send(stopped, signal.SIGSTOP)
    return lambda: send(stopped, signal.SIGCONT)


def _cut(server: Postgres | Redis | Role) -> End:
    assert server.way is not None
    server.way.cut()
    return server.way.mend


def _lose_answers(server: Postgres | Redis | Role) -> End:
    assert server.way is not None
    server.way.lose_answers()
    return server.way.mend


def _lose_host(server: Postgres | Redis | Role) -> End:
    """No process of the host says that it ends; another one has its data, its name and another address."""
    assert server.way is not None
    server.way.move()
    server.kill()
    return server.start


def _forbid_writing(server: Postgres) -> End:
    server.forbid_writing()
    return server.permit_writing


def _become_standby(server: Postgres) -> End:
    server.become_standby()
    return server.become_primary


def _fill_disk(server: Postgres) -> End:
    server.fill_disk()
    return server.free_disk


def _flush(server: Redis) -> End:
    server.flush()
    return _nothing


def _fill_memory(server: Redis) -> End:
    server.fill_memory()
    return server.free_memory


def _set_clock(draw: random.Random, role: Role) -> End:
    assert role.clock is not None
    role.clock.set(draw.choice(CLOCK_OFFSETS))
    return partial(role.clock.set, 0)


_POSTGRES_KINDS = (
    FaultKind(name="forbid writing to", victim="postgres", seconds=REFUSAL_SECONDS, begin=_forbid_writing),
    FaultKind(name="fail over", victim="postgres", seconds=REFUSAL_SECONDS, begin=_become_standby),
)
_REDIS_KINDS = (
    FaultKind(name="flush", victim="redis", seconds=(0.0, 0.0), begin=_flush),
    FaultKind(name="fill memory of", victim="redis", seconds=CUT_SECONDS, begin=_fill_memory),
)
