"""Readiness, which anybody may ask for, costs one look at a time."""

import asyncio
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from prometheus_client import REGISTRY

from service.api.cached_check import KEPT_SECONDS, CachedCheck
from service.db.engine import Database
from service.errors import StorageAwayError
from service.queue.connection import connect
from service.queue.workers import RedisWorkers
from tests.api.told import open_told, served
from tests.patience import PATIENCE_SECONDS
from tests.silent_proxy import silent_proxy


async def test_however_many_ask_one_check_is_made_at_a_time_and_its_outcome_kept_for_a_moment() -> None:
    made, gate, now = 0, asyncio.Event(), 0.0

    async def check() -> None:
        nonlocal made
        made += 1
        await gate.wait()
        if made == 1:
            raise StorageAwayError("away")

    kept = CachedCheck(check, lambda: now)
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


async def test_a_silent_redis_is_reported_and_keeps_nobody_from_asking(
    tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.api.routes.system.CHECK_SECONDS", 0.2)
    with silent_proxy(redis_url.removeprefix("unix://").partition("?")[0]) as proxy:
        async with connect(f"redis://127.0.0.1:{proxy.port}/0") as client:
            watch = RedisWorkers(client)

            async def look() -> None:
                await watch.depths()

            async with (
                open_told(tmp_path, lambda parts: replace(parts, checks={**parts.checks, "queue": look})) as told,
                told.client() as caller,
            ):
                assert (await caller.get("/readyz")).json()["checks"] == {"database": "ok", "queue": "ok"}
                proxy.silent = True
                answer = await caller.get("/readyz")
                assert (answer.status_code, answer.json()["status"]) == (200, "ready")
                assert answer.json()["checks"] == {"database": "ok", "queue": "it does not answer in time"}
                assert (await caller.get("/v1/runs")).status_code == 200


def counted(status: str) -> float:
    name = "evolve_http_requests_total"
    return REGISTRY.get_sample_value(name, {"operation": "create_webhook", "status": status}) or 0.0


async def test_a_client_that_hangs_up_is_no_fault_of_the_service(tmp_path: Path) -> None:
    before = {status: counted(status) for status in ("499", "500")}
    async with open_told(tmp_path) as told, served(told.app) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        with structlog.testing.capture_logs() as logs, socket.create_connection((host, int(port))) as caller:
            head = f"POST /v1/webhooks HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer {told.key()}\r\n"
            caller.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
            caller.shutdown(socket.SHUT_RDWR)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not [one for one in logs if one["event"] == "request.answered"]:  # noqa: ASYNC110 - a log
                    await asyncio.sleep(0.01)
    assert [one for one in logs if one["event"] == "request.failed"] == []
    assert {status: counted(status) - before[status] for status in before} == {"499": 1.0, "500": 0.0}
