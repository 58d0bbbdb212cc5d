"""HEAD and OPTIONS of every address: what GET would answer without its body, and which methods there are."""

from collections.abc import Callable

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Methods:
    """Answers HEAD by way of GET, and OPTIONS by the list of methods.

    Args:
        app: what answers the other methods.
        allowed: the methods that an address takes; empty: it is not one of the API's.
    """

    def __init__(self, app: ASGIApp, allowed: Callable[[str], set[str]]) -> None:
        self._app, self._allowed = app, allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        method = scope["method"] if scope["type"] == "http" else ""
        if method == "HEAD":
            await self._head(scope, receive, send)
        elif method == "OPTIONS" and (methods := self._allowed(scope["path"])):
            answer = Response(status_code=204, headers={"Allow": ", ".join(sorted(methods))})
            await answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _head(self, scope: Scope, receive: Receive, send: Send) -> None:
        """GET without its body; an answer that would be a stream ends with its headers."""
        begun = False

        async def received() -> Message:
            return {"type": "http.disconnect"} if begun else await receive()

        async def bodiless(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                await send(message)
            elif not begun:
                begun = True
                await send({"type": "http.response.body", "body": b""})

        await self._app({**scope, "method": "GET", "headers": _whole(scope)}, received, bodiless)


def _whole(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Headers of a request without a range, which only GET has."""
    headers = MutableHeaders(raw=[*scope["headers"]])
    for name in ("range", "if-range"):
        if name in headers:
            del headers[name]
    return headers.raw
