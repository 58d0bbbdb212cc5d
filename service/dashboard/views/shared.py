"""The address of a share: it opens the run's pages, for reading, to whoever has it."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.client.address import Bearer
from service.dashboard.pages import PageRoute, failed, go_to
from service.dashboard.session import SESSION_COOKIE, SHARE_COOKIE, Api, SignedOutError, inside
from service.errors import NotFoundError, RefusedError

ADDRESS = "/shared/{}"
router = APIRouter(route_class=PageRoute, include_in_schema=False)
Token = Annotated[str, Path(pattern=r"^evs_[0-9A-Za-z]{1,100}$")]


@router.get(ADDRESS.format("{token}"))
async def open_share(request: Request, token: Token, api: Api) -> Response:
    """Show the run that was shared: to people who are signed in as themselves, to others as bearers of the share."""
    run_id = await _run_of(request, token)
    if not run_id:
        detail = "this address is not valid: it was revoked, has expired or is incomplete. Ask for another"
        return failed(request, 403, "The share has ended", detail)
    run = f"/runs/{run_id}"
    if SESSION_COOKIE in request.cookies:
        try:
            return go_to(run) if await _may_read(api, run_id) else _of_others(request)
        except SignedOutError:
            pass
    answer = go_to(run)
    secure = request.url.scheme == "https"
    answer.set_cookie(SHARE_COOKIE, token, path="/", httponly=True, samesite="lax", secure=secure)
    return answer


async def _run_of(request: Request, token: str) -> str:
    """The run that a share opens; empty: it opens none."""
    async with inside(request, Bearer(token)) as bearer:
        try:
            found = (await bearer.send(calls.list_runs(limit=1))).items
        except RefusedError:
            return ""
    return found[0].id if found else ""


async def _may_read(api: AsyncClient, run_id: str) -> bool:
    try:
        await api.send(calls.get_run(run_id))
    except SignedOutError:
        raise
    except (NotFoundError, RefusedError):
        return False
    return True


def _of_others(request: Request) -> Response:
    detail = "you are signed in with a key that does not read this run: sign out, and open the address again"
    return failed(request, 403, "This run is of others", detail)
