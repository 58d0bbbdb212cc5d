"""A server that stops while requests wait for something silent: who waits is told, and the log has no traces."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import pytest
import structlog
import uvicorn
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from service.api import http_server
from service.api.connection_limits import end_waits
from service.api.middleware import Envelope
from service.config import ApiSettings
from service.net.listening import Address, listening
from service.ports import AuditEntry
from tests.api.told import bearer, open_told
from tests.patience import PATIENCE_SECONDS


class Silent:
    """An application that answers nothing, or begins to. `asked` is set when it was asked."""

    def __init__(self, *, begins: bool) -> None:
        self.asked = asyncio.Event()
        self._begins = begins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        self.asked.set()
        await asyncio.Event().wait()


class SilentAudit:
    """An audit that is written to a database which does not answer before the end of the test."""

    def __init__(self) -> None:
        self.asked, self.spoken = threading.Event(), threading.Event()

    def write(self, entry: AuditEntry) -> None:
        self.asked.set()
        self.spoken.wait(PATIENCE_SECONDS)

    def entries(self, tenant: str, before: str = "", limit: int = 50) -> list[AuditEntry]:
        raise AssertionError("nobody reads it")


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[tuple[httpx.AsyncClient, uvicorn.Server]]:
    """A server of an application as the service has it, and a client of it."""
    with listening(Address(host="127.0.0.1", port=0)) as (listener, heard):
        server = http_server.http_server(app, ApiSettings(), partial(end_waits, app))
        server.config.lifespan = "off"
        task = asyncio.create_task(server.serve([listener]))
        try:
            async with httpx.AsyncClient(base_url=heard.url, timeout=PATIENCE_SECONDS) as client:
                yield client, server
        finally:
            server.should_exit = True
            await task


@asynccontextmanager
async def enveloped(folder: Path, silent: Silent) -> AsyncIterator[tuple[httpx.AsyncClient, uvicorn.Server]]:
    async with open_told(folder) as told:
        app = FastAPI()
        app.state.opened, app.state.watch = told.app.state.opened, told.app.state.watch
        app.add_middleware(Envelope, parts=told.parts)
        app.mount("/", silent)
        async with serving(app) as served:
            yield served


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(http_server, "DRAIN_SECONDS", 1)
    caplog.set_level(logging.INFO)
    return caplog


async def test_a_request_without_an_answer_is_told(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    silent = Silent(begins=False)
    async with enveloped(tmp_path, silent) as (client, server):
        waiting = asyncio.create_task(client.get("/"))
        await silent.asked.wait()
        server.should_exit = True
        answer = await waiting
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (503, "unavailable", "5")
    assert answer.json()["detail"] == "the service stops before it has an answer: try again as Retry-After says"
    assert [record for record in log.records if record.exc_info] == []


async def test_an_answer_that_has_begun_is_cut_off(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    silent = Silent(begins=True)
    async with enveloped(tmp_path, silent) as (client, server), client.stream("GET", "/") as response:
        await silent.asked.wait()
        server.should_exit = True
        with pytest.raises(httpx.RemoteProtocolError):
            await response.aread()
    assert [record for record in log.records if record.exc_info] == []


async def test_a_line_of_the_audit_that_is_lost_is_logged(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    audit = SilentAudit()
    async with open_told(tmp_path, lambda parts: replace(parts, audit=audit)) as told:
        with structlog.testing.capture_logs() as logs:
            async with serving(told.app) as (client, server):
                answer = await client.delete("/v1/webhooks/none", headers=bearer(told.key()))
                assert await asyncio.to_thread(audit.asked.wait, PATIENCE_SECONDS)
                server.should_exit = True
            audit.spoken.set()
    (entry,) = [one for one in logs if one["event"] == "audit.failed"]
    assert (entry["reason"], entry["request_id"]) == ("the service stopped", answer.headers["X-Request-ID"])
    assert [record for record in log.records if record.exc_info] == []
