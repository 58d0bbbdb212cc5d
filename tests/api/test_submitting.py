"""Submitting waits for what others run: names that somebody chose. Nobody else waits with it."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.told import Told, open_told
from tests.unit.problems.folders import NATIVE, SCORE, SEED

POLICY = {"name": "far", "base_url": "http://slow.example/v1", "model": "m"}
FILES = {"problem.toml": NATIVE, "seed.py": SEED, "evaluator.py": SCORE}
KEYED = {"Idempotency-Key": "once"}


class Names:
    """A resolver that answers when it is told to."""

    def __init__(self) -> None:
        self.asked, self.answer = threading.Event(), threading.Event()

    def __call__(self, *_: object, **__: object) -> list[Any]:
        self.asked.set()
        assert self.answer.wait(30)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 80))]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    found = Names()
    monkeypatch.setattr(socket, "getaddrinfo", found)
    yield found
    found.answer.set()


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    """An API with one problem."""
    async with open_told(tmp_path) as opened, opened.client() as owner:
        assert (await owner.post("/v1/problems", json={"name": "p", "files": FILES})).status_code == 201
        yield opened


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/runs", {"problem": "p", "policy": POLICY}),
        ("/v1/batches", {"name": "b", "runs": [{"problem": "p", "policy": POLICY}]}),
    ],
)
@pytest.mark.parametrize("headers", [{}, KEYED])
async def test_others_write_while_a_name_is_waited_for(
    told: Told, names: Names, path: str, body: dict[str, Any], headers: dict[str, str]
) -> None:
    async with told.client() as owner:
        submitting = asyncio.create_task(owner.post(path, json=body, headers=headers))
        assert await asyncio.to_thread(names.asked.wait, 10)
        async with asyncio.timeout(4):  # less than a name is waited for
            assert (await owner.post("/v1/saved-filters", json={"name": "v", "settings": {}})).status_code == 201
        names.answer.set()
        first = await submitting
        assert first.status_code == 201, first.text
        if headers:
            names.asked.clear()
            again = await owner.post(path, json=body, headers=headers)
            assert (again.json(), again.headers["Idempotency-Replayed"]) == (first.json(), "true")
            assert not names.asked.is_set()  # nothing is prepared for an answer that is there
        assert len((await owner.get("/v1/runs")).json()["items"]) == 1
