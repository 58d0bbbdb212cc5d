"""Send runs to trackers: beside the process that drives or watches them, or afterwards. A run never waits for that."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from threading import Event, Thread

from evolve.errors import EvolveError
from evolve.extensions import Extensions
from evolve.trackers import GuardedTracker, TrackerChoice, open_tracker
from service.errors import ServiceError, StorageError, UnreachableError
from service.ports import ENDED
from service.projections.run_site import RunSite
from service.projections.tracked import tracked_point, tracked_result, tracked_run

POLL_SECONDS = 1.0
LEAVE_SECONDS = 30.0

OpenSite = Callable[[], AbstractContextManager[RunSite]]
Warn = Callable[[str], None]


def read_choices(words: Iterable[str], extensions: Extensions | None = None) -> list[TrackerChoice]:
    """The trackers that words name, each once; each is opened once, so that what is missing is found at once.

    Raises:
        ConfigurationError: a word names none, or what it needs is not installed.
        ExtensionError: one cannot be made.
    """
    choices = list(dict.fromkeys(TrackerChoice.read(word) for word in words))
    for choice in choices:
        open_tracker(choice, extensions or Extensions())
    return choices


@dataclass(slots=True)
class SentRun:
    """What a tracker was sent of a run.

    Attributes:
        reached: evaluations of the run that it has.
        points: that it was sent now.
        ended: whether it was sent the result of the run.
    """

    reached: int = 0
    points: int = 0
    ended: bool = False


def send_run(site: RunSite, run_id: str, tracker: GuardedTracker, leaving: Event, *, driven: bool = False) -> SentRun:
    """Send a run to a tracker until it ends, or until somebody leaves it; what is committed by then is sent.

    Args:
        site: where the run is.
        run_id: the run.
        tracker: for this run alone.
        leaving: set when nothing more is to come.
        driven: whether somebody drives the run and will leave it, so that one that has ended may be continued.

    Raises:
        ExtensionError: the tracker failed.
        NotFoundError: the run is not there.
    """
    run = site.reader.run(run_id)
    points, sent = site.points(run), SentRun()
    try:
        sent.reached = tracker.start(tracked_run(run))
        while True:
            last = leaving.is_set()
            try:
                run = site.reader.run(run_id)
                if new := [tracked_point(point) for point in points(sent.reached)]:
                    tracker.log(new)
                    sent.reached, sent.points = new[-1].evaluations, sent.points + len(new)
                if run.state in ENDED and (last or not driven):
                    tracker.finish(tracked_result(run, site.reader))
                    sent.ended = True
                    return sent
            except (StorageError, UnreachableError):
                if last:
                    raise
            if last:
                return sent
            leaving.wait(POLL_SECONDS)
    finally:
        tracker.close()


class RunFollower:
    """Sends a run to a tracker from a thread of its own. Whatever befalls it is one warning.

    Args:
        choice: the tracker.
        run_id: the run.
        open_site: opens the place where the run is, for this thread alone.
        warn: hears what went wrong.
    """

    def __init__(self, choice: TrackerChoice, run_id: str, open_site: OpenSite, warn: Warn) -> None:
        self._choice, self._run_id = choice, run_id
        self._open_site, self._warn = open_site, warn
        self._leaving, self._abandoned = Event(), False
        # A thread that hangs in a library must not keep the process.
        self._thread = Thread(target=self._work, name=f"tracker {choice.name}", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether something is still being sent."""
        return self._thread.is_alive()

    def leave(self) -> None:
        """Send what is committed by now, and end."""
        self._leaving.set()

    def wait(self, deadline: float) -> None:
        """Wait until everything is sent, or until a moment of the monotonic clock; beyond it, go without the rest."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            self._abandoned = True
            self._warn(self._sentence("it is too slow, and was not waited for"))

    def _work(self) -> None:
        try:
            tracker = open_tracker(self._choice, Extensions())
            with self._open_site() as site:
                send_run(site, self._run_id, tracker, self._leaving, driven=True)
        except (EvolveError, ServiceError) as error:
            if not self._abandoned:
                self._warn(self._sentence(str(error)))

    def _sentence(self, why: str) -> str:
        again = f"evolve track {self._run_id} {self._choice}"
        return f"{self._choice} does not have all of run {self._run_id}: {why}. Send the rest with: {again}"


class RunTracking:
    """Sends the runs of this process to its trackers.

    Args:
        choices: the trackers.
        open_site: opens the place where the runs are, once for each run and tracker.
        warn: hears what went wrong.
    """

    def __init__(self, choices: Sequence[TrackerChoice], open_site: OpenSite, warn: Warn) -> None:
        self._choices, self._open_site, self._warn = choices, open_site, warn
        self._followers: list[RunFollower] = []

    @contextmanager
    def follow(self, run_id: str) -> Iterator[None]:
        """Send a run while it is driven or watched; at the end nothing is waited for."""
        with ExitStack() as stack:
            for choice in self._choices:
                follower = RunFollower(choice, run_id, self._open_site, self._warn)
                self._followers = [*(one for one in self._followers if one.alive), follower]
                stack.callback(follower.leave)
            yield

    def close(self, seconds: float = LEAVE_SECONDS) -> None:
        """Wait for what is still being sent, but no longer than so many seconds."""
        deadline = time.monotonic() + seconds
        for follower in self._followers:
            follower.leave()
        for follower in self._followers:
            follower.wait(deadline)
