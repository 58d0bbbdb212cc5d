"""The API for a command: that of a service, or one in this process over a database, for reading."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
from pydantic import SecretStr

from service.api.app import create_api
from service.api.one_time_login import OneTimeLogin
from service.bootstrap.api import open_parts
from service.bootstrap.storage import open_reader, refuse_missing
from service.client import AsyncClient
from service.client.login_session import log_in
from service.client.service_choice import SourceOptions, choose_service
from service.config import Settings, database_url
from service.db.readers import SharedReader
from service.net.retry import Backoff
from service.queue.memory import MemoryBroker
from service.timestamps import SystemClock

_INSIDE = "http://localhost"
_UNLIMITED = 1_000_000


@asynccontextmanager
async def open_reading(settings: Settings, where: SourceOptions) -> AsyncIterator[AsyncClient]:
    """A client of the API where runs are.

    Raises:
        NotFoundError: the database is a SQLite file that is not there.
        UsageError: the service or its key cannot be used.
    """
    if service := choose_service(settings, where, said=False):
        async with AsyncClient(service.url, service.key) as client:
            yield client
        return
    refuse_missing(database_url(settings, where.db))
    login = OneTimeLogin()
    with open_reader(settings, where.db) as reader:
        async with open_parts(
            _own(settings), where.db, broker=MemoryBroker(clock=SystemClock()), queue="", login=login
        ) as parts:
            # Whoever can open the database reads the runs of all tenants, as the other commands do.
            app = create_api(replace(parts, readers=SharedReader(reader)))
            async with app.router.lifespan_context(app):
                transport = httpx.ASGITransport(app=app)
                session = await log_in(transport, _INSIDE, login.token)
                async with AsyncClient(_INSIDE, session, transport=transport, backoff=Backoff(attempts=1)) as client:
                    yield client


def _own(settings: Settings) -> Settings:
    """Settings of an API that nobody else reaches: its secret ends with the process."""
    own = {"secret": SecretStr(secrets.token_urlsafe(48)), "requests_per_minute": _UNLIMITED}
    return settings.model_copy(update={"api": settings.api.model_copy(update=own)})
