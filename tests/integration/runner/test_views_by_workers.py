"""Views on demand by real parts: a runner, workers in its process or on a real Redis, and the sandbox."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from evolve.views.candidate_view import ON_DEMAND, SVG, CandidateView
from service.bootstrap.runners import open_runner
from service.bootstrap.storage import open_storage
from service.bootstrap.submissions import make_submissions
from service.bootstrap.workers import TaskSource, open_worker
from service.config import DatabaseSettings, Settings
from service.db.storage import SqlStorage
from service.ports import ENDED, RunRequest, Upload
from service.runner import view_drawer
from tests.patience import PATIENCE_SECONDS
from tests.unit.problems.folders import NATIVE, SCORE, SEED

RENDER = "\ndef render(outputs):\n    return f\"<svg><text>{outputs[0]['value']}</text></svg>\"\n"
FILES = {"problem.toml": NATIVE.encode(), "seed.py": SEED.encode(), "evaluator.py": (SCORE + RENDER).encode()}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_drawer, "WATCH_SECONDS", 0.5)
    monkeypatch.setattr(view_drawer, "UNANSWERED_SECONDS", 1.0)
    monkeypatch.setattr(view_drawer, "AGAIN_SECONDS", 1.0)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(database=DatabaseSettings(url=SecretStr(f"sqlite:///{tmp_path / 'runs.db'}")))


@pytest.fixture
def storage(settings: Settings) -> Iterator[SqlStorage]:
    with open_storage(settings) as opened:
        yield opened


def submitted(settings: Settings, storage: SqlStorage) -> str:
    submissions = make_submissions(settings, storage)
    storage.problems.add(submissions.read_problem(Upload(name="", files=FILES)))
    request = RunRequest(problem="p", policy="syntax", config={"budget": {"evaluations": 4}, "seed": 1})
    return submissions.submit("default", request).id


@asynccontextmanager
async def driving(settings: Settings, storage: SqlStorage, queue: str) -> AsyncIterator[None]:
    async with open_runner(settings, storage, queue=queue) as opened:
        running = asyncio.create_task(opened.run())
        yield
        opened.runner.leave()
        await running


@asynccontextmanager
async def working(settings: Settings, queue: str) -> AsyncIterator[None]:
    async with open_worker(settings, TaskSource(queue=queue), "cpu", 1) as worker:
        running = asyncio.create_task(worker.run())
        yield
        worker.drain.set()
        await running


async def ended(storage: SqlStorage, run_id: str) -> str:
    """The best candidate of a run, when it has ended."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        run = await asyncio.to_thread(storage.reader.run, run_id)
        if run.state in ENDED:
            assert run.best_candidate_id is not None
            return run.best_candidate_id
        await asyncio.sleep(0.1)
    raise AssertionError("the run did not end")


async def drawn(storage: SqlStorage, candidate_id: str) -> CandidateView:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        view = await asyncio.to_thread(storage.reader.view, candidate_id)
        if view is not None and view != ON_DEMAND:
            return view
        await asyncio.sleep(0.1)
    raise AssertionError("the view was not drawn")


@pytest.mark.parametrize("where", ["this process", "redis"])
async def test_a_view_is_drawn_by_the_workers_of_the_run(
    settings: Settings, storage: SqlStorage, where: str, request: pytest.FixtureRequest
) -> None:
    queue = request.getfixturevalue("redis_url") if where == "redis" else ""
    run_id = submitted(settings, storage)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(driving(settings, storage, queue))
        if queue:
            await stack.enter_async_context(working(settings, queue))
        best = await ended(storage, run_id)
        views = [await asyncio.to_thread(storage.reader.view, one.id) for one in storage.reader.candidates(run_id)]
        assert {view for view in views if view is not None} == {ON_DEMAND}
        assert storage.views.request("default", best, "ada")
        view = await drawn(storage, best)
    assert (view.media_type, view.reason) == (SVG, "")
    value = storage.reader.candidate(best).scores["gain"]
    assert f"<text>{value:g}" in view.content


async def test_a_view_waits_for_a_worker_and_says_so(settings: Settings, storage: SqlStorage, redis_url: str) -> None:
    run_id = submitted(settings, storage)
    async with driving(settings, storage, redis_url):
        async with working(settings, redis_url):
            best = await ended(storage, run_id)
        storage.views.request("default", best, "ada")
        until = time.monotonic() + PATIENCE_SECONDS
        waiting = storage.views.waiting(best)
        while waiting is not None and not waiting.reason and time.monotonic() < until:
            await asyncio.sleep(0.1)
            waiting = await asyncio.to_thread(storage.views.waiting, best)
        assert waiting is not None
        assert waiting.reason == "No worker takes evaluations of pool cpu."
        async with working(settings, redis_url):
            assert (await drawn(storage, best)).media_type == SVG
    assert storage.views.waiting(best) is None
