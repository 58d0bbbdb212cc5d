"""Events: what happens in runs, in pages and as streams."""

import re
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from evolve.events import EventKind
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.connection_limits import admission_of
from service.api.dependencies import ApiDependencies
from service.api.event_feeds import EventAudience, Feed, FeedPages, RunFeed, feed_chunks
from service.api.idempotency import made
from service.api.pagination import DEFAULT_LIMIT, MAX_LIMIT, Cursor, Limit, Paging
from service.api.routes.runs import Reading, RunId, reader_of
from service.api.stream import MEDIA_TYPE, EventStream, Lifetime
from service.api.stream_cursor import FORM, MAX_LENGTH, StreamCursor, is_position, position_of
from service.ports import Caller
from service.schemas.events import EventFeed, EventPage

router = APIRouter(prefix="/v1", tags=["events"], route_class=ApiRoute)

MAX_SEQUENCE = 2**53
_KIND = "|".join(map(re.escape, EventKind))
After = Annotated[int, Query(ge=0, le=MAX_SEQUENCE, description="Only events behind this sequence number.")]
Kinds = Annotated[
    str,
    Query(
        pattern=rf"^(({_KIND})(,({_KIND}))*)?$",
        max_length=1000,
        description="Only of these kinds, separated by commas: `best.improved,run.finished`.",
    ),
]
LastEventId = Annotated[
    str,
    Header(alias="Last-Event-ID", description="For a stream: the id of the last event received. It wins over `after`."),
]
Place = Annotated[
    str,
    Query(
        pattern=f"^({FORM})?$",
        max_length=MAX_LENGTH,
        description="`position` of an earlier page, or the id of an event. Empty: from now.",
    ),
]
_STREAM: dict[str, Any] = {
    MEDIA_TYPE: {
        "schema": {"type": "string"},
        "example": "event: run.started\\ndata: {...}\\nid: 2\\n\\n",
    }
}
_PAGED: dict[int | str, dict[str, Any]] = {200: {"model": EventPage, "content": _STREAM}}
_FED: dict[int | str, dict[str, Any]] = {200: {"model": EventFeed, "content": _STREAM}}


@router.get("/runs/{run_id}/events", response_class=Response, responses=_PAGED, operation_id="list_events")
async def list_events(
    request: Request,
    run_id: RunId,
    caller: Reading,
    parts: PartsDep,
    after: After = 0,
    kinds: Kinds = "",
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = "",
    last_event_id: LastEventId = "",
) -> Response:
    """List the events of a run in order, or follow them.

    With `Accept: text/event-stream`, the same events come as a stream that follows the run. `id` is the sequence
    number, `event` the kind, `data` the event. It begins after `Last-Event-ID` or `after`, pings every 15 seconds,
    and closes with `event: end` after the last event of an ended run. A connection lasts at most 10 minutes.
    """
    reader, wanted = reader_of(parts, caller), _kinds(kinds)
    run = await run_in_threadpool(reader.run, run_id)
    if _streams(request):
        begin = int(last_event_id) if _is_sequence(last_event_id) else after
        feed = RunFeed(reader, run.id, begin, wanted)
        chunks = feed.chunks(request.app.state.event_pages, request.app.state.watch, Lifetime())
        return EventStream(chunks, admission_of(request, parts, caller))
    paging = Paging(parts.signer, cursor, limit, {"list": "events", "run": run.id, "kinds": kinds})
    place = after if paging.after is None else int(paging.after)
    found = await run_in_threadpool(lambda: list(reader.events(run.id, place, paging.limit + 1, wanted)))
    rows, following = paging.cut(found, lambda row: row.sequence)
    return made(EventPage(items=[row.as_json() for row in rows], next_cursor=following), 200)


@router.get("/events", response_class=Response, responses=_FED, operation_id="list_all_events")
async def list_all_events(
    request: Request,
    caller: Reading,
    parts: PartsDep,
    kinds: Kinds = "",
    limit: Limit = DEFAULT_LIMIT,
    cursor: Place = "",
    last_event_id: LastEventId = "",
) -> Response:
    """List or follow the events of all runs that you may read, from now or from a position.

    A position is a text such as `1767225600000000~0190aaaa.17~0190bbbb.3`. It starts with a time in microseconds since
    1970. Later runs count as new. For every run that has not ended, or has just ended, it has the id without `run_` and
    the sequence number of the last event sent. Every page has a position. In a stream (`Accept: text/event-stream`) it
    is the `id` of every event, so that you miss nothing after you reconnect. Events come in order within each run. Runs
    that ended before a position are not in it. Read the events of their new evaluations under their own path.
    """
    wanted = _kinds(kinds)
    if not _streams(request):
        begin = await run_in_threadpool(_begin, parts, caller, cursor)
        feed = Feed(reader_of(parts, caller), parts.clock, begin, wanted)
        rows = await run_in_threadpool(feed.read, min(limit, MAX_LIMIT))
        position = feed.position.text()
        following = position if rows else None
        return made(EventFeed(items=[row.as_json() for row, _ in rows], next_cursor=following, position=position), 200)
    place = last_event_id if is_position(last_event_id) else cursor
    audience = EventAudience(key=f"{caller.tenant}/{caller.run_id}", kinds=wanted)
    pages: FeedPages = request.app.state.feed_pages
    reader = reader_of(parts, caller)
    begin = position_of(place) if place else await pages.begin(audience, reader)
    chunks = feed_chunks(pages, audience, reader, begin, Lifetime())
    return EventStream(chunks, admission_of(request, parts, caller))


def _begin(parts: ApiDependencies, caller: Caller, text: str) -> StreamCursor:
    if text:
        return position_of(text)
    now = parts.clock.now()
    return StreamCursor(since=now, seen=dict(reader_of(parts, caller).active()))


def _streams(request: Request) -> bool:
    return MEDIA_TYPE in request.headers.get("accept", "").lower()


def _is_sequence(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 16


def _kinds(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))
