"""Who looks: signing in with a key, signing out, and the way in."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from service.dashboard.pages import PageRoute, go_to, render
from service.dashboard.session import FormDep, close_session, open_session
from service.errors import RateLimitedError, RefusedError

FIRST = "/runs"
router = APIRouter(route_class=PageRoute, include_in_schema=False)
Back = Annotated[str, Query(alias="next", max_length=4000)]


def within(address: str) -> str:
    """An address of this dashboard; one that leads elsewhere becomes that of the first page."""
    inner = address.startswith("/") and not address.startswith("//") and address.isprintable()
    return address if inner and "\\" not in address else FIRST


def _of_this_site(request: Request) -> None:
    """Let nobody be signed in or out by a form of another site; there is no session yet whose token could show it."""
    if request.headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}:
        raise RefusedError("this form came from another site: open the page here and try again")


@router.get("/")
async def enter() -> Response:
    """Lead to the first page."""
    return go_to(FIRST)


@router.get("/sign-in")
async def ask_who(request: Request, back: Back = FIRST) -> Response:
    """Ask for a key."""
    return render(request, "sign_in.html", back=within(back), complaint="")


@router.post("/sign-in")
async def sign_in(request: Request, form: FormDep) -> Response:
    """Open a session with a key, and go back to where the browser came from."""
    _of_this_site(request)
    back = within(form.get("next", FIRST))
    try:
        cookies = await open_session(request, form.get("key", "").strip())
    except (RefusedError, RateLimitedError) as error:
        status = 429 if isinstance(error, RateLimitedError) else 403
        return render(request, "sign_in.html", status, back=back, complaint=str(error))
    return _with(go_to(back), cookies)


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session of this browser."""
    _of_this_site(request)
    return _with(go_to("/sign-in"), await close_session(request))


def _with(response: Response, cookies: Sequence[str]) -> Response:
    for cookie in cookies:
        response.headers.append("set-cookie", cookie)
    return response
