"""Faults: kills and stalls of an installation's processes, one after the other, drawn from a seed."""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tests.faults.processes import POLL_SECONDS, Role, Victim, pids_of, send

# The longest silence that others must not take for a death is over after 12 s for a runner, 6 s for a worker.
STALL_SECONDS = {
    "runner": (15.0, 17.0),
    "worker": (6.5, 9.0),
    "api": (1.0, 6.0),
    "redis": (2.0, 8.0),
    "postgres": (2.0, 8.0),
}
DOWN_SECONDS = (0.0, 3.0)
PAUSE_SECONDS = (1.0, 4.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mend:
    """What ends a fault, and when."""

    at: float
    what: Callable[[], None]


class Faults:
    """Draws faults from a deck that holds each fault of each kind of process, so that none is left out for long.

    Attributes:
        counts: of each fault.
        told: what happened, a line each.
    """

    def __init__(self, victims: Sequence[Victim], draw: random.Random, before_api_dies: Callable[[], None]) -> None:
        self.counts: Counter[str] = Counter()
        self.told: list[str] = []
        self._victims, self._draw, self._before_api_dies = victims, draw, before_api_dies
        self._mends: list[_Mend] = []
        self._deck: list[tuple[str, str]] = []
        self._began = time.monotonic()

    def rage(self, seconds: float) -> None:
        """Have faults happen for some seconds, then mend everything."""
        until = time.monotonic() + seconds
        due = time.monotonic()
        while (now := time.monotonic()) < until:
            self._mend(now)
            self._look_after()
            if now >= due:
                self._strike()
                due = now + self._draw.uniform(*PAUSE_SECONDS)
            time.sleep(POLL_SECONDS)  # what other processes do is only seen by looking
        self._mend(float("inf"))
        for victim in self._victims:
            if isinstance(victim, Role):
                victim.await_ready()

    def _look_after(self) -> None:
        for victim in self._victims:
            if isinstance(victim, Role):
                victim.look_after()

    def _strike(self) -> None:
        """The next card of the deck for which there is a process that is well."""
        kinds = dict.fromkeys(victim.kind for victim in self._victims)
        for _ in range(2):
            for card in list(self._deck):
                well = [victim for victim in self._victims if victim.kind == card[1] and self._is_well(victim)]
                if well:
                    self._deck.remove(card)
                    self._befall(card[0], self._draw.choice(well))
                    return
            fresh = [(fault, kind) for fault in ("kill", "stall") for kind in kinds]
            self._draw.shuffle(fresh)
            self._deck += fresh

    def _is_well(self, victim: Victim) -> bool:
        return not victim.idle and bool(victim.pid) and (not isinstance(victim, Role) or victim.ready)

    def _befall(self, fault: str, victim: Victim) -> None:
        victim.idle = True
        self.counts[f"{fault} {victim.kind}"] += 1
        if fault == "kill":
            if victim.kind == "api":
                self._before_api_dies()
                time.sleep(self._draw.uniform(0.0, 0.03))  # somewhere in the midst of what it is asked
            victim.kill()
            seconds = self._draw.uniform(*DOWN_SECONDS)
            mend = partial(self._restart, victim)
        else:
            stopped = pids_of(victim) if victim.kind == "postgres" else [victim.pid]
            send(stopped, signal.SIGSTOP)
            seconds = self._draw.uniform(*STALL_SECONDS[victim.kind])
            mend = partial(self._go_on, victim, stopped)
        at = time.monotonic()
        self.told.append(
            f"{at - self._began:6.1f} s  {fault} {getattr(victim, 'name', victim.kind)} for {seconds:.1f} s"
        )
        self._mends.append(_Mend(at=at + seconds, what=mend))

    def _mend(self, now: float) -> None:
        for mend in sorted(self._mends, key=lambda mend: mend.at):
            if mend.at <= now:
                self._mends.remove(mend)
                mend.what()

    def _restart(self, victim: Victim) -> None:
        victim.start()
        victim.idle = False

    def _go_on(self, victim: Victim, stopped: Sequence[int]) -> None:
        send(stopped, signal.SIGCONT)
        victim.idle = False
