"""Controller CPU per candidate, by the number of live programs: `python -m benchmarks.controller`.

An instant policy (m = 4, programs of 3 KB) and an instant evaluator, so that what is measured is the controller: ask
and tell, edit and fingerprint, and durable storage. CPU is that of the process, its commit thread included; memory is
the most that it took.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import evolve.search.candidate_filter
import evolve.search.candidate_maker
import evolve.search.search
from benchmarks.harness import (
    InstantEvaluator,
    InstantPolicy,
    Watch,
    arguments,
    new_job,
    open_log,
    play,
    report,
    scratch,
    toy_problem,
)
from benchmarks.memory import PeakMemory
from evolve.configuration import ArchiveConfig, BudgetConfig, RunConfig
from service.db.log import SqlRunLog
from service.runner.status import RunStatus

_LOOK_SECONDS = 5.0
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass
class Stopwatch:
    """CPU seconds of the calling thread spent in wrapped functions, by name."""

    seconds: dict[str, float] = field(default_factory=dict)

    def wrap(self, name: str, function: _Function) -> _Function:
        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.thread_time() - began

        return timed  # type: ignore[return-value]  # the same signature


@dataclass
class Windows:
    """CPU per candidate in a window that begins at each size."""

    sizes: list[int]
    window: int
    stopwatch: Stopwatch
    rows: list[dict[str, float]] = field(default_factory=list)
    _began: tuple[int, float, dict[str, float]] | None = None

    def hear(self, status: RunStatus) -> None:
        done, cpu = status.counters.evaluations, time.process_time()
        if self._began is None and self.sizes and done >= self.sizes[0]:
            self._began = (done, cpu, dict(self.stopwatch.seconds))
        elif self._began is not None and done >= self._began[0] + self.window:
            first, before, parts = self._began
            count = done - first
            row = {"live_programs": first, "milliseconds": 1000 * (cpu - before) / count}
            for name, seconds in self.stopwatch.seconds.items():
                row[name] = 1000 * (seconds - parts.get(name, 0.0)) / count
            self.rows.append({name: round(value, 3) for name, value in row.items()})
            self.sizes.pop(0)
            self._began = None


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 3_000, 30_000, 100_000])
    parser.add_argument("--window", type=int, default=1_000)
    parser.add_argument("--selection", default="dirichlet")
    options = parser.parse_args()
    stopwatch = Stopwatch()
    for module, name in (
        (evolve.search.candidate_filter, "child_of"),
        (evolve.search.candidate_maker, "fingerprint"),
    ):
        setattr(module, name, stopwatch.wrap(name, getattr(module, name)))
    for name in ("ask", "answer", "tell"):
        setattr(evolve.search.search.Search, name, stopwatch.wrap(name, getattr(evolve.search.search.Search, name)))
    SqlRunLog.append = stopwatch.wrap("storage", SqlRunLog.append)  # type: ignore[method-assign]
    windows = Windows(sorted(options.sizes), options.window, stopwatch)
    total = max(options.sizes) + 2 * options.window
    config = RunConfig(
        archive=ArchiveConfig(kind="top", size=total),
        selection={options.selection: 1.0},
        budget=BudgetConfig(evaluations=total),
    )
    with scratch() as folder, PeakMemory(every_seconds=_LOOK_SECONDS) as memory:
        job = new_job(open_log(folder), toy_problem(), config, InstantPolicy(), InstantEvaluator())
        began = time.monotonic()
        play(job, Watch(windows.hear))
        wall = time.monotonic() - began
    first, last = windows.rows[0]["milliseconds"], windows.rows[-1]["milliseconds"]
    figures = {
        "selection": options.selection,
        "cpu_per_candidate": windows.rows,
        "last_over_first": round(last / first, 3),
        "candidates_per_second": round(total / wall, 1),
        "megabytes": round(memory.megabytes),
    }
    report("controller", figures, options.out)


if __name__ == "__main__":
    main()
