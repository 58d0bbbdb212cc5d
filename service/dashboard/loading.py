"""Pages about a run come at once: what must be read from all of its events first follows, and the page says so."""

import asyncio

from fastapi import Request
from starlette.types import Message, Receive, Scope, Send

from service.client import calls
from service.dashboard.pages import PageRoute, is_part
from service.dashboard.run_page import TABS, render_run
from service.dashboard.session import Visitor, inside
from service.errors import ServiceError

PATIENCE_SECONDS = 0.4
WAIT_HEADER, WAIT_FIELD = "x-evolve-wait", "wait"  # of whoever waits for the whole page: a script, a browser without
_under_way: set["asyncio.Task[None]"] = set()


class RunPageRoute(PageRoute):
    """A route about a run: where its figures take longer, its head and tabs come first.

    The page is made all the same, so that whoever asks again finds what was read of the run. Nobody else waits: it is
    made as an answer of its own, whose connections end with it and not with the page that was shown instead.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer within the patience of a reader."""
        request = Request(scope)
        if self.path not in _PAGES or request.method != "GET" or _waits(request):
            await super().handle(scope, receive, send)
            return
        answer: list[Message] = []

        async def keep(message: Message) -> None:
            answer.append(message)

        making = asyncio.ensure_future(super().handle(dict(scope), receive, keep))
        _under_way.add(making)
        making.add_done_callback(_forget)
        await asyncio.wait({making}, timeout=PATIENCE_SECONDS)
        if not making.done() and await _show_loading(request, scope, receive, send):
            return
        await making
        for message in answer:
            await send(message)


_PAGES = frozenset(tab.of("{run_id}") for tab in TABS)


def _waits(request: Request) -> bool:
    return is_part(request) or WAIT_HEADER in request.headers or WAIT_FIELD in request.query_params


def _forget(making: "asyncio.Task[None]") -> None:
    _under_way.discard(making)
    if not making.cancelled():
        making.exception()  # an answer that nobody waits for has been logged where it failed


async def _show_loading(request: Request, scope: Scope, receive: Receive, send: Send) -> bool:
    """Show the page without its figures; False: there is no such run, or nobody is signed in, as the page will say."""
    run_id = request.path_params["run_id"]
    tab = next(tab for tab in TABS if tab.of(run_id) == request.url.path)
    try:
        async with inside(request, Visitor(request)) as api:
            run = await api.send(calls.get_run(run_id))
            whole = "?" + request.url.include_query_params(**{WAIT_FIELD: 1}).query
            page = await render_run(request, api, run, "loading.html", tab.name, title=tab.title, whole=whole)
    except ServiceError:
        return False
    await page(scope, receive, send)
    return True
