"""The contract suite of trackers: the rules that those which come with Evolve are held to.

A rule takes a function without arguments that opens a tracker on one target, the same each time.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from evolve.trackers import TrackedPoint, TrackedResult, TrackedRun, Tracker
from evolve.views.candidate_view import SVG, CandidateView

TrackerRule = Callable[[Callable[[], Tracker]], None]

_BEGUN = datetime.fromisoformat("2026-03-01T12:00:00+00:00")
_LONG = "x" * 20_000
_HOSTILE = ("", " ", "a/b", "a" * 300, "ü#?%", "../up", "a=b,c:d")


def takes_a_run(open_tracker: Callable[[], Tracker]) -> None:
    """A tracker that is sent a new run has none of its points, and takes all of it without an error."""
    tracker = open_tracker()
    _require(tracker.start(_run("run_taken")) == 0, "start told of points of a run that is new")
    tracker.log([_point(1), _point(2)])
    tracker.log([])
    tracker.log([_point(5)])
    tracker.finish(_result(files={"main.py": "x = 1\n", "lib/part.py": "y = 2\n"}))
    tracker.close()


def continues_a_run(open_tracker: Callable[[], Tracker]) -> None:
    """A second tracker of a run says after how many evaluations its last point is, if it knows, and adds those behind.

    The first was closed before the end of the run, as by a process that is stopped.
    """
    first = open_tracker()
    first.start(_run("run_continued"))
    first.log([_point(1), _point(4)])
    first.close()
    second = open_tracker()
    reached = second.start(_run("run_continued"))
    _require(reached in (0, 4), f"start returned {reached!r} where the last point is after 4 evaluations")
    second.log([_point(count) for count in range(reached + 1, 8)])
    second.finish(_result())
    second.close()


def takes_a_run_without_results(open_tracker: Callable[[], Tracker]) -> None:
    """A run may end without a point, a best program and a picture."""
    tracker = open_tracker()
    tracker.start(_run("run_failed"))
    tracker.finish(TrackedResult(state="failed", reason="error", ended_at=_BEGUN))
    tracker.close()


def takes_any_text(open_tracker: Callable[[], Tracker]) -> None:
    """Values of parameters, labels and programs are any text, however long."""
    values = {f"config.key_{number}": text for number, text in enumerate((*_HOSTILE, _LONG))}
    labels = {f"key_{number}": text for number, text in enumerate((*_HOSTILE, _LONG[:500]))}
    tracker = open_tracker()
    tracker.start(
        TrackedRun(
            run_id="run_texts",
            name=_LONG[:300],
            problem="a problem",
            started_at=_BEGUN,
            parameters={"flag": True, "count": 3, "share": 0.5, **values},
            labels=labels,
        )
    )
    tracker.log([TrackedPoint(evaluations=1, at=_BEGUN, metrics={"best/score of a name": 1e300, "best_fitness": -0.0})])
    tracker.finish(_result(files={"main.py": _LONG}))
    tracker.close()


def keeps_runs_apart(open_tracker: Callable[[], Tracker]) -> None:
    """Two runs may be followed at the same time."""
    first, second = open_tracker(), open_tracker()
    _require(first.start(_run("run_first")) == 0, "start told of points of a run that is new")
    _require(second.start(_run("run_second")) == 0, "start told of points of another run")
    first.log([_point(1)])
    second.log([_point(1), _point(2)])
    second.finish(_result())
    second.close()
    first.log([_point(2)])
    first.finish(_result())
    first.close()


TRACKER_RULES: tuple[TrackerRule, ...] = (
    takes_a_run,
    continues_a_run,
    takes_a_run_without_results,
    takes_any_text,
    keeps_runs_apart,
)


def _run(run_id: str) -> TrackedRun:
    return TrackedRun(
        run_id=run_id,
        name=f"tested {run_id}",
        problem="tested",
        started_at=_BEGUN,
        parameters={"config.islands": 4, "config.strategy": "islands"},
        labels={"study": "first"},
    )


def _point(evaluations: int) -> TrackedPoint:
    metrics = {"best_fitness": evaluations / 2, "valid_share": 1.0}
    return TrackedPoint(evaluations=evaluations, at=_BEGUN + timedelta(seconds=evaluations), metrics=metrics)


def _result(files: dict[str, str] | None = None) -> TrackedResult:
    return TrackedResult(
        state="succeeded",
        reason="evaluations",
        ended_at=_BEGUN + timedelta(minutes=1),
        summary={"best_fitness": 2.5, "reason": "evaluations"},
        files=files or {"main.py": "x = 1\n"},
        view=CandidateView(media_type=SVG, content='<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'),
    )


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)
