"""Health, readiness, and what errors mean."""

import asyncio
from typing import Annotated, Literal

import structlog
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from evolve.version import __version__
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, limit_stranger
from service.api.error_responses import raises
from service.api.problem_errors import ApiFault
from service.errors import NotFoundError, ServiceError, StorageAwayError, UnreachableError
from service.schemas.problem_details import MEANINGS, Code
from service.schemas.system import CodePage, Health, Identity, Readiness

router = APIRouter(tags=["system"], route_class=ApiRoute)
CHECK_SECONDS = 3.0

Challenge = Annotated[str, Query(pattern=r"^[0-9a-f]{64}$", description="Chosen anew for each proof: 64 hex digits.")]

log = structlog.get_logger(__name__)


@router.get("/healthz", response_model=Health, operation_id="get_health")
async def get_health() -> Health:
    """Report that the process is alive."""
    return Health(status="ok", version=__version__)


@router.get(
    "/readyz",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "The database does not answer, or is at another revision."}},
    operation_id="get_readiness",
)
async def get_readiness(parts: PartsDep) -> Response:
    """Report whether requests can be answered, and the state of everything that the service uses."""
    names = list(parts.checks)
    found = await asyncio.gather(*(_check(parts, name) for name in names))
    failures = {name: why for name, why in zip(names, found, strict=True) if why}
    ready = parts.needed.isdisjoint(failures)
    status: Literal["ready", "not_ready"] = "ready" if ready else "not_ready"
    body = Readiness(status=status, checks={name: failures.get(name, "ok") for name in names})
    return JSONResponse(body.model_dump(), 200 if ready else 503)


@router.get(
    "/identity",
    response_model=Identity,
    responses=raises(NotFoundError, (429, Code.RATE_LIMITED)),
    operation_id="get_identity",
)
async def get_identity(request: Request, parts: PartsDep, challenge: Challenge) -> Identity:
    """Prove the identity of this service to a command of the same user, without showing the key."""
    await limit_stranger(request, parts)
    if parts.local_key is None:
        raise NotFoundError("this service is not found by commands: name it with --server and a key of it")
    return Identity(proof=parts.local_key.prove(challenge))


@router.get("/problems/{code}", response_model=CodePage, operation_id="get_error_code")
async def get_error_code(code: str = Path(max_length=100, description="Code of an error.")) -> CodePage:
    """Explain an error code. The `type` of an error is this path."""
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
