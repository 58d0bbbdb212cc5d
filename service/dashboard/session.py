"""The door: a page asks the API as the person who looks at it, with their cookies and nothing beside them."""

from collections.abc import AsyncIterator, Generator, Sequence
from typing import Annotated
from urllib.parse import parse_qsl

import httpx
from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from service.client import AsyncClient
from service.errors import RateLimitedError, RefusedError, StorageAwayError, UsageError
from service.keys import UNKNOWN
from service.net.retry import Backoff

SESSION_COOKIE, CSRF_COOKIE, SHARE_COOKIE = "evolve_session", "evolve_csrf", "evolve_share"
SCOPES_COOKIE = "evolve_scopes"
CSRF_HEADER, CSRF_FIELD = "X-CSRF-Token", "csrf"
_INSIDE = "http://localhost"
_PASSED_ON = ("traceparent", "x-request-id")
# More than any page has; a form of millions would take its reader minutes.
MAX_FIELDS = 10_000


class SignedOutError(RefusedError):
    """Nobody is signed in at this browser, or no longer."""


class Visitor(httpx.Auth):
    """Shows the API the cookies of a browser, and the token that its page sent along."""

    def __init__(self, request: Request, csrf: str = "") -> None:
        self._headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        self._headers["Cookie"] = request.headers.get("cookie", "")
        if csrf.isascii() and csrf.isprintable():
            self._headers[CSRF_HEADER] = csrf

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Dress one request; an answer that knows nobody ends the page."""
        request.headers.update(
            {name: value.encode("latin-1", "replace").decode("latin-1") for name, value in self._headers.items()}
        )
        request.headers["Accept-Encoding"] = "identity"  # it never leaves this process
        answer = yield request
        if answer.status_code == 401:
            raise SignedOutError("sign in to see this page")

    def __repr__(self) -> str:
        return "Visitor(...)"


async def open_session(request: Request, key: str) -> list[str]:
    """The cookies of a session that a key opens.

    Raises:
        SignedOutError: the key opens nothing.
        HurriedError: too many keys were tried from there.
    """
    async with _wire(request) as wire:
        answer = await wire.post("/v1/session", json={"key": key})
    if answer.status_code == 429:
        raise RateLimitedError("too many attempts: wait a minute and try again")
    if not answer.is_success:
        raise SignedOutError(answer.json()["detail"] if answer.status_code == 401 else UNKNOWN)
    return answer.headers.get_list("set-cookie")


async def close_session(request: Request) -> list[str]:
    """The cookies that end a session."""
    async with _wire(request) as wire:
        answer = await wire.delete("/v1/session", headers={"Cookie": request.headers.get("cookie", "")})
    if not answer.is_success:
        raise StorageAwayError("the session could not be ended: try again in a moment")
    return answer.headers.get_list("set-cookie")


def _wire(request: Request) -> httpx.AsyncClient:
    base = f"{request.url.scheme}://localhost"  # cookies are for https only where the page is
    return httpx.AsyncClient(base_url=base, transport=_transport(request))


def _transport(request: Request) -> httpx.ASGITransport:
    where = (request.client.host, request.client.port) if request.client else ("127.0.0.1", 0)
    return httpx.ASGITransport(app=request.app, raise_app_exceptions=False, client=where)


async def _enter(request: Request) -> AsyncIterator[AsyncClient]:
    csrf = ""
    if request.method == "POST":
        csrf = (await form_of(request)).get(CSRF_FIELD, "")
    async with inside(request, Visitor(request, csrf)) as api:
        yield api


def inside(request: Request, visitor: httpx.Auth) -> AsyncClient:
    """A client that reaches this application without a socket; nothing is asked twice."""
    return AsyncClient(_INSIDE, visitor, transport=_transport(request), backoff=Backoff(attempts=1))


Api = Annotated[AsyncClient, Depends(_enter)]


async def form_of(request: Request) -> "FormData":
    """The fields that a form sent."""
    if not hasattr(request.state, "form"):
        request.state.form = await run_in_threadpool(FormData.read, await request.body())
    found = request.state.form
    assert isinstance(found, FormData)
    return found


class FormData(dict[str, str]):
    """Fields of a form; of several of one name the last, and all of them by `several`."""

    @classmethod
    def read(cls, body: bytes) -> "FormData":
        """Fields as browsers write them; bytes that are no text are replaced, and lines end as they do elsewhere.

        Raises:
            UsageError: there are too many.
        """
        try:
            pairs = parse_qsl(body.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
        except ValueError:
            raise UsageError(f"the form has more than {MAX_FIELDS} fields: send fewer at once") from None
        pairs = [(name, value.replace("\r\n", "\n")) for name, value in pairs]
        found = cls(pairs)
        found._pairs = pairs
        return found

    _pairs: Sequence[tuple[str, str]] = ()

    def several(self, name: str) -> list[str]:
        """All values of a field, in the order of the form."""
        return [value for key, value in self._pairs if key == name]

    def proposals(self, default: int) -> int:
        """The number of proposals that a change is for.

        Raises:
            UsageError: what was written is not a number.
        """
        written = self.get("proposals", "").strip() or str(default)
        if not (written.isascii() and written.isdigit()):
            raise UsageError(f"{written[:40]!r} is not a number of proposals: write one such as 10")
        return int(written)

    def island(self) -> int | None:
        """The island that a change is for; None: none was chosen.

        Raises:
            UsageError: what was written is not a number.
        """
        written = self.get("island", "").strip()
        if written and not (written.isascii() and written.isdigit()):
            raise UsageError(f"{written[:40]!r} is not an island: choose one from the list")
        return int(written) if written else None


FormDep = Annotated[FormData, Depends(form_of)]
