"""The one ASGI application: the API, and what people see at its front door."""

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from evolve import __version__
from service.api.app import create_api
from service.api.parts import Parts

_WELCOME = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Evolve</title>
<h1>Evolve {__version__}</h1>
<p>This is the API of an Evolve service: <a href="/openapi.json">its document</a>, <a href="/readyz">its health</a>.</p>
<p>With a key: <code>curl -H "Authorization: Bearer evo_..." /v1/runs</code>, or <code>evolve --server</code>.</p>
"""


def create_app(parts: Parts) -> FastAPI:
    """The application over its parts."""
    app = create_api(parts)

    @app.get("/", include_in_schema=False, response_class=HTMLResponse)
    async def welcome() -> HTMLResponse:
        return HTMLResponse(_WELCOME)

    return app
