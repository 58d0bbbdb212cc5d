"""Health, readiness, and what errors mean."""

import asyncio
from typing import Literal

import structlog
from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse, Response

from evolve import __version__
from service.api.access import PartsDep
from service.api.faults import ApiFault
from service.errors import ServiceError, StorageAwayError, UnreachableError
from service.schemas.problem_details import Code
from service.schemas.system import CodePage, Health, Readiness

router = APIRouter(tags=["system"])
CHECK_SECONDS = 3.0

log = structlog.get_logger(__name__)

MEANINGS: dict[Code, str] = {
    Code.INVALID_REQUEST: "The request does not fit the document of the API; `errors` names each place.",
    Code.INVALID_CURSOR: "The cursor was changed, or belongs to another list or other filters: begin without one.",
    Code.INVALID_CONFIGURATION: "A key of the run configuration is unknown, or its value is off.",
    Code.PROBLEM_INVALID: "The problem cannot be searched on; `errors` holds every complaint.",
    Code.UNAUTHENTICATED: "No key was shown, or one that is unknown, revoked or expired.",
    Code.FORBIDDEN: "The key is valid and does not allow this: it lacks a scope, or is of another tenant.",
    Code.REFUSED: "Configuration or safety of this service does not allow it.",
    Code.QUOTA_EXCEEDED: "The tenant has used up what it may: wait, or ask the operator.",
    Code.NOT_FOUND: "There is no such thing, or it is another tenant's.",
    Code.METHOD_NOT_ALLOWED: "The address does not take that method; `Allow` lists those that it takes.",
    Code.CONFLICT: "The state of the thing does not allow it; `detail` names the state.",
    Code.IN_PROGRESS: "The first request with this Idempotency-Key is still at work: try again in a moment.",
    Code.KEY_REUSED: "The Idempotency-Key came with another request before: make a new one for a new request.",
    Code.STALE: "The thing was changed since it was read: read it again and decide anew.",
    Code.RANGE_INVALID: "The range that was asked for is not in the artifact.",
    Code.TOO_LARGE: "The body, or what it holds, is larger than the service takes.",
    Code.UNSUPPORTED_MEDIA_TYPE: "The body is of a kind that this address does not take.",
    Code.RATE_LIMITED: "Too many requests in a short time: wait as long as `Retry-After` says.",
    Code.UNAVAILABLE: "Database, queue or policy do not answer: try again as `Retry-After` says; nothing is lost.",
    Code.INTERNAL: "A fault of the service; its log has the trace under `trace_id`.",
}


@router.get("/healthz", response_model=Health, operation_id="get_health")
async def get_health() -> Health:
    """Say that the process lives."""
    return Health(status="ok", version=__version__)


@router.get(
    "/readyz",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "The database does not answer, or is at another revision."}},
    operation_id="get_readiness",
)
async def get_readiness(parts: PartsDep) -> Response:
    """Say whether requests can be answered, and how everything else fares that the service uses."""
    names = list(parts.checks)
    found = await asyncio.gather(*(_check(parts, name) for name in names))
    failures = {name: why for name, why in zip(names, found, strict=True) if why}
    ready = parts.needed.isdisjoint(failures)
    status: Literal["ready", "not_ready"] = "ready" if ready else "not_ready"
    body = Readiness(status=status, checks={name: failures.get(name, "ok") for name in names})
    return JSONResponse(body.model_dump(), 200 if ready else 503)


@router.get("/problems/{code}", response_model=CodePage, operation_id="get_error_code")
async def get_error_code(code: str = Path(max_length=100, description="Code of an error.")) -> CodePage:
    """Explain a code of an error: what `type` of an error leads to."""
    try:
        known = Code(code)
    except ValueError:
        raise ApiFault(404, Code.NOT_FOUND, f"there is no code {code[:60]!r}: all are in /openapi.json") from None
    return CodePage(code=known, meaning=MEANINGS[known])


async def _check(parts: PartsDep, name: str) -> str:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await parts.checks[name]()
    except TimeoutError:
        return "it does not answer in time"
    except (StorageAwayError, UnreachableError) as error:
        log.warning("readiness.away", part=name, reason=str(error))
        return "it does not answer"
    except ServiceError as error:  # which may name what is nobody's business here
        log.warning("readiness.failed", part=name, reason=str(error))
        return "it cannot be served from: the log of the service says why"
    return ""
