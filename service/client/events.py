"""Events as a service streams them: read line by line, and taken up again behind the last one where a stream breaks."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from service.client.call import Call, chosen, place
from service.client.transport import Transport
from service.errors import UnreachableError

MEDIA_TYPE = "text/event-stream"
END = "end"
# The service says every 15 seconds that the connection lives.
SILENCE_SECONDS = 45.0
PAUSE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a stream. `id`: where to go on behind it."""

    kind: str
    id: str
    value: Mapping[str, Any] = field(repr=False)


class EventParser:
    """Makes events of the lines of a stream (WHATWG, Server-sent events, 9.2.6)."""

    def __init__(self) -> None:
        self._kind = self._id = ""
        self._data: list[str] = []

    def take(self, line: str) -> StreamEvent | None:
        """Take in one line without its end; the event that it completes, if any.

        Raises:
            UnreachableError: the data of an event cannot be read.
        """
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            match name:
                case "event":
                    self._kind = value
                case "data":
                    self._data.append(value)
                case "id":
                    self._id = value
            return None
        kind, data, self._kind, self._data = self._kind, self._data, "", []
        return StreamEvent(kind, self._id, _object("\n".join(data))) if data else None


class FollowedStream:
    """A stream that is followed over as many connections as it takes.

    Args:
        wire: makes requests.
        path: of the events.
        after: id of the last event that is known; empty: from the beginning.
        kinds: of events; empty: every kind.
        patience_seconds: how long the service may be away at a stretch.
        notice: is called with the error when the stream breaks and is taken up again.
    """

    def __init__(
        self,
        wire: Transport,
        path: str,
        after: str,
        kinds: Sequence[str],
        *,
        patience_seconds: float,
        notice: Callable[[Exception], None] | None = None,
    ) -> None:
        self._wire, self._path, self._kinds = wire, path, kinds
        self._last, self._patience, self._notice = after, patience_seconds, notice
        self._attempt = 0
        self._since: float | None = None
        self.ended = False

    def request(self) -> httpx.Request:
        """The next connection's request, that begins behind the last event."""
        self._lines = EventParser()
        headers = {"Accept": MEDIA_TYPE, "Last-Event-ID": self._last} if self._last else {"Accept": MEDIA_TYPE}
        call = Call(method="GET", path=self._path, answer=bytes, params=chosen(kinds=",".join(self._kinds)))
        request = self._wire.request(call, headers)
        request.extensions["timeout"] = {**request.extensions["timeout"], "read": SILENCE_SECONDS}
        return request

    def take(self, line: str) -> StreamEvent | None:
        """Take in a line; the event that it completes, if any: none comes twice."""
        self._attempt, self._since = 0, None
        told = self._lines.take(line)
        if told is None:
            return None
        if told.kind == END:
            self.ended = True
            return None
        self._last = told.id or self._last
        return told

    def broken(self, outcome: httpx.Response | httpx.RequestError | None) -> float:
        """Seconds to wait before the next connection; `outcome` None: the service has ended the last one in order.

        Raises:
            ServiceError, EvolveError: the service refuses the stream, or is away for too long.
        """
        if outcome is None:
            return PAUSE_SECONDS
        error, asked = self._wire.judge(outcome)
        if asked is None:
            raise error
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        self._attempt += 1
        # The first waits double, the later ones are all as long: how long in all is patience's to say.
        rung = min(self._attempt, self._wire.backoff.attempts - 1)
        seconds = self._wire.pause(rung, asked)
        if now + seconds - self._since > self._patience:
            raise error
        if self._notice is not None:
            self._notice(error)
        return seconds


def run_events(run_id: str) -> str:
    """Where the events of a run are."""
    return place("/v1/runs/{}/events", run_id)


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UnreachableError("the service streams what cannot be read here: is it of this version?") from error
    return value if isinstance(value, dict) else {}
