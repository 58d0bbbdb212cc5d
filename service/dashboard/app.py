"""Joins the dashboard to the application that answers it."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from service.dashboard import assets
from service.dashboard.pages import failed
from service.dashboard.views import ROUTERS
from service.dashboard.views.documentation import FOLDER

_MACHINES = ("/v1/", "/static/")


def add_dashboard(app: FastAPI, public_url: str = "", documentation: Path = FOLDER) -> None:
    """Add every page to an application, and a page for addresses where there is nothing.

    Args:
        app: the application.
        public_url: where people reach it; empty: where they ask for its pages.
        documentation: the folder of the documentation site, which need not be there.
    """
    app.state.documentation = documentation
    app.state.public_url = public_url
    app.include_router(assets.router)
    for router in ROUTERS:
        app.include_router(router)
    app.router.default = _Nowhere(app.router.default)


class _Nowhere:
    """Answers people who come where there is nothing; all others get the answer that they get anyway."""

    def __init__(self, otherwise: ASGIApp) -> None:
        self._otherwise = otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and scope["method"] == "GET" and not scope["path"].startswith(_MACHINES):
            request = Request(scope)
            if "text/html" in request.headers.get("accept", ""):
                page = failed(request, 404, "Not found", "there is no page at this address")
                await page(scope, receive, send)
                return
        await self._otherwise(scope, receive, send)
