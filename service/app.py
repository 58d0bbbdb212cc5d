"""The one ASGI application: the API, and the dashboard at its front door."""

from fastapi import FastAPI

from service.api.app import create_api
from service.api.parts import Parts
from service.dashboard.app import add_dashboard


def create_app(parts: Parts) -> FastAPI:
    """The application over its parts."""
    app = create_api(parts)
    add_dashboard(app, parts.settings.public_url)
    return app
