"""Readiness, which anybody may ask for, costs one look at a time."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from service.bootstrap.kept import KEPT_SECONDS, Kept
from service.db.engine import Database
from service.errors import StorageAwayError
from tests.api.told import open_told


async def test_however_many_ask_one_check_is_made_at_a_time_and_its_outcome_kept_for_a_moment() -> None:
    made, gate, now = 0, asyncio.Event(), 0.0

    async def check() -> None:
        nonlocal made
        made += 1
        await gate.wait()
        if made == 1:
            raise StorageAwayError("away")

    kept = Kept(check, lambda: now)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await kept()  # who gives up ends it for nobody else
    asking = [asyncio.create_task(kept()) for _ in range(50)]
    await asyncio.sleep(0)
    gate.set()
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert made == 1
    assert {type(one) for one in found} == {StorageAwayError}
    with pytest.raises(StorageAwayError):
        await kept()
    now += KEPT_SECONDS
    await kept()
    assert made == 2


async def test_readiness_opens_no_engine_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_told(tmp_path) as told, told.client() as client:

        def refuse(*_: Any, **__: Any) -> Database:
            raise AssertionError("an engine was opened")

        monkeypatch.setattr("service.db.engine.create_engine", refuse)
        answers = await asyncio.gather(*(client.get("/readyz") for _ in range(20)))
    assert {(answer.status_code, answer.json()["checks"]["database"]) for answer in answers} == {(200, "ok")}
