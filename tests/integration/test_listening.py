"""How the service listens."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from service.app import create_app
from service.bootstrap.serving import open_api
from service.config import load_settings
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
async def listening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float) -> AsyncIterator[int]:
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
    async with listening(tmp_path, monkeypatch, 0.3) as port:
        heard = await said(port, *pieces, until=b"}")
    assert heard.startswith(status)
    assert detail in heard
    assert (b"408" in heard) == bool(detail)


async def test_a_connection_between_two_requests_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening(tmp_path, monkeypatch, 0.2) as port, asyncio.timeout(PATIENCE_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(ALIVE)
            assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 200 ")
            with pytest.raises(TimeoutError):  # longer than a head may take
                await asyncio.wait_for(reader.read(1), 0.5)
        writer.close()
