"""Faults: what befalls an installation's processes, one thing after the other, drawn from a seed."""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.faults.kinds import FaultKind
from tests.faults.processes import POLL_SECONDS, Role, Victim

PAUSE_SECONDS = (1.0, 4.0)
# A server that is always away shows nothing but that: it is well for a while between two faults.
REST_SECONDS = (2.0, 6.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    """What is to be done, and when."""

    at: float
    what: Callable[[], None]


class Faults:
    """Draws faults from a deck that holds each kind, so that none is left out for long.

    Attributes:
        counts: of each fault.
        told: what happened, a line each.
    """

    def __init__(self, kinds: Sequence[FaultKind], victims: Sequence[Victim], draw: random.Random) -> None:
        self.counts: Counter[str] = Counter()
        self.told: list[str] = []
        self._kinds, self._victims, self._draw = kinds, victims, draw
        self._due: list[_Due] = []
        self._deck: list[FaultKind] = []
        self._began = time.monotonic()

    def rage(self, seconds: float) -> None:
        """Have faults happen for some seconds, then end them all."""
        until = time.monotonic() + seconds
        next_at = time.monotonic()
        while (now := time.monotonic()) < until:
            self._do_due(now)
            self._look_after()
            if now >= next_at:
                self._strike()
                next_at = now + self._draw.uniform(*PAUSE_SECONDS)
            time.sleep(POLL_SECONDS)  # what other processes do is only seen by looking
        while self._due:
            self._do_due(float("inf"))
        for victim in self._victims:
            if isinstance(victim, Role):
                victim.await_ready()

    def _look_after(self) -> None:
        for victim in self._victims:
            if isinstance(victim, Role):
                victim.look_after()

    def _strike(self) -> None:
        """The next card of the deck for which there is a process that is well."""
        for _ in range(2):
            for kind in list(self._deck):
                well = [victim for victim in self._victims if victim.kind == kind.victim and self._is_well(victim)]
                if well:
                    self._deck.remove(kind)
                    self._befall(kind, self._draw.choice(well))
                    return
            fresh = list(self._kinds)
            self._draw.shuffle(fresh)
            self._deck += fresh

    def _is_well(self, victim: Victim) -> bool:
        return not victim.idle and bool(victim.pid) and (not isinstance(victim, Role) or victim.ready)

    def _befall(self, kind: FaultKind, victim: Victim) -> None:
        victim.idle = kind.occupies
        self.counts[f"{kind.name} {kind.victim}"] += 1
        seconds = self._draw.uniform(*kind.seconds)
        at = time.monotonic()
        end = kind.begin(victim)
        name = getattr(victim, "name", victim.kind)
        self.told.append(f"{at - self._began:6.1f} s  {kind.name} {name} for {seconds:.1f} s")
        self._due.append(_Due(at=time.monotonic() + seconds, what=lambda: self._end(kind, end, victim)))

    def _do_due(self, now: float) -> None:
        for due in sorted(self._due, key=lambda due: due.at):
            if due.at <= now:
                self._due.remove(due)
                due.what()

    def _end(self, kind: FaultKind, end: Callable[[], None], victim: Victim) -> None:
        end()
        if not kind.occupies:
            return
        if isinstance(victim, Role):
            victim.idle = False
        else:
            rest = self._draw.uniform(*REST_SECONDS)
            self._due.append(_Due(at=time.monotonic() + rest, what=lambda: self._recover(victim)))

    def _recover(self, victim: Victim) -> None:
        victim.idle = False
