"""How long a run is expected to take until its first limit, from what it used lately."""

import math
from collections import deque
from collections.abc import Mapping

WALL = "wall_seconds"
WINDOW_SECONDS = 60.0  # over which the pace is taken, and longer where fewer evaluations came
MIN_EVALUATIONS = 5  # in that window, before which nothing is told
SMOOTH_SECONDS = 30.0
DOUBLING_SECONDS = 10.0  # in which what is shown at most doubles, or halves beside running down


def seconds_left(
    limits: Mapping[str, float | None], used: Mapping[str, float], rates: Mapping[str, float]
) -> float | None:
    """Time until the first limit.

    Args:
        limits: of the budget by key; None: no limit.
        used: of each by now.
        rates: at which each is used, a second; the wall clock needs none.

    Returns:
        Seconds; None where no limit can be told a time.
    """
    found = []
    for key, limit in limits.items():
        rate = 1.0 if key == WALL else rates.get(key, 0.0)
        if limit is not None and key in used and rate > 0:
            found.append(max(0.0, limit - used[key]) / rate)
    return min(found, default=None)


class UsageWindow:
    """What a run used of its budget over the last seconds."""

    def __init__(self, window_seconds: float = WINDOW_SECONDS, min_evaluations: int = MIN_EVALUATIONS) -> None:
        self._window, self._min = window_seconds, min_evaluations
        self._seen: deque[tuple[float, Mapping[str, float]]] = deque()

    def add(self, at: float, used: Mapping[str, float]) -> None:
        """Note what was used by a time; what is older than the window is dropped once enough is known without it."""
        now = {key: value for key, value in used.items() if key != WALL}
        if self._seen and self._seen[-1][1] == now:
            return
        self._seen.append((at, now))
        while len(self._seen) > 2 and self._seen[1][0] <= at - self._window and self._evaluated(1) >= self._min:
            self._seen.popleft()

    def rates(self, at: float) -> dict[str, float]:
        """What is used a second up to a time, by key; empty: too little is known."""
        if len(self._seen) < 2 or at <= self._seen[0][0] or self._evaluated(0) < self._min:
            return {}
        (since, before), (_, after) = self._seen[0], self._seen[-1]
        return {key: (value - before.get(key, 0.0)) / (at - since) for key, value in after.items()}

    def _evaluated(self, place: int) -> float:
        return self._seen[-1][1].get("evaluations", 0.0) - self._seen[place][1].get("evaluations", 0.0)


class TimeLeft:
    """The time left as it is shown: it runs down with the clock, and moves towards new estimates little by little."""

    def __init__(self) -> None:
        self._shown: float | None = None
        self._at = 0.0

    def smooth(self, estimate: float | None, at: float) -> float | None:
        """The time left at a time; None when nothing can be said.

        Beside running down, it changes by a factor of two at most in `DOUBLING_SECONDS`, whatever is estimated.
        """
        if estimate is None:
            return None
        if self._shown is None:
            self._shown, self._at = estimate, at
            return estimate
        passed = max(0.0, at - self._at)
        expected = math.log1p(max(0.0, self._shown - passed))
        share = 1.0 - math.exp(-passed / SMOOTH_SECONDS)
        maximum = math.log(2.0) * passed / DOUBLING_SECONDS
        step = min(maximum, max(-maximum, share * (math.log1p(estimate) - expected)))
        self._shown, self._at = math.expm1(expected + step), at
        return min(self._shown, estimate) if estimate <= 1.0 else self._shown
