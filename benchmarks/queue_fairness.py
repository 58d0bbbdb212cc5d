"""How the slots of a pool are shared while runs begin, on paper: `python -m benchmarks.queue_fairness`.

A simulation by events, in which no machine has a part: a queue first in, first out, evaluations of log-normal times,
and runs that always have something to evaluate. They claim and submit by the rules of the product. Beside it, each
submits its share and an eighth more, however long its tasks wait.
"""

import heapq
import itertools
import math
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import arguments, report
from service.queue.evaluator import WATCH_SECONDS
from service.queue.fairness import claim, fair_share, lookahead, may_submit

SIGMA, TAIL = 1.0, 8.0  # of the logarithm of a time; the times its mean beyond which it is cut off
CANDIDATES_A_SECOND = 60.0  # of a run
REPLY_SECONDS = 0.1  # from the end of an evaluation until its run can submit another


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A pool, and when runs begin on it.

    Attributes:
        mean_seconds: of an evaluation.
        last: when the last run begins; None: with the others.
    """

    name: str
    slots: int
    runs: int
    mean_seconds: float
    apart_seconds: float
    at_seconds: Sequence[float]
    last: float | None = None

    def begins(self, number: int) -> float:
        """When a run begins."""
        late = self.last is not None and number == self.runs - 1
        return self.last if late and self.last is not None else number * self.apart_seconds


SCENES = (
    Scene(name="one by one", slots=10_000, runs=200, mean_seconds=300, apart_seconds=1, at_seconds=(300, 600, 900)),
    Scene(
        name="a late one",
        slots=10_000,
        runs=200,
        mean_seconds=300,
        apart_seconds=0.1,
        at_seconds=(910, 920, 940, 1000),
        last=900,
    ),
    Scene(name="one by one", slots=500, runs=20, mean_seconds=40, apart_seconds=3, at_seconds=(60, 90, 120)),
    Scene(name="one by one", slots=16, runs=2, mean_seconds=20, apart_seconds=3, at_seconds=(400,)),
    Scene(name="alone", slots=2, runs=1, mean_seconds=5, apart_seconds=0, at_seconds=(400,)),
)


@dataclass(slots=True)
class SimulatedRun:
    """A run that always has something to evaluate. `untaken`: its tasks that it takes for waiting, by number."""

    number: int
    share: int = 0
    submitted: int = 0
    finished: int = 0
    wanted: int = 0
    oldest_seconds: float = 0.0
    ready_at: float = 0.0
    scheduled: bool = False
    held: int = 0
    untaken: deque[int] = field(default_factory=deque)


class Simulation:
    """A pool and its runs, from the first to the last second that is asked for."""

    def __init__(self, scene: Scene, bounded: bool) -> None:
        self._scene, self._bounded = scene, bounded
        self._rng, self._order, self._numbers = np.random.default_rng(1), itertools.count(), itertools.count(1)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._queue: deque[tuple[int, SimulatedRun, float]] = deque()
        self._runs: list[SimulatedRun] = []
        self._wants: dict[str, int] = {}
        self._now, self._free, self._taken = 0.0, scene.slots, 0
        self._idle_seconds, self._full_at = 0.0, math.inf
        self._rows: list[dict[str, float]] = []

    def play(self) -> dict[str, Any]:
        """Let it happen."""
        for number in range(self._scene.runs):
            self._at(self._scene.begins(number), partial(self._begin, SimulatedRun(number)))
        for seconds in self._scene.at_seconds:
            self._at(seconds, self._note)
        while len(self._rows) < len(self._scene.at_seconds):
            at, _, happen = heapq.heappop(self._events)
            if self._full_at < math.inf:
                self._idle_seconds += self._free * (at - self._now)
            self._now = at
            happen()
            if self._free == 0:
                self._full_at = min(self._full_at, at)
        alive = self._scene.slots * (self._now - self._full_at)
        return {"use": round(1 - self._idle_seconds / alive, 4), "at": self._rows}

    def _at(self, seconds: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (seconds, next(self._order), happen))

    def _begin(self, run: SimulatedRun) -> None:
        self._runs.append(run)
        self._look(run)

    def _look(self, run: SimulatedRun) -> None:
        """Claim what was in use, and learn the share and the backlog."""
        slots = run.share + lookahead(run.share)
        wanted = slots if not self._may_submit(run) else run.submitted
        self._wants[str(run.number)] = claim(max(wanted, run.wanted), slots)
        run.wanted, run.finished = wanted, 0
        run.share = fair_share(self._scene.slots, self._wants, str(run.number))
        self._hear(run)
        self._submit(run)
        self._at(self._now + WATCH_SECONDS, partial(self._look, run))

    def _hear(self, run: SimulatedRun) -> None:
        while run.untaken and run.untaken[0] <= self._taken:
            run.untaken.popleft()
        run.oldest_seconds = self._now - self._queue[0][2] if self._queue else 0.0

    def _may_submit(self, run: SimulatedRun) -> bool:
        oldest_seconds = run.oldest_seconds if self._bounded else 0.0
        return may_submit(run.share, run.submitted, len(run.untaken) - run.finished, oldest_seconds)

    def _submit(self, run: SimulatedRun) -> None:
        """Submit as far as allowed, one candidate after the other."""
        if run.scheduled or not self._may_submit(run):
            return
        if self._now < run.ready_at:
            run.scheduled = True
            self._at(run.ready_at, partial(self._resume, run))
            return
        self._hear(run)
        number = next(self._numbers)
        self._queue.append((number, run, self._now))
        run.untaken.append(number)
        run.submitted += 1
        run.ready_at = self._now + 1 / CANDIDATES_A_SECOND
        self._lease()
        self._submit(run)

    def _resume(self, run: SimulatedRun) -> None:
        run.scheduled = False
        self._submit(run)

    def _lease(self) -> None:
        mean = self._scene.mean_seconds
        while self._free and self._queue:
            self._taken, run, _ = self._queue.popleft()
            self._free -= 1
            run.held += 1
            seconds = min(self._rng.lognormal(math.log(mean) - SIGMA**2 / 2, SIGMA), TAIL * mean)
            self._at(self._now + seconds, partial(self._complete, run))

    def _complete(self, run: SimulatedRun) -> None:
        self._free += 1
        run.held -= 1
        self._lease()
        self._at(self._now + REPLY_SECONDS, partial(self._result, run))

    def _result(self, run: SimulatedRun) -> None:
        run.submitted -= 1
        run.finished += 1
        self._submit(run)

    def _note(self) -> None:
        held = [run.held for run in self._runs]
        squares = len(held) * sum(count * count for count in held)
        self._rows.append(
            {
                "after_seconds": self._now,
                "jain": round(sum(held) ** 2 / squares, 3) if squares else 0.0,
                "least": min(held),
                "most": max(held),
                "last": held[-1],
                "waiting": len(self._queue),
            }
        )


def lines(scene: Scene, found: Mapping[str, Any]) -> str:
    return f"{scene.name}, {scene.slots} slots, {scene.runs} runs: {found}\n"


def main() -> None:
    parser = arguments(__doc__ or "")
    options = parser.parse_args()
    found = []
    for scene in SCENES:
        both = {name: Simulation(scene, bounded).play() for name, bounded in (("unbounded", False), ("bounded", True))}
        sys.stderr.write(lines(scene, both))
        found.append({"scene": scene.name, "slots": scene.slots, "runs": scene.runs, **both})
    report("queue_fairness", {"scenes": found}, options.out)


if __name__ == "__main__":
    main()
