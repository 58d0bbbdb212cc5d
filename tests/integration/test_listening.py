"""How the service listens."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from service.app import create_app
from service.bootstrap.serving import open_api
from service.config import load_settings
from service.errors import UsageError
from service.net import listening
from service.net.listening import Address
from tests.patience import PATIENCE_SECONDS


async def test_no_piece_of_an_answer_waits_until_the_one_before_is_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVOLVE_API__SECRET", "a secret that is long enough for a service of tests")
    settings = load_settings(tmp_path / "absent.toml", tmp_path)
    database, address = f"sqlite:///{tmp_path / 'runs.db'}", Address(host="127.0.0.1", port=0)
    async with open_api(settings, address, create_app, database, None) as service:
        with socket.create_connection(("127.0.0.1", service.address.port)):
            accepted, _ = service.listener.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@asynccontextmanager
async def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float) -> AsyncIterator[int]:
    """The port of an API that lets requests take so long to arrive."""
    monkeypatch.setenv("EVOLVE_API__SECRET", "a secret that is long enough for a service of tests")
    for name in ("HEAD", "BODY"):
        monkeypatch.setenv(f"EVOLVE_API__{name}_SECONDS", str(seconds))
    settings = load_settings(tmp_path / "absent.toml", tmp_path)
    database, address = f"sqlite:///{tmp_path / 'runs.db'}", Address(host="127.0.0.1", port=0)
    async with open_api(settings, address, create_app, database, None) as service:
        serving = asyncio.create_task(service.run())
        yield service.address.port
        service.leave()
        await serving


async def said(port: int, *pieces: bytes, until: bytes = b"") -> bytes:
    """What the server says to pieces sent one behind the answer to the other, until a text or the connection's end."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        heard = b""
        for piece in pieces:
            writer.write(piece)
            if piece is not pieces[-1]:
                heard += await reader.readuntil(until)
        heard += await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    return heard


HEAD = b"POST /v1/runs HTTP/1.1\r\nHost: api\r\nContent-Type: application/json\r\nContent-Length: 90\r\n"
ALIVE = b"GET /healthz HTTP/1.1\r\nHost: api\r\n\r\n"


@pytest.mark.parametrize(
    ("pieces", "status", "detail"),
    [
        ([b""], b"", b""),
        ([b"GET /healthz HT"], b"HTTP/1.1 408 ", b"the head of the request did not arrive within 0.3 s"),
        ([HEAD], b"HTTP/1.1 408 ", b"the head of the request"),
        ([HEAD + b"\r\n{"], b"HTTP/1.1 408 ", b"the body of the request did not arrive within 0.3 s"),
        ([ALIVE, b"GET /heal"], b"HTTP/1.1 200 ", b"the head of the request"),
    ],
)
async def test_a_request_that_does_not_arrive_in_time_ends_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: list[bytes], status: bytes, detail: bytes
) -> None:
    async with served(tmp_path, monkeypatch, 0.3) as port:
        heard = await said(port, *pieces, until=b"}")
    assert heard.startswith(status)
    assert detail in heard
    assert (b"408" in heard) == bool(detail)


async def test_a_connection_between_two_requests_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(tmp_path, monkeypatch, 0.2) as port, asyncio.timeout(PATIENCE_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(ALIVE)
            assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 200 ")
            with pytest.raises(TimeoutError):  # longer than a head may take
                await asyncio.wait_for(reader.read(1), 0.5)
        writer.close()


@pytest.mark.parametrize("first", [True, False])
def test_a_port_is_shared_only_if_each_listener_says_so(first: bool) -> None:
    with listening.listening(Address(host="127.0.0.1", port=0, shared=first)) as (_, heard):
        other = Address(host="127.0.0.1", port=heard.port, shared=not first)
        refusal = rf"cannot listen on 127.0.0.1:{heard.port} \(Address already in use\): choose another --port"
        with pytest.raises(UsageError, match=refusal), listening.listening(other):
            pass


def test_a_shared_port_gives_each_connection_to_one_of_its_listeners() -> None:
    with (
        listening.listening(Address(host="127.0.0.1", port=0, shared=True)) as (first, heard),
        listening.listening(Address(host="127.0.0.1", port=heard.port, shared=True)) as (second, again),
        ExitStack() as opened,
    ):
        assert again.port == heard.port
        for _ in range(64):
            opened.enter_context(socket.create_connection((heard.host, heard.port)))
        accepted = [_accepted(listener) for listener in (first, second)]
    assert sum(accepted) == 64
    assert min(accepted) > 0


def _accepted(listener: socket.socket) -> int:
    """The number of connections that wait at a listener."""
    listener.setblocking(False)
    count = 0
    with suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            count += 1
    return count
