"""An API over real stores on SQLite, with runs that are told in events."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr

from service import keys
from service.api.app import create_api
from service.api.dependencies import ApiDependencies
from service.bootstrap.api import open_parts
from service.config import ApiSettings, DatabaseSettings, PoliciesSettings, Settings
from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from service.ports import KeyRecord, LoggedEvent, NewRun, Scope
from tests.api.documented import Documented
from tests.contract.story import RUN, START, FixedClock, Story, new_run
from tests.databases import sqlite_file

SECRET = "of tests, and of nobody else in the world"
Client = httpx.AsyncClient


@dataclass(frozen=True, kw_only=True)
class Told:
    """An API, its parts, and the one writer of its runs."""

    app: FastAPI
    parts: ApiDependencies
    database: Database
    log: SqlRunLog
    fences: dict[str, int]

    def key(self, *scopes: Scope, tenant: str = "default") -> str:
        """A new key; without scopes with all of them."""
        minted = keys.mint(self.parts.signer)
        record = KeyRecord(
            id=f"key_{secrets.token_hex(8)}",
            tenant=tenant,
            name="test",
            shown=minted.shown,
            scopes=scopes or tuple(Scope),
            created_at=START,
            created_by="test",
        )
        self.parts.keys.add(record, minted.hash)
        return minted.text

    def create(self, run: NewRun) -> None:
        """Store a run that this process drives."""
        self.log.create(run)
        self.fences[run.id] = self.log.take(run.id, "test", 3600.0)

    def append(self, events: Sequence[LoggedEvent]) -> None:
        """Commit events of one run."""
        run_id = events[0].run_id
        self.log.append(run_id, self.fences[run_id], events)

    def client(self, *scopes: Scope, tenant: str = "default") -> Client:
        """A client in this process with a key of its own."""
        return Client(
            transport=httpx.ASGITransport(self.app),
            base_url="http://api",
            headers=bearer(self.key(*scopes, tenant=tenant)),
        )


def bearer(key: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {key}"}


@asynccontextmanager
async def open_told(
    folder: Path,
    change: Callable[[ApiDependencies], ApiDependencies] = lambda parts: parts,
    *,
    policies: Path | None = None,
    **api: Any,
) -> AsyncIterator[Told]:
    """An API over an empty database; `api` are further settings of the group, `change` has other parts.

    Args:
        policies: the operator's file of them.
    """
    url = sqlite_file(folder / "evolve.db")
    settings = Settings(
        database=DatabaseSettings(url=SecretStr(url)),
        api=ApiSettings(**{"secret": SecretStr(SECRET), "requests_per_minute": 100_000} | api),
        policies=PoliciesSettings(file=policies),
    )
    database = open_database(url)
    async with open_parts(settings) as opened:
        parts = change(opened)
        app = create_api(parts)
        app.add_middleware(Documented)
        async with _living(app):
            yield Told(app=app, parts=parts, database=database, log=SqlRunLog(database, FixedClock()), fences={})
    database.close()


def _living(app: FastAPI) -> AbstractAsyncContextManager[object]:
    return app.router.lifespan_context(app)


def small_run(told: Told, run_id: str = RUN, **changes: object) -> Story:
    """A seed, two children of it, a grandchild that failed, and a repetition of the first child."""
    told.create(new_run(run_id, **changes))
    story = Story(run_id)
    seed = story.id(0)
    told.append([
        *story.seed(1.0),
        *story.child(1, seed, 2.0),
        *story.child(2, seed, 3.0),
        *story.child(3, story.id(1), None),
    ])  # fmt: skip
    return story


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[str]:
    """The address of a real server on loopback, whose application lives already."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 -- the server has no event for it
        await asyncio.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        await task
