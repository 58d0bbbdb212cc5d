"""The one ASGI application: the API, and the dashboard at its front door."""

from fastapi import FastAPI

from service.api.app import create_api
from service.api.dependencies import ApiDependencies
from service.dashboard.app import add_dashboard


def create_app(parts: ApiDependencies) -> FastAPI:
    """The application over its parts."""
    app = create_api(parts)
    add_dashboard(app, parts.settings.public_url)
    return app
