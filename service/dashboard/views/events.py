"""The events of a run, "what happened, and in what order?": its log in pages, narrowed by kind, island or candidate."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from evolve.events import EventKind
from service.client import AsyncClient, calls
from service.dashboard.formatting import plain, short
from service.dashboard.loading import RunPageRoute
from service.dashboard.numbers import number
from service.dashboard.pages import render
from service.dashboard.run_page import RunId, render_run
from service.dashboard.session import Api
from service.errors import UsageError
from service.schemas.runs import Run

SHOWN = 100
CHUNK, MAX_READ = 200, 2000
MAX_NAMED = 8
_ABOUT_ALL = frozenset({"schema", "run_id", "sequence", "kind", "at", "proposal_id"})
_CANDIDATE = re.compile(r"cnd_[0-9a-f]{20}_[0-9]+_[0-9]+", re.ASCII)
_ISLANDS = ("island", "from", "to")
router = APIRouter(prefix="/runs/{run_id}/events", route_class=RunPageRoute, include_in_schema=False)
Event = Mapping[str, Any]
Short = Annotated[str, Query(max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events: empty texts and no kinds are all of them."""

    kinds: Sequence[str] = ()
    island: str = ""
    candidate: str = ""
    after: int = 0

    @property
    def narrow(self) -> bool:
        """Whether something beside kinds is asked for, which the log itself cannot be asked."""
        return bool(self.island or self.candidate)

    def query(self, **changes: Any) -> str:
        """As it stands in an address."""
        one = replace(self, **changes)
        pairs = [("kind", kind) for kind in one.kinds]
        pairs += [(name, str(value)) for name, value in (("island", one.island), ("candidate", one.candidate)) if value]
        return urlencode([*pairs, *([("after", one.after)] if one.after else [])])

    def holds(self, event: Event) -> bool:
        """Whether an event names the island and the candidate that are asked for."""
        if self.island and not any(str(event.get(name)) == self.island for name in _islands_of(event)):
            return False
        return not self.candidate or any(self.candidate in (one, short(one)) for one in candidates_in(event))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLink:
    """A word about an event, and where it leads."""

    name: str
    text: str
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """An event as it is shown."""

    sequence: int
    kind: str
    at: str
    words: Sequence[EventLink]
    raw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPiece:
    """A piece of the log.

    Attributes:
        after: everything up to this event was looked at.
        more: whether there is more behind it.
    """

    lines: Sequence[EventLine]
    after: int
    more: bool


def candidates_in(value: object) -> Iterator[str]:
    """Ids of candidates in an event, wherever they stand."""
    if isinstance(value, str):
        if _CANDIDATE.fullmatch(value):
            yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from candidates_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from candidates_in(inner)


def line_of(run_id: str, event: Event) -> EventLine:
    """An event in words, with links to what it names."""
    words = [word for name, value in event.items() if name not in _ABOUT_ALL for word in _words(run_id, name, value)]
    raw = json.dumps(dict(event), indent=1, ensure_ascii=False, default=str)
    return EventLine(
        sequence=int(event["sequence"]), kind=str(event["kind"]), at=str(event["at"]), words=words, raw=raw
    )


def _islands_of(event: Event) -> Sequence[str]:
    # `from` and `to` of an extended budget are no islands.
    return _ISLANDS if event.get("kind") == EventKind.ISLAND_MIGRATED else _ISLANDS[:1]


def _words(run_id: str, name: str, value: Any) -> list[EventLink]:
    named = list(candidates_in(value))
    if named:
        found = [EventLink(name=name, text=short(one), href=f"/candidates/{one}") for one in named[:MAX_NAMED]]
        rest = len(named) - len(found)
        return [*found, EventLink(name="", text=f"and {rest} more")] if rest else found
    if value is None or value in ("", [], {}):
        return []
    if name == "proposal_number" and isinstance(value, int) and value > 0:
        return [EventLink(name="proposal", text=str(value), href=f"/runs/{run_id}/proposals/{value}")]
    return [EventLink(name=name, text=_text(value))]


def _text(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    if isinstance(value, Mapping):
        return plain(", ".join(f"{name} {_text(inner)}" for name, inner in list(value.items())[:MAX_NAMED]))
    if isinstance(value, list | tuple):
        return plain(", ".join(_text(inner) for inner in value[:MAX_NAMED]))
    text = str(value)
    return short(text) if text.startswith(("pgm_", "prp_", "evl_")) else text[:200]


def only_of(
    kind: Annotated[list[str], Query(max_length=40)] = [],  # noqa: B006 -- FastAPI copies it
    island: Short = "",
    candidate: Short = "",
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> EventFilter:
    """What an address asks for.

    Raises:
        UsageError: there are no events of the kind, or it is not an island.
    """
    unknown = [one for one in kind if one not in tuple(EventKind)]
    if unknown:
        raise UsageError(f"there are no events of kind {plain(unknown[0], 40)!r}: choose among those of the form")
    if island and not (island.isascii() and island.isdecimal()):
        raise UsageError(f"{plain(island, 40)!r} is not an island: write its number")
    return EventFilter(kinds=tuple(dict.fromkeys(kind)), island=island, candidate=candidate.strip(), after=after)


Asked = Annotated[EventFilter, Depends(only_of)]


@router.get("")
async def show_events(request: Request, run_id: RunId, api: Api, only: Asked) -> Response:
    """Show a page of the log."""
    run = await api.send(calls.get_run(run_id))
    piece = await _read(api, run, only)
    reach = MAX_READ if only.narrow or only.kinds else SHOWN
    values = {
        "only": only,
        "piece": piece,
        "kinds": list(EventKind),
        "newest": max(0, run.sequence - reach),
        "before": max(0, only.after - SHOWN) if only.after and reach == SHOWN else None,
    }
    return await render_run(request, api, run, "events.html", "events", **values)


@router.get("/rows")
async def show_rows(request: Request, run_id: RunId, api: Api, only: Asked) -> Response:
    """Show the rows behind an event alone."""
    run = await api.send(calls.get_run(run_id))
    return render(request, "events_rows.html", run=run, piece=await _read(api, run, only))


async def _read(api: AsyncClient, run: Run, only: EventFilter) -> EventPiece:
    """Events that are asked for; of the log no more is looked through at once than a page can wait for."""
    lines: list[EventLine] = []
    place, looked = only.after, 0
    while looked < MAX_READ and len(lines) < SHOWN:
        limit = CHUNK if only.narrow else SHOWN + 1
        page = await api.send(calls.list_events(run.id, after=place, kinds=only.kinds, limit=limit))
        for event in page.items:
            if len(lines) == SHOWN:
                return EventPiece(lines=lines, after=place, more=True)
            place, looked = event["sequence"], looked + 1
            if only.holds(event):
                lines.append(line_of(run.id, event))
        if page.next_cursor is None:
            return EventPiece(lines=lines, after=max(place, only.after), more=False)
    return EventPiece(lines=lines, after=place, more=True)
