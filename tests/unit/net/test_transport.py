"""Connections go to the addresses that were judged, whatever a name answers a moment later."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from service.net.transport import AddressRefused, PinnedTransport

PUBLIC, OTHER = "93.184.215.14", "2606:4700::1111"


class Rebinding:
    """A resolver that answers each time what comes next, and the last answer from then on."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)

    def __call__(self, host: str, port: int) -> Sequence[str]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Network(httpx.AsyncBaseTransport):
    """Notes where it is led; some addresses cannot be connected to."""

    def __init__(self, *dead: str) -> None:
        self.dead = dead
        self.seen: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        if request.url.host in self.dead:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(200, content=await request.aread())


async def test_the_address_is_checked_and_the_name_is_kept() -> None:
    network = Network()
    transport = PinnedTransport(resolve=Rebinding([PUBLIC], ["127.0.0.1"]), connect=network)
    async with httpx.AsyncClient(transport=transport) as client:
        answer = await client.post("https://name.example:8443/v1/chat?x=1", json={"a": 1})
        assert answer.json() == {"a": 1}
        with pytest.raises(AddressRefused, match=r"127\.0\.0\.1 of name\.example"):
            await client.post("https://name.example:8443/v1/chat")
    (sent,) = network.seen
    assert str(sent.url) == f"https://{PUBLIC}:8443/v1/chat?x=1"
    assert sent.headers["host"] == "name.example:8443"
    assert sent.extensions["sni_hostname"] == "name.example"


async def test_the_name_is_looked_up_once_for_check_and_connection() -> None:
    asked = []

    def resolve(host: str, port: int) -> Sequence[str]:
        asked.append((host, port))
        return [PUBLIC] if len(asked) == 1 else ["127.0.0.1"]

    network = Network()
    async with httpx.AsyncClient(transport=PinnedTransport(resolve=resolve, connect=network)) as client:
        await client.get("http://name.example/")
    assert asked == [("name.example", 80)]
    assert [request.url.host for request in network.seen] == [PUBLIC]


async def test_the_next_address_is_tried_where_one_is_dead() -> None:
    network = Network(OTHER)
    transport = PinnedTransport(resolve=Rebinding([OTHER, PUBLIC]), connect=network)
    async with httpx.AsyncClient(transport=transport) as client:
        assert (await client.post("http://name.example/", content=b"once")).content == b"once"
    assert [request.url.host for request in network.seen] == [OTHER, PUBLIC]


async def test_a_dead_host_is_a_connection_error() -> None:
    transport = PinnedTransport(resolve=Rebinding([OTHER, PUBLIC]), connect=Network(OTHER, PUBLIC))
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("http://name.example/")


async def test_redirects_are_checked_like_any_address() -> None:
    class Redirecting(Network):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await super().handle_async_request(request)
            return httpx.Response(307, headers={"location": "http://169.254.169.254/latest/meta-data"})

    network = Redirecting()
    transport = PinnedTransport(resolve=Rebinding([PUBLIC]), connect=network)
    async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
        with pytest.raises(AddressRefused, match=r"169\.254\.169\.254"):
            await client.get("http://name.example/")
    assert len(network.seen) == 1


async def test_no_proxy_of_the_environment_comes_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    network = Network()
    async with httpx.AsyncClient(transport=PinnedTransport(resolve=Rebinding([PUBLIC]), connect=network)) as client:
        await client.get("http://name.example/")
    assert len(network.seen) == 1


async def test_names_whose_servers_are_slow_hold_up_nothing_else() -> None:
    answer = threading.Event()

    def resolve(host: str, port: int) -> Sequence[str]:
        assert answer.wait(30)
        return [PUBLIC]

    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    async with httpx.AsyncClient(transport=PinnedTransport(resolve=resolve, connect=Network())) as client:
        asking = [asyncio.create_task(client.get("http://slow.example/")) for _ in range(8)]
        try:
            async with asyncio.timeout(10):
                await asyncio.sleep(0)
                assert await asyncio.to_thread(int, "7") == 7
            assert not any(task.done() for task in asking)
        finally:
            answer.set()
        assert [reply.status_code for reply in await asyncio.gather(*asking)] == [200] * 8
