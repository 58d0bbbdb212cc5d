"""Tunnels of coding agents: named hosts alone, TLS alone, and no more bytes than a session may pass."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from service.agents import tunnels
from service.agents.egress import EgressProxy
from service.agents.usage import SessionMeter
from service.net.address import read_host
from tests.fakes.tls_server import TlsServer, tls_server

TIMEOUT_SECONDS = 30.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TlsServer]:
    with tls_server(tmp_path) as running:
        yield running


@asynccontextmanager
async def serving(*hosts: str, session: bool = True) -> AsyncIterator[tuple[EgressProxy, int]]:
    """A proxy without a model server, and its port."""
    proxy = EgressProxy(None, None, hosts=hosts)
    if session:
        proxy.meter = SessionMeter(cost=lambda usage: None)  # noqa: ARG005 - nothing has a price
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    await proxy.start(listening)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            yield proxy, listening.getsockname()[1]
    finally:
        await proxy.close()


async def fetched(server: TlsServer, port: int) -> str:
    """What a client of the proxy gets from the server, which it knows by its certificate."""
    async with httpx.AsyncClient(proxy=f"http://127.0.0.1:{port}", verify=server.trusting, trust_env=False) as client:
        return (await client.get(f"https://localhost:{server.port}/simple")).text


async def said(port: int, request: bytes) -> bytes:
    """The beginning of the reply to raw bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    reply = await reader.read(4096)
    writer.close()
    await writer.wait_closed()
    return reply


async def test_a_named_host_is_reached_and_its_certificate_is_its_own(server: TlsServer) -> None:
    async with serving(f"LOCALHOST:{server.port}") as (_, port):
        assert await fetched(server, port) == "a package of /simple"
        assert await fetched(server, port) == "a package of /simple"


@pytest.mark.parametrize(
    "authority", ["example.org:443", "localhost:1", "localhost", "127.0.0.1:PORT", "[::1]:PORT", "localhost.:PORT", ""]
)
async def test_every_other_host_is_refused(server: TlsServer, authority: str) -> None:
    async with serving(f"localhost:{server.port}") as (_, port):
        target = authority.replace("PORT", str(server.port)).encode()
        reply = await said(port, b"CONNECT " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b" 200 " not in reply
    assert reply == b"" or reply.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 400 "))


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["127.8.8.8"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["169.254.169.254", "127.0.0.1"],
        ["fd00:ec2::254"],
        ["0.0.0.0"],
        [],
    ],
)
async def test_a_name_that_leads_back_to_this_machine_is_not_reached(
    server: TlsServer, monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    """Whoever owns a name can let it mean any address, at any time."""
    monkeypatch.setattr(tunnels, "resolve_host", lambda host, port: addresses)  # noqa: ARG005 - the resolver's form
    async with serving(f"packages.example:{server.port}") as (_, port):
        reply = await said(port, f"CONNECT packages.example:{server.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert reply.startswith(b"HTTP/1.1 502 ")


async def test_what_follows_the_name_in_a_request_counts_for_nothing(server: TlsServer) -> None:
    async with serving(f"localhost:{server.port}") as (_, port):
        for target in ("example.org:443", f"user:secret@localhost:{server.port}"):
            head = f"CONNECT {target} HTTP/1.1\r\nHost: localhost:{server.port}\r\n\r\n"
            assert (await said(port, head.encode())).startswith(b"HTTP/1.1 403 ")


async def test_no_tunnel_is_made_between_sessions(server: TlsServer) -> None:
    async with serving(f"localhost:{server.port}", session=False) as (_, port):
        reply = await said(port, f"CONNECT localhost:{server.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert reply.startswith(b"HTTP/1.1 403 ")


async def test_another_protocol_than_tls_is_not_let_out(server: TlsServer) -> None:
    async with serving(f"localhost:{server.port}") as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"CONNECT localhost:{server.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def test_a_session_passes_so_many_bytes_and_the_next_begins_anew(
    server: TlsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tunnels, "MAX_BYTES", 6000)
    async with serving(f"localhost:{server.port}") as (proxy, port):
        assert await fetched(server, port) == "a package of /simple"
        with contextlib.suppress(httpx.HTTPError):
            for _ in range(4):
                await fetched(server, port)
        with pytest.raises(httpx.HTTPError):
            await fetched(server, port)
        await proxy.end_session()
        proxy.meter = SessionMeter(cost=lambda usage: None)  # noqa: ARG005 - nothing has a price
        assert await fetched(server, port) == "a package of /simple"


async def test_without_a_model_server_no_request_is_passed_on() -> None:
    async with serving("localhost") as (proxy, port):
        reply = await said(port, b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
        assert reply.startswith(b"HTTP/1.1 403 ")
        assert "OPENAI_BASE_URL" not in proxy.environment
        assert proxy.environment["HTTPS_PROXY"] == "http://127.0.0.1:8711"


@pytest.mark.parametrize(
    ("text", "target"), [("Packages.example", ("packages.example", 443)), (" a-b.example:8443 ", ("a-b.example", 8443))]
)
def test_an_entry_is_a_name_with_a_port(text: str, target: tuple[str, int]) -> None:
    assert read_host(text) == target


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*.packages.example",
        "10.0.0.1",
        "1.2",
        "[::1]:443",
        "packages.example:0",
        "packages.example:",
        "packages.example:99999",
        "a/b",
        "http://a",
        "a..b",
        "-a",
    ],
)
def test_nothing_else_is_an_entry(text: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a host"):
        read_host(text)
