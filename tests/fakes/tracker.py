"""A tracker that keeps what it is sent, in this process; and ways in which trackers go wrong."""

from collections.abc import Sequence
from threading import Event

from evolve.trackers import TrackedPoint, TrackedResult, TrackedRun

RUNS: dict[str, dict[str, "StoredRun"]] = {}
RELEASED = Event()


class StoredRun:
    def __init__(self, run: TrackedRun) -> None:
        self.run = run
        self.points: list[TrackedPoint] = []
        self.results: list[TrackedResult] = []


class KeepingTracker:
    """Keeps runs by target and id."""

    def __init__(self, target: str) -> None:
        self.runs = RUNS.setdefault(target, {})
        self.kept: StoredRun | None = None
        self.closed = False

    def start(self, run: TrackedRun) -> int:
        self.kept = self.runs.setdefault(run.run_id, StoredRun(run))
        return self.kept.points[-1].evaluations if self.kept.points else 0

    def log(self, points: Sequence[TrackedPoint]) -> None:
        assert self.kept is not None
        self.kept.points += points

    def finish(self, result: TrackedResult) -> None:
        assert self.kept is not None
        self.kept.results.append(result)

    def close(self) -> None:
        self.closed = True


class FailingTracker(KeepingTracker):
    """Takes a run, but none of its points."""

    def log(self, points: Sequence[TrackedPoint]) -> None:
        raise ConnectionError("the server of the tracker is away")


class HangingTracker(KeepingTracker):
    """Takes a point only when `RELEASED` is set."""

    def log(self, points: Sequence[TrackedPoint]) -> None:
        RELEASED.wait()
        super().log(points)


class ForgetfulTracker(KeepingTracker):
    """Says that it has points of every run, against the contract."""

    def start(self, run: TrackedRun) -> int:
        super().start(run)
        return 3
