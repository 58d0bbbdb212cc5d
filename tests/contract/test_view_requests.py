"""Views that wait to be drawn, in memory and on the databases: taken up once, bounded by tenant, drawn once."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from evolve.views.candidate_view import ON_DEMAND, SVG, CandidateView
from service.db.deletion import remove
from service.db.engine import open_database
from service.db.storage import SqlStorage
from service.errors import NotFoundError, QuotaError
from service.ports import DEFAULT_TENANT, MAX_VIEW_REQUESTS, Storage, ViewRequest
from tests.contract.conftest import emptied_postgres
from tests.contract.story import RUN, FixedClock, Story, new_run
from tests.databases import sqlite_file
from tests.fakes.storage import MemoryStorage

CIRCLE = CandidateView(media_type=SVG, content='<svg xmlns="http://www.w3.org/2000/svg"/>')


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, clock: FixedClock, tmp_path: Path) -> Iterator[Storage]:
    if request.param == "memory":
        yield MemoryStorage(clock)
        return
    if request.param == "postgresql":
        yield SqlStorage(emptied_postgres(request), request.getfixturevalue("postgres_with_schema"), clock)
        return
    url = sqlite_file(tmp_path / "evolve.db")
    with closing(open_database(url)) as database:
        yield SqlStorage(database, url, clock)


@pytest.fixture
def candidates(storage: Storage) -> list[str]:
    """Seeds whose views are drawn on demand, one more than may wait; behind them one that is drawn and one without."""
    story, views = Story(), [*[ON_DEMAND] * (MAX_VIEW_REQUESTS + 1), CIRCLE, None]
    storage.log.create(new_run())
    fence = storage.log.take(RUN, "a", 0)
    for place, view in enumerate(views):
        told = [story.create(0, place), story.evaluate(story.id(0, place), 1.0, view=view)]
        storage.log.append(RUN, fence, told)
    return [story.id(0, place) for place in range(len(views))]


def ask(storage: Storage, candidate_id: str, tenant: str = DEFAULT_TENANT) -> bool:
    return storage.views.request(tenant, candidate_id, "ada")


def test_a_view_is_requested_once(storage: Storage, candidates: list[str], clock: FixedClock) -> None:
    assert storage.reader.view(candidates[0]) == ON_DEMAND
    assert storage.views.waiting(candidates[0]) is None
    assert [ask(storage, candidates[0]), ask(storage, candidates[0])] == [True, False]
    expected = ViewRequest(run_id=RUN, candidate_id=candidates[0], created_at=clock.now())
    assert storage.views.waiting(candidates[0]) == expected


def test_only_what_is_drawn_on_demand_and_theirs_can_be_requested(storage: Storage, candidates: list[str]) -> None:
    for candidate_id, tenant in ((candidates[-2], "default"), (candidates[-1], "default"), (candidates[0], "other")):
        with pytest.raises(NotFoundError):
            ask(storage, candidate_id, tenant)
    assert storage.views.take(9, 60.0) == []


def test_a_tenant_has_so_many_views_waiting_at_most(storage: Storage, candidates: list[str]) -> None:
    for candidate_id in candidates[:MAX_VIEW_REQUESTS]:
        assert ask(storage, candidate_id)
    with pytest.raises(QuotaError):
        ask(storage, candidates[MAX_VIEW_REQUESTS])
    assert ask(storage, candidates[0]) is False
    storage.views.store(candidates[0], CIRCLE)
    assert ask(storage, candidates[MAX_VIEW_REQUESTS])


def test_what_is_taken_is_nobody_elses_for_a_while(storage: Storage, candidates: list[str], clock: FixedClock) -> None:
    for place in range(3):
        ask(storage, candidates[place])
        clock.time += timedelta(seconds=1)
    first = storage.views.take(2, 60.0)
    assert [(one.candidate_id, one.tries) for one in first] == [(candidates[0], 1), (candidates[1], 1)]
    assert [one.candidate_id for one in storage.views.take(2, 60.0)] == [candidates[2]]
    assert storage.views.take(2, 60.0) == []
    clock.time += timedelta(seconds=61)
    assert [one.tries for one in storage.views.take(9, 60.0)] == [2, 2, 2]


def test_what_is_put_off_says_why_and_comes_again(storage: Storage, candidates: list[str], clock: FixedClock) -> None:
    ask(storage, candidates[0])
    (taken,) = storage.views.take(1, 60.0)
    storage.views.put_off(taken, 20.0, "No worker.", tries=0)
    assert storage.views.take(1, 60.0) == []
    waiting = storage.views.waiting(candidates[0])
    assert waiting is not None
    assert (waiting.reason, waiting.tries) == ("No worker.", 0)
    clock.time += timedelta(seconds=21)
    assert [one.tries for one in storage.views.take(1, 60.0)] == [1]


def test_a_view_is_drawn_once(storage: Storage, candidates: list[str]) -> None:
    ask(storage, candidates[0])
    storage.views.store(candidates[0], CIRCLE)
    storage.views.store(candidates[0], CandidateView(reason="Another try failed."))
    assert storage.reader.view(candidates[0]) == CIRCLE
    assert storage.views.waiting(candidates[0]) is None
    with pytest.raises(NotFoundError):
        ask(storage, candidates[0])
    storage.views.store(candidates[-2], CandidateView(reason="Nobody asked."))
    assert storage.reader.view(candidates[-2]) == CIRCLE


def test_what_is_dropped_can_be_requested_again(storage: Storage, candidates: list[str]) -> None:
    ask(storage, candidates[0])
    storage.views.drop(candidates[0])
    assert storage.views.waiting(candidates[0]) is None
    assert ask(storage, candidates[0])


def test_lists_say_what_is_drawn_on_demand(storage: Storage, candidates: list[str]) -> None:
    if not isinstance(storage, SqlStorage):
        return
    shown = {one.id: (one.view_type, one.view_reason, one.view_on_demand) for one in storage.reader.candidates(RUN)}
    assert shown[candidates[0]] == (None, "", True)
    assert shown[candidates[-2]] == (SVG, "", False)
    assert shown[candidates[-1]] == (None, "", False)


def test_requests_go_with_their_run(storage: Storage, candidates: list[str]) -> None:
    if not isinstance(storage, SqlStorage):
        return
    ask(storage, candidates[0])
    storage.intents(DEFAULT_TENANT).delete(RUN)
    assert storage.views.waiting(candidates[0]) is None
    assert storage.views.take(9, 60.0) == []
    for _ in remove(storage.database, RUN):
        pass
