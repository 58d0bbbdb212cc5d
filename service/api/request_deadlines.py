"""Deadlines for the arrival of requests: a connection that sends nothing, or too slowly, is closed."""

import asyncio
import json
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD, BODY = "head", "body"


class DeadlineProtocol(H11Protocol):
    """HTTP/1.1 of uvicorn, which itself bounds only the time between two requests.

    Attributes:
        seconds: how long the head of a request may take from the connection's beginning, or from its own first byte on
            a connection that is kept, and how long the body may take behind its head.
    """

    seconds: ClassVar[dict[str, float]] = {}
    _awaited = ""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn declares it
        """Begin to wait for the head of the first request."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        super().data_received(data)
        self._expect()

    def on_response_complete(self) -> None:
        """Wait for the next request, which uvicorn bounds, or for what of it is there already."""
        super().on_response_complete()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._arm("")
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self.transport.is_closing():
            self._arm("")
        elif self.conn.their_state is h11.SEND_BODY:
            self._arm(BODY)
        else:
            between = self.timeout_keep_alive_task is not None or self.conn.their_state is not h11.IDLE
            self._arm("" if between else HEAD)

    def _arm(self, awaited: str) -> None:
        if awaited == self._awaited:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._awaited = awaited
        self._timer = self.loop.call_later(self.seconds[awaited], self._late) if awaited else None

    def _late(self) -> None:
        begun = self._awaited == BODY or bool(self.conn.trailing_data[0])
        answering = self._awaited == BODY and self.cycle.response_started
        if begun and not answering and not self.transport.is_closing():
            self.transport.write(_answer(self._awaited, self.seconds[self._awaited]))
        self.transport.close()


def deadline_protocol(head_seconds: float, body_seconds: float) -> type[DeadlineProtocol]:
    """The protocol with the deadlines of an installation."""
    seconds = {HEAD: head_seconds, BODY: body_seconds}
    return type("InstalledDeadlineProtocol", (DeadlineProtocol,), {"seconds": seconds})


def _answer(awaited: str, seconds: float) -> bytes:
    """408, as the routes answer errors."""
    told = {
        "type": "about:blank",
        "title": "Request Timeout",
        "status": 408,
        "detail": f"the {awaited} of the request did not arrive within {seconds:g} s: send it again, faster",
    }
    body = json.dumps(told).encode()
    head = "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/problem+json\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
