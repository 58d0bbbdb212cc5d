"""Retries: runs that could not be driven, each tried again later and later, or as soon as something else is wanted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from service.net.retry import Backoff
from service.ports import Clock, Intent

BACKOFF = Backoff(first_seconds=1.0, max_seconds=30.0, jitter=0.25)
FORGET_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Retry:
    """`intent`: what was wanted of it then; `at`: from when on it is tried again, by the monotonic clock."""

    intent: Intent
    at: float
    tries: int
    faults: int


class Retries:
    """Which runs of a runner wait for another try."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rng = np.random.default_rng()
        self._waiting: dict[str, _Retry] = {}

    @property
    def known(self) -> list[str]:
        """Runs that wait, or were due lately."""
        return list(self._waiting)

    @property
    def later(self) -> list[str]:
        """Runs that are not to be tried yet."""
        now = self._clock.monotonic()
        return [run_id for run_id, retry in self._waiting.items() if retry.at > now]

    def faults(self, run_id: str) -> int:
        """Tries of a run that ended by a fault of this program, since it last went well."""
        return self._waiting[run_id].faults if run_id in self._waiting else 0

    def add(self, run_id: str, intent: Intent, *, fault: bool = False) -> float:
        """Leave a run alone for a while, longer each time; for how many seconds."""
        before = self._waiting.get(run_id)
        tries = before.tries + 1 if before else 1
        seconds = BACKOFF.seconds(tries, float(self._rng.random()))
        at = self._clock.monotonic() + seconds
        self._waiting[run_id] = _Retry(intent=intent, at=at, tries=tries, faults=self.faults(run_id) + fault)
        return seconds

    def done(self, run_id: str) -> None:
        """A run went well."""
        self._waiting.pop(run_id, None)

    def want(self, wanted: Mapping[str, Intent]) -> None:
        """Take in what people want now of the known runs: what is wanted anew is tried at once."""
        now = self._clock.monotonic()
        for run_id, retry in list(self._waiting.items()):
            # A run that is due for so long and was not found is another runner's by now.
            if run_id not in wanted or now > retry.at + FORGET_SECONDS:
                del self._waiting[run_id]
            elif wanted[run_id] != retry.intent:
                self._waiting[run_id] = replace(retry, at=min(now, retry.at))
