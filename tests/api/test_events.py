"""Events over the API: pages, and streams by a real server."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from evolve.events import EventKind
from service.api.event_feeds import Feed
from service.api.stream import EventStream, Lifetime
from service.api.stream_cursor import StreamCursor, position_of
from service.ports import Scope
from tests.api.told import Told, bearer, open_told, served, small_run
from tests.contract.story import RUN, START, Story, new_run
from tests.patience import PATIENCE_SECONDS

OTHER = "run_0190bbbb000000000000000000000002"
STREAM = {"Accept": "text/event-stream"}
EVENTS = f"/v1/runs/{RUN}/events"
Sent = dict[str, Any]


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with open_told(tmp_path) as opened:
        yield opened


@pytest.fixture
def story(told: Told) -> Story:
    return small_run(told)


@pytest.fixture
async def client(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    async with told.client() as opened:
        yield opened


@pytest.fixture
async def remote(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a real server."""
    async with (
        served(told.app) as url,
        httpx.AsyncClient(base_url=url, headers=bearer(told.key()), timeout=PATIENCE_SECONDS) as opened,
    ):
        yield opened


@asynccontextmanager
async def following(
    client: httpx.AsyncClient, path: str = EVENTS, last: str = "", **query: Any
) -> AsyncIterator[AsyncIterator[Sent]]:
    headers = STREAM | ({"Last-Event-ID": last} if last else {})
    async with client.stream("GET", path, headers=headers, params=query) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield sent(response)


async def sent(response: httpx.Response) -> AsyncIterator[Sent]:
    """What a browser makes of a stream."""
    event: Sent = {}
    async for line in response.aiter_lines():
        if not line:
            if "data" in event:
                yield event
            event = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            event[name] = json.loads(value) if name == "data" else value


async def take(events: AsyncIterator[Sent], count: int) -> list[Sent]:
    return [await asyncio.wait_for(anext(events), PATIENCE_SECONDS) for _ in range(count)]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110 -- what is waited for has no event of its own
            await asyncio.sleep(0.01)


class TestPages:
    async def test_a_walk_sees_every_event_once_and_in_order(self, client: httpx.AsyncClient, story: Story) -> None:
        seen, query = [], {"limit": "4"}
        while True:
            page = (await client.get(EVENTS, params=query)).json()
            seen += [event["sequence"] for event in page["items"]]
            if page["next_cursor"] is None:
                break
            query["cursor"] = page["next_cursor"]
        assert seen == list(range(1, story.sequence + 1))

    async def test_kinds_and_a_place_narrow_it(self, client: httpx.AsyncClient, story: Story) -> None:
        page = (await client.get(EVENTS, params={"kinds": "candidate.evaluated,best.improved", "after": 5})).json()
        kinds = [event["kind"] for event in page["items"]]
        assert kinds == ["best.improved", *["candidate.evaluated"] * 3]
        assert all(event["sequence"] > 5 and event["schema"] == 1 for event in page["items"])

    @pytest.mark.parametrize(
        ("query", "status"),
        [("kinds=run.flown", 422), ("after=-1", 422), ("after=x", 422), ("cursor=x", 400), ("kinds=%00", 422)],
    )
    async def test_what_cannot_be_is_refused(
        self, client: httpx.AsyncClient, story: Story, query: str, status: int
    ) -> None:
        assert (await client.get(f"{EVENTS}?{query}")).status_code == status

    async def test_no_run_has_no_events(self, client: httpx.AsyncClient, told: Told, story: Story) -> None:
        for headers in ({}, STREAM):
            assert (await client.get(f"/v1/runs/{OTHER}/events", headers=headers)).status_code == 404
            async with told.client(tenant="other") as stranger:
                assert (await stranger.get(EVENTS, headers=headers)).status_code == 404


class TestStream:
    async def test_it_tells_everything_and_ends_with_the_run(
        self, told: Told, remote: httpx.AsyncClient, story: Story
    ) -> None:
        told.append([story.tell(EventKind.RUN_FINISHED, reason="evaluations", candidate_id=None, fitness=None)])
        async with following(remote) as events:
            everything = [event async for event in events]
        assert [event.get("id") for event in everything[:-1]] == [str(n) for n in range(1, story.sequence + 1)]
        assert everything[-2]["event"] == everything[-2]["data"]["kind"] == "run.finished"
        assert everything[-1] == {"event": "end", "data": {"schema": 1, "run_id": RUN, "state": "succeeded"}}

    async def test_it_says_when_to_come_back_before_anything_else(
        self, remote: httpx.AsyncClient, story: Story
    ) -> None:
        async with remote.stream("GET", EVENTS, headers=STREAM) as response:
            assert await anext(response.aiter_lines()) == "retry: 2000"

    @pytest.mark.parametrize(("last", "query"), [("7", {}), ("", {"after": 7}), ("7", {"after": 2})])
    async def test_it_goes_on_where_it_broke_off(
        self, remote: httpx.AsyncClient, story: Story, last: str, query: dict[str, Any]
    ) -> None:
        async with following(remote, last=last, **query) as events:
            assert [event["id"] for event in await take(events, 3)] == ["8", "9", "10"]

    async def test_a_last_id_that_is_none_is_passed_over(self, remote: httpx.AsyncClient, story: Story) -> None:
        async with following(remote, last="x" * 100) as events:
            assert (await take(events, 1))[0]["id"] == "1"

    async def test_an_event_is_told_within_a_second_of_its_commit(
        self, told: Told, remote: httpx.AsyncClient, story: Story
    ) -> None:
        waited = []
        async with following(remote, after=story.sequence) as events:
            for number in range(4, 9):
                told.append([story.propose(number, story.id(0))])
                committed = time.monotonic()
                (event,) = await take(events, 1)
                assert event["id"] == str(story.sequence)
                waited.append(time.monotonic() - committed)
        assert min(waited) < 1  # a busy machine delays some, and a slower poll delays all

    async def test_only_kinds_that_are_wanted_are_told(
        self, told: Told, remote: httpx.AsyncClient, story: Story
    ) -> None:
        async with following(remote, kinds="best.improved,run.finished") as events:
            (first,) = await take(events, 1)
            told.append(story.child(4, story.id(0)))
            told.append([story.tell(EventKind.RUN_FINISHED, reason="evaluations", candidate_id=None, fitness=None)])
            rest = await take(events, 2)
        assert [event["event"] for event in (first, *rest)] == ["best.improved", "run.finished", "end"]

    async def test_a_hang_up_leaves_nothing(
        self, told: Told, remote: httpx.AsyncClient, story: Story, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with following(remote, after=story.sequence - 1) as events:  # starts what all streams share
            await take(events, 1)
        await until(lambda: not told.app.state.watch._wanted)
        before = len(asyncio.all_tasks())
        for _ in range(5):
            async with following(remote) as events:
                await take(events, 2)
        await until(lambda: len(asyncio.all_tasks()) <= before and not told.app.state.watch._wanted)
        assert not [record for record in caplog.records if record.levelno >= logging.WARNING]

    async def test_a_run_that_is_deleted_ends_its_stream(
        self, told: Told, remote: httpx.AsyncClient, story: Story
    ) -> None:
        told.append([story.tell(EventKind.RUN_PAUSED, by="test")])
        async with following(remote, after=story.sequence - 1) as events:
            await take(events, 1)
            told.log.release(RUN, told.fences[RUN])
            told.parts.intents("default").delete(RUN)
            (end,) = await take(events, 1)
        assert (end["event"], end["data"]["state"]) == ("end", "deleted")


class TestReaders:
    async def test_who_does_not_read_is_dropped(self) -> None:
        closed = False

        async def chunks() -> AsyncIterator[bytes]:
            nonlocal closed
            try:
                while True:
                    yield b"data: 1\n\n"
            finally:
                closed = True

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body":
                await asyncio.Event().wait()

        async def receive() -> Any:
            await asyncio.Event().wait()

        stream = EventStream(chunks(), read_seconds=0.01)  # type: ignore[arg-type] # an async generator all the same
        async with asyncio.timeout(PATIENCE_SECONDS):
            await stream({"type": "http"}, receive, send)
        assert closed

    async def test_what_goes_wrong_while_sending_is_not_swallowed(self) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"data: 1\n\n"
            raise ValueError("a fault")

        async def send(message: Any) -> None: ...

        async def receive() -> Any:
            await asyncio.Event().wait()

        with pytest.raises(ValueError, match="a fault"):
            await EventStream(chunks())({"type": "http"}, receive, send)  # type: ignore[arg-type] # as above

    def test_a_connection_lasts_ten_minutes_at_most(self) -> None:
        now = 100.0
        lifetime = Lifetime(now=lambda: now)
        assert (lifetime.over, lifetime.pause_seconds) == (False, 15.0)
        now = 695.0
        assert (lifetime.over, lifetime.pause_seconds) == (False, 5.0)
        now = 700.0
        assert (lifetime.over, lifetime.pause_seconds) == (True, 0.0)


class TestAllRuns:
    async def test_pages_go_on_from_now(self, told: Told, client: httpx.AsyncClient, story: Story) -> None:
        first = (await client.get("/v1/events")).json()
        assert first["items"] == []
        told.append(story.child(4, story.id(0)))
        other = small_run(told, OTHER)
        seen, position = [], first["position"]
        while page := (await client.get("/v1/events", params={"cursor": position, "limit": 3})).json():
            seen += [(event["run_id"], event["sequence"]) for event in page["items"]]
            position = page["position"]
            if page["next_cursor"] is None:
                break
        assert sorted(seen) == [
            *((RUN, number) for number in range(story.sequence - 3, story.sequence + 1)),
            *((OTHER, number) for number in range(1, other.sequence + 1)),
        ]

    async def test_a_stream_tells_of_runs_that_begin_and_end_meanwhile(
        self, told: Told, remote: httpx.AsyncClient, story: Story
    ) -> None:
        async with following(remote, "/v1/events") as events:
            await until(lambda: bool(told.app.state.feed_pages.change_poller._entries))
            other = small_run(told, OTHER, created_at=told.parts.clock.now())
            told.append([other.tell(EventKind.RUN_FINISHED, reason="evaluations", candidate_id=None, fitness=None)])
            seen = await take(events, other.sequence)
        assert [event["data"]["sequence"] for event in seen] == list(range(1, other.sequence + 1))
        assert {event["data"]["run_id"] for event in seen} == {OTHER}

    async def test_a_stream_goes_on_where_it_broke_off(
        self, told: Told, remote: httpx.AsyncClient, story: Story
    ) -> None:
        async with following(remote, "/v1/events") as events:
            await until(lambda: bool(told.app.state.feed_pages.change_poller._entries))
            told.append(story.child(4, story.id(0)))
            seen = await take(events, 2)
        told.append(story.child(5, story.id(0)))
        async with following(remote, "/v1/events", last=seen[-1]["id"]) as events:
            seen += await take(events, 6)
        assert [event["data"]["sequence"] for event in seen] == list(range(story.sequence - 7, story.sequence + 1))

    async def test_it_is_told_within_a_second_and_only_what_is_wanted(
        self, told: Told, remote: httpx.AsyncClient, story: Story
    ) -> None:
        async with following(remote, "/v1/events", kinds="candidate.created") as events:
            await until(lambda: bool(told.app.state.feed_pages.change_poller._entries))
            waited = []
            for number in range(4, 9):
                told.append(story.child(number, story.id(0)))
                committed = time.monotonic()
                assert (await take(events, 1))[0]["data"]["proposal_number"] == number
                waited.append(time.monotonic() - committed)
        assert min(waited) < 1  # a busy machine delays some, and a slower poll delays all

    async def test_another_tenants_runs_are_not_told(self, told: Told, story: Story) -> None:
        everything = f"0~{RUN.removeprefix('run_')}.0"
        async with told.client(tenant="other") as stranger:
            assert (await stranger.get("/v1/events", params={"cursor": everything})).json()["items"] == []
        async with told.client(Scope.RUNS_READ) as own:
            items = (await own.get("/v1/events", params={"cursor": everything, "limit": 200})).json()["items"]
        assert len(items) == story.sequence

    @pytest.mark.parametrize("cursor", ["x", "1~", "1~a", "1~a.-1", "99999999999999999~a.1", "-1", "\x00", "١"])
    async def test_what_is_no_position_is_refused(self, client: httpx.AsyncClient, cursor: str) -> None:
        assert (await client.get("/v1/events", params={"cursor": cursor})).status_code == 422

    async def test_runs_that_ended_leave_the_position(
        self, told: Told, client: httpx.AsyncClient, story: Story
    ) -> None:
        told.create(new_run(OTHER))
        position = (await client.get("/v1/events")).json()["position"]
        assert set(position_of(position).seen) == {RUN, OTHER}
        told.append([story.tell(EventKind.RUN_FINISHED, reason="evaluations", candidate_id=None, fitness=None)])
        for _ in range(2):
            page = (await client.get("/v1/events", params={"cursor": position})).json()
            position = page["position"]
        assert set(position_of(position).seen) == {OTHER}

    def test_of_very_many_runs_a_position_names_as_many_as_an_address_holds(self) -> None:
        position = StreamCursor(since=START, seen={f"run_{n:032x}": n for n in range(2000)})
        read = position_of(position.text())
        assert 400 < len(read.seen) < 2000
        assert read.seen.items() <= position.seen.items()

    def test_a_position_is_read_back_as_it_was(self) -> None:
        position = StreamCursor(since=START, seen={RUN: 3, OTHER: 0})
        assert position_of(position.text()) == position


def test_a_run_that_was_told_to_its_end_is_told_again_only_from_where_it_is_continued(told: Told) -> None:
    story = small_run(told)
    told.append([story.tell(EventKind.RUN_FINISHED, reason="evaluations", candidate_id=story.id(2), fitness=3.0)])
    reader, position = told.parts.readers.of("default", ""), StreamCursor(since=START + timedelta(days=1), seen={})
    assert Feed(reader, told.parts.clock, position).read(50) == []
    told.parts.intents("default").extend(RUN, {"evaluations": 900}, "ada")
    events = [event.event.kind for event, _ in Feed(reader, told.parts.clock, position).read(50)]
    assert events == [EventKind.RUN_CONTINUED, EventKind.BUDGET_EXTENDED]
