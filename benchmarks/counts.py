"""Evaluations until a target is reached: kept while they are measured, and compared."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

DRAWS = 10_000
Result = TypeVar("Result")


def geometric(counts: Mapping[str, Sequence[int | None]], base: Mapping[str, Sequence[int | None]], last: int) -> Any:
    """Geometric mean over problems and seeds of the ratio to the base, with a bootstrap interval over seeds."""
    filled = [np.log([[count or last for count in one[name]] for name in base]) for one in (counts, base)]
    logs = filled[0] - filled[1]
    rng = np.random.default_rng(0)
    seeds = logs.shape[1]
    drawn = rng.integers(seeds, size=(DRAWS, len(logs), seeds))
    means = np.take_along_axis(logs[None], drawn, axis=2).mean(axis=(1, 2))
    low, high = np.exp(np.percentile(means, [2.5, 97.5]))
    mean, by_problem = float(np.exp(logs.mean())), np.exp(logs.mean(axis=1))
    return {
        "ratio": round(mean, 3),
        "interval_95": [round(float(low), 3), round(float(high), 3)],
        "by_problem": {name: round(float(one), 3) for name, one in zip(base, by_problem, strict=True)},
    }


def sign_test(ahead: int, behind: int) -> float:
    """The p-value, two-sided, that so many differences of each sign are a coin's; what is equal is left out."""
    count = ahead + behind
    tail = sum(math.comb(count, fewer) for fewer in range(min(ahead, behind) + 1))
    return min(1.0, math.ldexp(tail, 1 - count))


class Kept(Generic[Result]):
    """Results that were measured, a line of JSON each, so that a benchmark goes on where it was left.

    Args:
        path: the file; None: nothing is kept.
        name: of the result in a line; all else there says what was measured.
    """

    def __init__(self, path: Path | None, name: str) -> None:
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self._path, self._name = path, name
        self._known: dict[frozenset[tuple[str, object]], Result] = {}
        for entry in map(json.loads, lines):
            result = entry.pop(name)
            self._known[frozenset(entry.items())] = result

    def knows(self, measured: Mapping[str, object]) -> bool:
        """Whether a result was measured before."""
        return frozenset(measured.items()) in self._known

    def result(self, measured: Mapping[str, object], measure: Callable[[], Result]) -> Result:
        """What is known, or is measured now."""
        key = frozenset(measured.items())
        if key not in self._known:
            self._known[key] = measure()
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(json.dumps({**measured, self._name: self._known[key]}) + "\n")
        return self._known[key]
