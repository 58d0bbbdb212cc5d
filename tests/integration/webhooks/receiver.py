"""A real HTTP server on a loopback port that hears webhooks and answers as it is told."""

import http.server
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the receiver says; `held` waits before anything is said, `dripping` between head and body."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"thanks"
    held: threading.Event | None = None
    dripping: threading.Event | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A request, with the names of its headers in lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes


def _lower(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


class Receiver:
    """What was heard, and what is answered next; the last answer is given from then on."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.answers: list[Answer] = [Answer()]
        self.url = ""

    def take(self, heard: Heard) -> Answer:
        self.heard.append(heard)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def open_receiver() -> Iterator[Receiver]:
    """A receiver at work."""
    receiver = Receiver()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            answer = receiver.take(Heard(path=self.path, headers=_lower(self.headers), body=self.rfile.read(length)))
            if answer.held:
                answer.held.wait(30)
            self.send_response(answer.status)
            for name, value in {"content-length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if answer.dripping:
                answer.dripping.wait(30)
            self.wfile.write(answer.body)

        do_GET = do_POST  # noqa: N815 - the base class looks for this name

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                self.close_connection = True  # the sender had heard enough

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
