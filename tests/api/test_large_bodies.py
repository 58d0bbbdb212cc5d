"""However many large bodies arrive at once, the API reads no more of them than it has memory for."""

import asyncio
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from service.api.body_budget import SMALL_TOTAL_BYTES, UNCOUNTED_BYTES, BodyBudget
from service.api.faults import ApiFault
from tests.api.told import Told, bearer, open_told, served

MIB = 1024 * 1024
LIMIT_MB = 4
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def bounded(tmp_path: Path) -> AsyncIterator[Told]:
    """An API that takes bodies of 4 MB."""
    async with open_told(tmp_path, body_limit_mb=LIMIT_MB) as opened:
        yield opened


def body(size: int) -> bytes:
    frame = '{"name": "v", "settings": {}, "more": "%s"}'
    return (frame % ("x" * (size - len(frame) + 2))).encode()


class HeldUpload:
    """A body of which the last byte has not come yet."""

    def __init__(self, size: int, *, chunked: bool = False) -> None:
        self._text = body(size)
        self.begun, self._finish = asyncio.Event(), asyncio.Event()
        self.headers = JSON if chunked else JSON | {"Content-Length": str(size)}

    async def pieces(self) -> AsyncIterator[bytes]:
        yield self._text[:-1]
        self.begun.set()
        await self._finish.wait()
        yield self._text[-1:]

    def finish(self) -> None:
        self._finish.set()


Held = tuple[HeldUpload, "asyncio.Task[httpx.Response]"]


async def answered(client: httpx.AsyncClient, size: int, path: str = "/v1/views") -> httpx.Response:
    return await client.post(path, content=body(size), headers=JSON)


async def holding(client: httpx.AsyncClient, size: int, path: str = "/v1/views", *, chunked: bool = False) -> Held:
    """An upload of which all but the last byte is sent, or one that was refused before."""
    held = HeldUpload(size, chunked=chunked)
    sending = asyncio.create_task(client.post(path, content=held.pieces(), headers=held.headers))
    sent = asyncio.create_task(held.begun.wait())
    await asyncio.wait([sending, sent], return_when=asyncio.FIRST_COMPLETED)
    sent.cancel()
    return held, sending


async def arrived(client: httpx.AsyncClient, *, chunked: bool = False) -> tuple[Held, httpx.Response]:
    """An upload that has the memory, and the answer to another.

    What is sent is not read: who asks may come first, and who was refused does not hear so before all is sent.
    """
    for seconds in itertools.count(0.05, 0.1):
        held, sending = await holding(client, 3 * MIB, chunked=chunked)
        await asyncio.sleep(seconds)
        asked = [await answered(client, 3 * MIB) for _ in range(2)]
        if {answer.status_code for answer in asked} == {503}:
            return (held, sending), asked[0]
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    raise AssertionError


async def taken(client: httpx.AsyncClient) -> httpx.Response:
    """The answer to a large body once there is memory for it, which is given back behind an answer."""
    while (answer := await answered(client, 3 * MIB)).status_code == 503:
        pass
    return answer


def assert_refused_for_now(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) >= 1
    assert "memory" in answer.json()["detail"]


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_large_body_is_refused_while_another_has_the_memory_and_taken_afterwards(
    bounded: Told, chunked: bool
) -> None:
    async with served(bounded.app) as url, httpx.AsyncClient(base_url=url, headers=bearer(bounded.key())) as client:
        (held, first), refused = await arrived(client, chunked=chunked)
        assert_refused_for_now(refused)
        assert (await client.get("/v1/views")).status_code == 200
        assert (await answered(client, UNCOUNTED_BYTES)).status_code == 422  # read, and found wrong
        held.finish()
        assert (await first).status_code == 422
        assert (await taken(client)).status_code == 422


async def test_a_body_without_its_length_is_cut_off_where_memory_ends(bounded: Told) -> None:
    async with served(bounded.app) as url, httpx.AsyncClient(base_url=url, headers=bearer(bounded.key())) as client:
        (held, first), _ = await arrived(client)
        second = HeldUpload(2 * MIB, chunked=True)
        second.finish()
        assert_refused_for_now(await client.post("/v1/views", content=second.pieces(), headers=second.headers))
        held.finish()
        assert (await first).status_code == 422


async def test_who_hangs_up_gives_the_memory_back(bounded: Told) -> None:
    async with served(bounded.app) as url, httpx.AsyncClient(base_url=url, headers=bearer(bounded.key())) as client:
        (_, first), _ = await arrived(client)
        first.cancel()
        assert (await taken(client)).status_code == 422


async def test_strangers_have_a_memory_of_their_own(bounded: Told) -> None:
    path = "/v1/session"
    async with served(bounded.app) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        uploads = [await holding(client, MIB, path) for _ in range(SMALL_TOTAL_BYTES // MIB)]
        while (refused := await answered(client, MIB, path)).status_code != 503:
            uploads.append(
                await holding(client, MIB, path)
            )  # who asked was there before one of these, which is refused
        assert_refused_for_now(refused)
        large = await client.post("/v1/views", content=body(3 * MIB), headers={**JSON, **bearer(bounded.key())})
        assert large.status_code == 422
        for upload, _ in uploads:
            upload.finish()
        found = [(await sending).status_code for _, sending in uploads]
        assert set(found) <= {422, 503}
        assert found.count(422) >= len(found) // 2


def test_a_reservation_grows_and_is_given_back() -> None:
    budget = BodyBudget(3 * MIB)
    with budget.open() as first:
        first.grow(MIB)
        first.grow(2 * MIB)
        first.grow(MIB)
        assert first.size == 2 * MIB
        with budget.open() as second:
            second.grow(UNCOUNTED_BYTES)
            assert second.size == 0
            with pytest.raises(ApiFault):
                second.grow(2 * MIB)
    with budget.open() as third:
        third.grow(3 * MIB)


@contextmanager
def api_process(folder: Path, limit_mb: int) -> Iterator[tuple[str, int, int]]:
    """A real `evolve api`: a key, its port and its process id."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("EVOLVE_")
    } | {
        "EVOLVE_DATABASE__URL": f"sqlite:///{folder}/evolve.db",
        "EVOLVE_API__SECRET": "s" * 40,
        "EVOLVE_API__BODY_LIMIT_MB": str(limit_mb),
        "HOME": str(folder),
    }  # fmt: skip
    evolve = [sys.executable, "-m", "service.cli.main"]
    subprocess.run([*evolve, "db", "upgrade"], check=True, env=environment, capture_output=True)
    made = subprocess.run([*evolve, "keys", "create", "k", "--json"], check=True, env=environment, capture_output=True)
    command = [*evolve, "api", "--port", "0", "--json"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout
            port = int(json.loads(process.stdout.readline())["url"].rpartition(":")[2])
            yield json.loads(made.stdout)["key"], port, process.pid
        finally:
            process.terminate()


def peak_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def upload(port: int, key: str, content: bytes, found: list[int]) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("POST", "/v1/problems", content, {**JSON, **bearer(key)})
    found.append(connection.getresponse().status)
    connection.close()


@pytest.mark.slow
def test_six_large_uploads_at_once_take_little_more_memory_than_one(tmp_path: Path) -> None:
    content = json.dumps({"files": {"main.py": "", "large.txt": "x" * (30 * MIB)}}).encode()
    growth: list[int] = []
    found: list[int] = []
    for uploads in (1, 6):
        (tmp_path / str(uploads)).mkdir()
        with api_process(tmp_path / str(uploads), limit_mb=32) as (key, port, pid):
            before = peak_bytes(pid)
            threads = [threading.Thread(target=upload, args=(port, key, content, found)) for _ in range(uploads)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            growth.append(peak_bytes(pid) - before)
    assert found[0] == 422  # a folder without a problem in it
    assert set(found[1:]) <= {422, 503}
    assert 422 in found[1:]
    assert growth[1] < 2 * growth[0]
