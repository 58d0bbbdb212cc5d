"""What it takes to resume a long run: `python -m benchmarks.resume`.

A runner that takes a run up folds its events. It loads the programs of members of the archives when a proposal shows
them. Runs of each size are made with an instant policy and evaluator, once with the archive of the default and once
with one that keeps every program. Each is then taken up three times in the same process: from the whole log, from a
snapshot, and from a snapshot with all programs loaded. The snapshot is as old as one can be, so a fifth of the events
stand behind it. All is in processor time of the process.
"""

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import structlog

from benchmarks.harness import (
    InstantEvaluator,
    InstantPolicy,
    Watch,
    arguments,
    collect_rarely,
    new_job,
    play,
    report,
    scratch,
    toy_problem,
)
from evolve.configuration import ArchiveConfig, BudgetConfig, RunConfig
from evolve.events import Event
from evolve.proposal import Individual
from evolve.search.deterministic_schedule import open_search
from evolve.search.snapshot import SnapshotDraft, differences, restore
from evolve.search.state import SearchState
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.db.snapshots import SqlSnapshotStore
from service.ports import LoggedEvent
from service.runner.run_job import RunJob
from service.runner.run_snapshots import GROWTH, RunSnapshots, code_digest
from service.runner.status import StatusFold
from service.timestamps import SystemClock

TARGET = 1_000_000
TARGET_SECONDS = 60
MIB = 1024 * 1024
SHOWN = 200  # proposals that are loaded for
ARCHIVES = "default", "every"


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[3_000, 10_000, 30_000])
    parser.add_argument(
        "--archives", nargs="+", choices=ARCHIVES, default=list(ARCHIVES), help="of the default or of every program"
    )
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    rows = [resumed(size, alive=kind == "every") for size in options.sizes for kind in options.archives]
    goal = {"candidates": TARGET, "seconds": TARGET_SECONDS}
    report("resume", {"rows": rows, "goal": goal}, options.out)


def resumed(size: int, *, alive: bool) -> dict[str, Any]:
    """Make a run of so many candidates, and fold it anew, without a snapshot and with one.

    Args:
        alive: whether the archive keeps every program.
    """
    archive = ArchiveConfig(kind="top", size=2 * size) if alive else ArchiveConfig()
    config = RunConfig(archive=archive, budget=BudgetConfig(evaluations=size))
    with scratch() as folder:
        database = open_database(f"sqlite:///{Path(folder) / 'evolve.db'}")
        log = SqlRunLog(database, SystemClock())
        made = new_job(log, toy_problem(), config, InstantPolicy(), InstantEvaluator())
        last = play_counted(made)
        job = replace(made, snapshots=SqlSnapshotStore(database))
        code_digest()  # once a process
        resume = Resume(job, size)
        whole, state = resume.fold(snapshot_at=round(last / (1 + GROWTH)))
        quick, again = resume.fold()
        loaded, third = resume.fold(on_demand=False)
        if found := differences(state, again) or differences(state, third):
            raise SystemExit(f"the snapshot gives another state: {', '.join(found)}")
        ways = {"log": whole, "snapshot": {**resume.taken, **quick}, "all_loaded": loaded}
        return {"candidates": size, "all_alive": alive, **ways, "shown_microseconds": resume.shown(again)}


def play_counted(job: RunJob) -> int:
    """Drive a run to its end; how many events it has."""
    watch = Watch()
    play(job, watch)
    return watch.events


class Resume:
    """A run that is taken up.

    Attributes:
        taken: what it took to take a snapshot.
    """

    def __init__(self, job: RunJob, size: int) -> None:
        self._job, self._size = job, size
        self.taken: dict[str, Any] = {}

    def fold(self, snapshot_at: int = 0, *, on_demand: bool = True) -> tuple[dict[str, Any], SearchState]:
        """What a runner does before it goes on with a run, and what it knows then.

        Args:
            snapshot_at: the event at which a snapshot is taken, from the whole log then; 0: one is used.
            on_demand: whether members are loaded when they are shown, as a runner loads them.
        """
        collect_rarely()
        job, spent = self._job, {"loading": 0.0, "snapshot": 0.0, "restoring": 0.0}
        search = open_search(job.run_id, job.problem, job.config, *[member.policy_request for member in job.policies])
        snapshots, status, loaded, after = RunSnapshots(job, min_events=1), StatusFold(job.run_id), 0, 0
        before = memory_from_here()
        began = time.process_time()
        if not snapshot_at:
            point = snapshots.load()
            assert point is not None, "the snapshot does not fit"
            restore(search, point.content)
            status, after = point.fold, point.sequence
            spent["restoring"] = time.process_time() - began

        def events() -> Iterator[Event]:
            for entry in job.log.events(job.run_id, after):
                status.apply(entry.event)
                yield entry.event
                if entry.sequence == snapshot_at:
                    spent["snapshot"] = self._take(
                        partial(snapshots.draft, search, entry.sequence), snapshots, entry, status
                    )

        def individuals(ids: Sequence[str]) -> list[Individual]:
            nonlocal loaded
            began = time.process_time()
            found = list(job.log.individuals(job.run_id, ids))
            spent["loading"], loaded = time.process_time() - began, len(found)
            return found

        search.replay(events(), individuals, lambda ids: job.log.candidates(job.run_id, ids), on_demand=on_demand)
        total = time.process_time() - began - spent["snapshot"]
        folding = total - spent["loading"] - spent["restoring"]
        found = {
            "loaded": loaded,
            "seconds": round(total, 2),
            "restoring_microseconds": round(1e6 * spent["restoring"] / self._size, 1),
            "folding_microseconds": round(1e6 * folding / self._size, 1),
            "loading_microseconds": round(1e6 * spent["loading"] / loaded, 1) if loaded else None,
            "calculated_seconds_of_a_million": round(total / self._size * TARGET),
            "peak_mib": round((peak_memory() - before) / MIB),
        }
        return found, search.state

    def shown(self, state: SearchState) -> float:
        """Microseconds to load the programs of a proposal: four members that nobody has read before."""
        members = [one.candidate_id for island in state.islands for one in island.archive.members]
        drawn = np.random.default_rng(1).choice(members, size=(SHOWN, 4)).tolist()
        began = time.process_time()
        for ids in drawn:
            self._job.log.individuals(self._job.run_id, ids)
        return round(1e6 * (time.process_time() - began) / SHOWN)

    def _take(
        self,
        draft: Callable[[], SnapshotDraft | None],
        snapshots: RunSnapshots,
        last: LoggedEvent,
        status: StatusFold,
    ) -> float:
        """Take a snapshot; the processor time of all of it."""
        began = time.process_time()
        drafted = draft()
        pause = time.process_time() - began
        assert drafted is not None, "no snapshot is due"

        async def keep() -> None:
            snapshots.keep(drafted, last, status)
            await snapshots.finish()

        asyncio.run(keep())
        total = time.process_time() - began
        stored = self._job.snapshots.load(self._job.run_id) if self._job.snapshots else None
        assert stored is not None, "the snapshot was not stored"
        share = self._size / (1 + GROWTH)
        self.taken = {
            "bytes_a_candidate": round(len(stored.content) / share, 1),
            "pause_microseconds": round(1e6 * pause / share, 2),
            "taking_microseconds": round(1e6 * total / share, 1),
        }
        return time.process_time() - began


def memory_from_here() -> int:
    """Bytes that the process holds; from now on `peak_memory` tells the most that it held."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _status("VmRSS")


def peak_memory() -> int:
    return _status("VmHWM")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


if __name__ == "__main__":
    main()
