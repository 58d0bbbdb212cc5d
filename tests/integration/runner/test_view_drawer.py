"""The drawer of views: few at once, each to its end, and one sentence wherever there is no picture."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest
from evolve.program import Program
from evolve.views.candidate_view import ON_DEMAND, SVG, CandidateView
from service.db.engine import open_database
from service.db.storage import SqlStorage
from service.db.view_requests import SqlViewRequests
from service.errors import InvalidProblemError, UnreachableError
from service.ports import DEFAULT_TENANT, RunRecord, ViewRequest
from service.runner import view_drawer as module
from service.runner.view_drawer import AT_ONCE, MAX_TRIES, OLD_WORKER, ViewDrawer
from tests.contract.story import RUN, FixedClock, Story, new_run
from tests.databases import sqlite_file
from tests.patience import PATIENCE_SECONDS

CIRCLE = CandidateView(media_type=SVG, content='<svg xmlns="http://www.w3.org/2000/svg"/>')
CANDIDATES = 5
NO_WORKER = "no worker takes evaluations of pool cpu"


class Studio:
    """Jobs and evaluator in one. `gate`: drawings wait until it is set; `fails`: raised when one is opened."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.given = Evaluation(outcome=Outcome.OK, view=CIRCLE)
        self.fails: Exception | None = None
        self.waiting, self.slots = "", 1
        self.drawing = self.at_once = self.calls = 0

    @asynccontextmanager
    async def open_evaluator(self, record: RunRecord) -> AsyncIterator["Studio"]:
        assert record.id == RUN
        if self.fails is not None:
            raise self.fails
        yield self

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        assert (scoring.render, evaluation_id.startswith("view-cnd_")) == (True, True)
        self.calls += 1
        self.drawing += 1
        self.at_once = max(self.at_once, self.drawing)
        try:
            await self.gate.wait()
            return self.given
        finally:
            self.drawing -= 1


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.005)
    monkeypatch.setattr(module, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(module, "UNANSWERED_SECONDS", 0.02)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def storage(tmp_path: Path, clock: FixedClock) -> Iterator[SqlStorage]:
    url = sqlite_file(tmp_path / "evolve.db")
    with closing(open_database(url)) as database:
        opened, story = SqlStorage(database, url, clock), Story()
        opened.log.create(new_run())
        fence = opened.log.take(RUN, "a", 0)
        for place in range(CANDIDATES):
            opened.log.append(
                RUN, fence, [story.create(0, place), story.evaluate(story.id(0, place), 1.0, view=ON_DEMAND)]
            )
        yield opened


@pytest.fixture
def ids() -> list[str]:
    return [Story().id(0, place) for place in range(CANDIDATES)]


@asynccontextmanager
async def drawing(storage: SqlStorage, studio: Studio) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(ViewDrawer(storage.views, storage.reader, studio).run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if await asyncio.to_thread(holds):
                return
            await asyncio.sleep(0.01)


def ask(storage: SqlStorage, *candidate_ids: str) -> None:
    for candidate_id in candidate_ids:
        storage.views.request(DEFAULT_TENANT, candidate_id, "ada")


def reason(storage: SqlStorage, candidate_id: str) -> str:
    waiting = storage.views.waiting(candidate_id)
    return "" if waiting is None else waiting.reason


async def test_what_is_requested_is_drawn_and_stored_and_nothing_else(storage: SqlStorage, ids: list[str]) -> None:
    ask(storage, ids[0], ids[1])
    studio = Studio()
    async with drawing(storage, studio):
        await until(lambda: [storage.reader.view(id_) for id_ in ids[:2]] == [CIRCLE] * 2)
    assert [storage.reader.view(id_) for id_ in ids[2:]] == [ON_DEMAND] * 3
    assert (studio.calls, storage.views.waiting(ids[0])) == (2, None)


async def test_a_few_are_drawn_at_once_whatever_is_requested(storage: SqlStorage, ids: list[str]) -> None:
    ask(storage, *ids)
    studio = Studio()
    studio.gate.clear()
    async with drawing(storage, studio):
        await until(lambda: studio.drawing == AT_ONCE)
        await asyncio.sleep(0.1)
        studio.gate.set()
        await until(lambda: all(storage.reader.view(id_) == CIRCLE for id_ in ids))
    assert studio.at_once == AT_ONCE


async def test_a_view_that_no_worker_draws_says_so_and_is_tried_again(
    storage: SqlStorage, ids: list[str], clock: FixedClock
) -> None:
    ask(storage, ids[0])
    studio = Studio()
    studio.gate.clear()
    studio.waiting = NO_WORKER
    async with drawing(storage, studio):
        await until(lambda: reason(storage, ids[0]) == "No worker takes evaluations of pool cpu.")
        await until(lambda: not studio.drawing)
        studio.gate.set()
        studio.waiting = ""

        def drawn() -> bool:
            clock.advance(module.AGAIN_SECONDS + 1)  # it may be put off a moment after nothing is drawn any more
            return storage.reader.view(ids[0]) == CIRCLE

        await until(drawn)


async def test_a_queue_that_is_away_is_waited_for(storage: SqlStorage, ids: list[str], clock: FixedClock) -> None:
    ask(storage, ids[0])
    studio = Studio()
    studio.fails = UnreachableError("the queue does not answer")
    async with drawing(storage, studio):
        for _ in range(MAX_TRIES + 2):
            await until(lambda: reason(storage, ids[0]) == "The queue does not answer.")
            clock.advance(module.AGAIN_SECONDS + 1)
        studio.fails = None

        def drawn() -> bool:
            clock.advance(module.AGAIN_SECONDS + 1)  # a try that had begun before fails still, and is put off once more
            return storage.reader.view(ids[0]) == CIRCLE

        await until(drawn)


async def test_a_drawing_that_is_lost_again_and_again_ends_with_a_sentence(storage: SqlStorage, ids: list[str]) -> None:
    ask(storage, ids[0])
    studio = Studio()
    studio.given = Evaluation(outcome=Outcome.LOST)
    async with drawing(storage, studio):
        for _ in range(MAX_TRIES - 1):
            await until(lambda: reason(storage, ids[0]).startswith("The last try failed: the worker"))
            waiting = storage.views.waiting(ids[0])
            assert waiting is not None
            storage.views.put_off(waiting, -1.0, "")
        await until(lambda: storage.reader.view(ids[0]) != ON_DEMAND)
    assert studio.calls == MAX_TRIES
    view = storage.reader.view(ids[0])
    assert view is not None
    assert view.reason == "The view could not be drawn: the worker that drew it was lost"


@pytest.mark.parametrize(
    ("fails", "given", "expected"),
    [
        (InvalidProblemError(["there is no evaluator.py"]), None, "there is no evaluator.py"),
        (None, Evaluation(outcome=Outcome.OK, scores={"value": 1.0}), OLD_WORKER),
        (None, Evaluation(outcome=Outcome.OK, view=ON_DEMAND), OLD_WORKER),
        (None, Evaluation(outcome=Outcome.OK, view=CandidateView(reason="It has 300 KB.")), "It has 300 KB."),
    ],
)
async def test_what_cannot_be_drawn_says_why(
    storage: SqlStorage, ids: list[str], fails: Exception | None, given: Evaluation | None, expected: str
) -> None:
    ask(storage, ids[0])
    studio = Studio()
    studio.fails, studio.given = fails, given or studio.given
    async with drawing(storage, studio):
        await until(lambda: storage.reader.view(ids[0]) != ON_DEMAND)
    view = storage.reader.view(ids[0])
    assert view is not None
    assert (view.media_type, expected in view.reason) == ("", True)


async def test_who_leaves_gives_back_what_is_not_drawn(storage: SqlStorage, ids: list[str]) -> None:
    ask(storage, ids[0])
    studio = Studio()
    studio.gate.clear()
    async with drawing(storage, studio):
        await until(lambda: studio.drawing == 1)
    assert studio.drawing == 0
    (again,) = storage.views.take(1, 60.0)
    assert (again.candidate_id, again.tries) == (ids[0], 1)


async def test_who_leaves_while_the_database_is_slow_gives_back_what_is_not_drawn(
    storage: SqlStorage, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_off, slow = SqlViewRequests.put_off, threading.Event()

    def slowly(
        self: SqlViewRequests, request: ViewRequest, seconds: float, reason: str, *, tries: int | None = None
    ) -> None:
        if seconds:
            slow.set()
            time.sleep(0.2)
        put_off(self, request, seconds, reason, tries=tries)

    monkeypatch.setattr(SqlViewRequests, "put_off", slowly)
    ask(storage, ids[0])
    studio = Studio()
    studio.gate.clear()
    async with drawing(storage, studio):
        await until(slow.is_set)
    await asyncio.sleep(0.3)
    (again,) = storage.views.take(1, 60.0)
    assert (again.candidate_id, again.tries) == (ids[0], 1)


async def test_a_request_of_a_deleted_run_is_forgotten(storage: SqlStorage, ids: list[str]) -> None:
    ask(storage, ids[0])
    studio = Studio()
    studio.gate.clear()
    async with drawing(storage, studio):
        await until(lambda: studio.drawing == 1)
        storage.intents(DEFAULT_TENANT).delete(RUN)
        studio.gate.set()
        await until(lambda: not studio.drawing)
        await asyncio.sleep(0.05)
    assert storage.views.take(1, 0.0) == []
