"""Somebody at a browser, without one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from service.dashboard.app import add_dashboard
from service.ports import Scope
from tests.api.told import Told


@asynccontextmanager
async def visitor(told: Told, *scopes: Scope) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who signed in with a key of these scopes, none: all of them, and who waits for whole pages."""
    add_dashboard(told.app, told.parts.settings.public_url)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(told.app), base_url="http://localhost") as client:
        answer = await client.post("/sign-in", data={"key": told.key(*scopes), "next": "/runs"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/runs")
        client.headers["X-Evolve-Wait"] = "1"  # however busy the machine of the tests is
        yield client
