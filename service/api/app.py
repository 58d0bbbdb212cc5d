"""The application: routes, errors, what is around them, and the document that describes it."""

import asyncio
import difflib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from anyio import to_thread
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Lifespan

from evolve.version import __version__
from service.api import problem_errors
from service.api.auth import requires
from service.api.change_poller import ChangePoller
from service.api.connection_limits import OpenConnections
from service.api.dependencies import ApiDependencies
from service.api.error_responses import declare, errors_of
from service.api.event_feeds import FeedPages
from service.api.event_pages import EventPages
from service.api.event_poller import EventPoller
from service.api.methods import Methods
from service.api.middleware import Envelope
from service.api.route_table import RouteTable
from service.api.routes import (
    accounts,
    annotations,
    archives,
    bans,
    batches,
    candidates,
    changes,
    drawings,
    evaluations,
    events,
    exports,
    failures,
    flywheels,
    hints,
    insertions,
    insights,
    keys,
    policies,
    policy_registry,
    priorities,
    problems,
    program_map,
    proposals,
    run_settings,
    runs,
    series,
    sessions,
    statistics,
    system,
    training,
    votes,
    webhooks,
    workers,
)
from service.api.run_cache import RunCache
from service.api.shared_reads import MAX_READS_AT_ONCE, SharedReads
from service.errors import UsageError
from service.schemas.problem_details import ProblemDetails

ROUTERS = (
    accounts.router,
    annotations.router,
    archives.router,
    batches.router,
    evaluations.router,
    events.router,
    exports.router,
    failures.router,
    flywheels.router,
    bans.router,
    priorities.router,
    run_settings.router,
    changes.router,
    hints.router,
    insertions.router,
    insights.router,
    keys.router,
    policies.router,
    policy_registry.router,
    problems.router,
    program_map.router,
    candidates.router,
    drawings.router,
    proposals.router,
    runs.router,
    series.router,
    statistics.router,
    training.router,
    votes.router,
    sessions.router,
    system.router,
    webhooks.router,
    workers.router,
)
TAGS = {
    "runs": "Searches: submit, watch, steer.",
    "problems": "Inputs of searches: seeds, evaluator, objectives, limits.",
    "batches": "Many runs submitted together.",
    "annotations": "Notes, pins, saved filters and shares of runs.",
    "keys": "API keys and the audit log.",
    "accounts": "Usage and quotas of tenants.",
    "webhooks": "Addresses that get messages about runs.",
    "workers": "Processes that evaluate candidates.",
    "sessions": "Sign-in of browsers.",
    "events": "Events of runs, in pages and as streams.",
    "candidates": "Candidates of runs: sources, lineages, diffs, evaluations.",
    "proposals": "Prompts to policies, and their completions.",
    "archives": "Islands, fronts, grids and the best programs.",
    "metrics": "Progress, statistics and comparisons of runs.",
    "exports": "Downloads of runs.",
    "policies": "Models and other writers of programs.",
    "training": "Jobs that train versions of policies.",
    "evaluations": "For workers that cannot reach the queue.",
    "system": "Health, readiness and the meaning of errors.",
}
# Keys go in a header, and cookies never: a page of another origin has no session here.
CORS: dict[str, Any] = {
    "allow_methods": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    "allow_headers": [
        "Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID", "Prefer",
        "Range",
    ],
    "expose_headers": [
        "Content-Range", "ETag", "Idempotency-Replayed", "Location", "Preference-Applied", "RateLimit",
        "RateLimit-Policy", "Retry-After", "X-Request-ID",
    ],
    "allow_credentials": False,
    "max_age": 600,
}  # fmt: skip
DESCRIPTION = (
    "Evolutionary search over programs, driven by policies that answer with a set. Every error is"
    " `application/problem+json`. Lists have cursors. Every POST takes an `Idempotency-Key`."
)


def create_api(parts: ApiDependencies) -> FastAPI:
    """The API over its parts, as an ASGI application."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # More would only wait for the interpreter's one lock, and the slowest for all others.
        to_thread.current_default_thread_limiter().total_tokens = parts.settings.threads
        app.state.watch = EventPoller(parts.standings, parts.events_poll_seconds)
        slots, change_poller = (
            asyncio.Semaphore(MAX_READS_AT_ONCE),
            ChangePoller(parts.events_poll_seconds, parts.clock),
        )
        app.state.event_pages = EventPages(SharedReads(slots))
        app.state.feed_pages = FeedPages(change_poller, parts.clock, SharedReads(slots))
        app.state.run_cache = RunCache(parts.columns, max(1, parts.settings.threads // 2))
        app.state.opened = OpenConnections(parts.settings.streams, parts.settings.all_streams)
        try:
            yield
        finally:
            await app.state.watch.aclose()

    app = _described(lifespan)
    app.state.parts = parts
    problem_errors.install(app, _methods)
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=4)
    app.add_middleware(Methods, allowed=_methods)
    if parts.settings.cors_origins:
        app.add_middleware(CORSMiddleware, **CORS, allow_origins=parts.settings.cors_origins)
    app.add_middleware(Envelope, parts=parts)
    app.openapi = document  # type: ignore[method-assign] # as FastAPI's guide on extending OpenAPI does
    return app


def routes_of() -> list[APIRoute]:
    """Every route of the API."""
    return [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]


def refuse_unaudited(names: Iterable[str]) -> None:
    """Hold the setting api.unaudited to operations that there are.

    Raises:
        UsageError: one of these is none; the text names the nearest.
    """
    known = [str(route.operation_id) for route in routes_of()]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise UsageError(
                f"the setting api.unaudited has {name!r}, which is not an operation: the nearest known one is {near}"
            )


def _methods(path: str) -> set[str]:
    """The methods that an address takes; one that is written out is not one of those with a parameter in its place."""
    found = [route for route in routes_of() if route.path_regex.match(path)]
    exact = [route for route in found if route.path == path] or found
    methods = {method for route in exact for method in route.methods or ()}
    return methods | ({"OPTIONS", *({"HEAD"} if "GET" in methods else ())} if methods else set())


def door_of(route: APIRoute) -> requires | None:
    """What a route requires of its callers; None: it is open to everybody."""
    found = [one.call for one in route.dependant.dependencies if isinstance(one.call, requires)]
    return found[0] if found else None


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document; it depends on nothing but the code."""
    app = _described()
    return _complete(
        get_openapi(
            title=app.title,
            version=app.version,
            openapi_version=app.openapi_version,
            description=app.description,
            contact=app.contact,
            license_info=app.license_info,
            tags=app.openapi_tags,
            routes=routes_of(),
        ),
    )


def _described(lifespan: Lifespan[FastAPI] | None = None) -> FastAPI:
    app = FastAPI(
        title="Evolve",
        version=__version__,
        description=DESCRIPTION,
        contact={"name": "Evolve"},
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        openapi_tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        lifespan=lifespan,
        redirect_slashes=False,
        routes=[_table()],
        docs_url=None,
        redoc_url=None,
    )
    app.openapi_version = "3.1.0"  # what generators of clients read
    return app


@cache
def _table() -> RouteTable:
    """The routes of all applications of this process."""
    return RouteTable(routes_of())


def _complete(document: dict[str, Any]) -> dict[str, Any]:
    """Put in the one schema that routes only point to, and the scopes; take out what the declared errors replace."""
    components = document.setdefault("components", {})
    for route in routes_of():
        for method in route.methods or ():
            operation = document["paths"][route.path_format][method.lower()]
            operation["responses"].pop("422", None)
            declare(operation, errors_of(route), components)
            if door := door_of(route):
                operation["x-required-scopes"] = [str(one) for one in door.scopes]
    schemas = components["schemas"]
    details = ProblemDetails.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
    schemas |= details.pop("$defs", {})
    schemas[ProblemDetails.__name__] = details
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    return document
