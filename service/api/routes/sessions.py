"""Sessions of people at a browser."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from service import keys
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, limit_stranger, why_unknown
from service.api.error_responses import raises
from service.api.openapi_responses import EMPTY
from service.api.problem_errors import ApiFault
from service.api.sessions import close_session, open_session
from service.ports import Caller, Scope
from service.schemas.keys import SessionCreate
from service.schemas.problem_details import Code

router = APIRouter(tags=["sessions"], route_class=ApiRoute)

_REFUSED = raises((401, Code.UNAUTHENTICATED), (429, Code.RATE_LIMITED))


@router.get("/login", status_code=303, response_class=RedirectResponse, responses=_REFUSED, operation_id="log_in_once")
async def log_in_once(
    request: Request,
    parts: PartsDep,
    token: Annotated[str, Query(max_length=200, description="As the terminal of `evolve serve` shows it.")],
) -> Response:
    """Open a session with the one-time address that `evolve serve` prints."""
    await limit_stranger(request, parts)
    if parts.login is None or not parts.login.use(token):
        raise ApiFault(
            401, Code.UNAUTHENTICATED, "this address was used before: a restart of the service shows another"
        )
    response = RedirectResponse("/", status_code=303)
    open_session(request, response, parts, "", Scope)
    return response


@router.post("/v1/session", status_code=204, responses=EMPTY | _REFUSED, operation_id="create_session")
async def create_session(request: Request, body: SessionCreate, parts: PartsDep) -> Response:
    """Open a session with a key. It ends with the key, or after twelve hours."""
    await limit_stranger(request, parts)
    shown = body.key.get_secret_value()
    found = await run_in_threadpool(parts.keys.find, keys.digest(parts.signer, shown))
    if found is not None:
        request.state.caller = Caller(tenant=found.tenant, actor=found.id, scopes=frozenset(found.scopes))
    if found is None or not found.valid(parts.clock.now()):
        raise ApiFault(401, Code.UNAUTHENTICATED, await run_in_threadpool(why_unknown, parts, shown))
    response = Response(status_code=204)
    open_session(request, response, parts, keys.digest(parts.signer, shown), found.scopes)
    return response


@router.delete("/v1/session", status_code=204, responses=EMPTY, operation_id="delete_session")
def delete_session(request: Request, parts: PartsDep) -> Response:
    """End the session of this browser. Every copy of its cookie becomes invalid."""
    response = Response(status_code=204)
    close_session(request, response, parts)
    return response
