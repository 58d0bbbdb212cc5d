"""However many large bodies arrive at once, the API reads no more of them than it has memory for."""

import asyncio
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

from service.api import middleware
from service.api.body_budget import SMALL_TOTAL_BYTES, UNCOUNTED_BYTES, BodyBudget
from service.api.problem_errors import ApiFault
from tests.api.told import Told, bearer, open_told, served
from tests.patience import PATIENCE_SECONDS

MIB = 1024 * 1024
LIMIT_MB = 4
LARGE, SMALL = 0, 1  # budgets, as they are made
JSON = {"Content-Type": "application/json"}


class Budgets:
    """What the API has left for bodies: sent is not read, and an answer is heard before its memory is given back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[BodyBudget] = []

        def make(total_bytes: int) -> BodyBudget:
            self.made.append(BodyBudget(total_bytes))
            return self.made[-1]

        monkeypatch.setattr(middleware, "BodyBudget", make)

    async def until_left(self, which: int, minimum: int, maximum: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (self.made and minimum <= self.made[which]._left <= maximum):  # noqa: ASYNC110 - the API sets no event
                await asyncio.sleep(0.01)


@pytest.fixture
def budgets(monkeypatch: pytest.MonkeyPatch) -> Budgets:
    return Budgets(monkeypatch)


@pytest.fixture
async def bounded(tmp_path: Path, budgets: Budgets) -> AsyncIterator[Told]:
    """An API that takes bodies of 4 MB."""
    async with open_told(tmp_path, body_limit_mb=LIMIT_MB) as opened:
        yield opened


def body(size: int) -> bytes:
    frame = '{"name": "v", "settings": {}, "more": "%s"}'
    return (frame % ("x" * (size - len(frame) + 2))).encode()


class HeldUpload:
    """A body of which the last byte has not come yet."""

    def __init__(self, size: int, *, chunked: bool = False) -> None:
        self._text, self._chunked = body(size), chunked
        self._finish = asyncio.Event()
        self.headers = JSON if chunked else JSON | {"Content-Length": str(size)}

    async def pieces(self) -> AsyncIterator[bytes]:
        yield self._text[:-1]
        await self._finish.wait()
        yield self._text[-1:]

    def finish(self) -> None:
        self._finish.set()


async def answered(client: httpx.AsyncClient, size: int) -> httpx.Response:
    return await client.post("/v1/saved-filters", content=body(size), headers=JSON)


def assert_refused_for_now(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) >= 1
    assert "memory" in answer.json()["detail"]


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_large_body_is_refused_while_another_has_the_memory_and_taken_afterwards(
    bounded: Told, budgets: Budgets, chunked: bool
) -> None:
    held = HeldUpload(3 * MIB, chunked=chunked)
    async with served(bounded.app) as url, httpx.AsyncClient(base_url=url, headers=bearer(bounded.key())) as client:
        first = asyncio.create_task(client.post("/v1/saved-filters", content=held.pieces(), headers=held.headers))
        await budgets.until_left(LARGE, 0, MIB + 1)
        assert_refused_for_now(await answered(client, 3 * MIB))
        assert (await client.get("/v1/saved-filters")).status_code == 200
        assert (await answered(client, UNCOUNTED_BYTES)).status_code == 422  # read, and found wrong
        held.finish()
        assert (await first).status_code == 422
        await budgets.until_left(LARGE, LIMIT_MB * MIB, LIMIT_MB * MIB)
        assert (await answered(client, 3 * MIB)).status_code == 422


async def test_a_body_without_its_length_is_cut_off_where_memory_ends(bounded: Told, budgets: Budgets) -> None:
    held = HeldUpload(3 * MIB)
    async with served(bounded.app) as url, httpx.AsyncClient(base_url=url, headers=bearer(bounded.key())) as client:
        first = asyncio.create_task(client.post("/v1/saved-filters", content=held.pieces(), headers=held.headers))
        await budgets.until_left(LARGE, 0, MIB + 1)
        second = HeldUpload(2 * MIB, chunked=True)
        second.finish()
        assert_refused_for_now(await client.post("/v1/saved-filters", content=second.pieces(), headers=second.headers))
        held.finish()
        assert (await first).status_code == 422


async def test_who_hangs_up_gives_the_memory_back(bounded: Told, budgets: Budgets) -> None:
    held = HeldUpload(3 * MIB)
    async with served(bounded.app) as url, httpx.AsyncClient(base_url=url, headers=bearer(bounded.key())) as client:
        first = asyncio.create_task(client.post("/v1/saved-filters", content=held.pieces(), headers=held.headers))
        await budgets.until_left(LARGE, 0, MIB + 1)
        assert (await answered(client, 3 * MIB)).status_code == 503
        first.cancel()
        await budgets.until_left(LARGE, LIMIT_MB * MIB, LIMIT_MB * MIB)
        assert (await answered(client, 3 * MIB)).status_code == 422


async def test_strangers_have_a_memory_of_their_own(bounded: Told, budgets: Budgets) -> None:
    uploads = [HeldUpload(MIB) for _ in range(SMALL_TOTAL_BYTES // MIB)]
    async with served(bounded.app) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        sending = [
            asyncio.create_task(client.post("/v1/session", content=upload.pieces(), headers=upload.headers))
            for upload in uploads
        ]
        await budgets.until_left(SMALL, 0, 0)
        refused = await client.post("/v1/session", content=body(MIB), headers=JSON)
        assert_refused_for_now(refused)
        large = await client.post("/v1/saved-filters", content=body(3 * MIB), headers={**JSON, **bearer(bounded.key())})
        assert large.status_code == 422
        for upload in uploads:
            upload.finish()
        assert {(await task).status_code for task in sending} == {422}


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
