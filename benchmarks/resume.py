"""What it takes to resume a long run: `python -m benchmarks.resume`.

A runner that takes a run up folds all of its events, and loads the programs that are still alive. Runs of each size are
made with an instant policy and evaluator, once with the archive of the default and once with one that keeps every
program. Then the fold and the loading are measured, in processor time of the process.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.harness import (
    InstantEvaluator,
    InstantPolicy,
    Watch,
    arguments,
    collect_rarely,
    new_job,
    open_log,
    play,
    report,
    scratch,
    toy_problem,
)
from evolve.configuration import ArchiveConfig, BudgetConfig, RunConfig
from evolve.events import Event
from evolve.proposal import Individual
from evolve.search.deterministic_schedule import open_search
from service.runner.run_job import RunJob
from service.runner.status import StatusFold

TARGET = 1_000_000
TARGET_SECONDS = 60


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[3_000, 10_000, 30_000])
    options = parser.parse_args()
    rows = [row for size in options.sizes for row in (resumed(size, alive=False), resumed(size, alive=True))]
    goal = {"candidates": TARGET, "seconds": TARGET_SECONDS}
    report("resume", {"rows": rows, "goal": goal}, options.out)


def resumed(size: int, *, alive: bool) -> dict[str, Any]:
    """Make a run of so many candidates, and fold it anew.

    Args:
        alive: whether the archive keeps every program.
    """
    archive = ArchiveConfig(kind="top", size=2 * size) if alive else ArchiveConfig()
    config = RunConfig(archive=archive, budget=BudgetConfig(evaluations=size))
    with scratch() as folder:
        job = new_job(open_log(folder), toy_problem(), config, InstantPolicy(), InstantEvaluator())
        play(job, Watch())
        return {"candidates": size, "all_alive": alive, **fold(job, size)}


def fold(job: RunJob, size: int) -> dict[str, Any]:
    """What a runner does before it goes on with a run."""
    collect_rarely()
    spent = {"loading": 0.0}
    search = open_search(job.run_id, job.problem, job.config, *[member.policy_request for member in job.policies])
    status, loaded = StatusFold(job.run_id), 0

    def events() -> Iterator[Event]:
        for entry in job.log.events(job.run_id):
            status.apply(entry.event)
            yield entry.event

    def individuals(ids: Sequence[str]) -> list[Individual]:
        nonlocal loaded
        began = time.process_time()
        found = list(job.log.individuals(job.run_id, ids))
        spent["loading"], loaded = time.process_time() - began, len(found)
        return found

    began = time.process_time()
    search.replay(events(), individuals, lambda ids: job.log.candidates(job.run_id, ids))
    total = time.process_time() - began
    folding = total - spent["loading"]
    return {
        "loaded": loaded,
        "seconds": round(total, 2),
        "folding_microseconds": round(1e6 * folding / size, 1),
        "loading_microseconds": round(1e6 * spent["loading"] / loaded, 1) if loaded else None,
        "calculated_seconds_of_a_million": round(total / size * TARGET),
    }


if __name__ == "__main__":
    main()
