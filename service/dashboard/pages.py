"""Pages: templates, the headers that they go out with, and errors as pages with a way on."""

import re
from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import structlog
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from evolve.errors import ConfigurationError, EvolveError
from evolve.version import __version__
from service.dashboard import assets
from service.dashboard.formatting import FILTERS
from service.dashboard.session import (
    CSRF_COOKIE,
    CSRF_FIELD,
    SCOPES_COOKIE,
    SESSION_COOKIE,
    SHARE_COOKIE,
    SignedOutError,
)
from service.errors import (
    ConflictError,
    InvalidProblemError,
    NotFoundError,
    QuotaError,
    RateLimitedError,
    RefusedError,
    ServiceError,
    StorageAwayError,
    UnreachableError,
    UsageError,
)
from service.schemas.validation_messages import message_of

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "frame-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
# The first class that an error belongs to decides.
STATUSES: tuple[tuple[type[Exception], int, str], ...] = (
    (NotFoundError, 404, "Not found"),
    (ConflictError, 409, "Not possible now"),
    (QuotaError, 429, "Quota used up"),
    (RefusedError, 403, "Refused"),
    (InvalidProblemError, 422, "The problem is invalid"),
    (ConfigurationError, 422, "The configuration is invalid"),
    (UsageError, 422, "The request cannot be read"),
    (RateLimitedError, 429, "Too many requests"),
    (StorageAwayError, 503, "Temporarily unavailable"),
    (UnreachableError, 503, "Temporarily unavailable"),
    (ServiceError, 500, "The service failed"),
    (EvolveError, 500, "The service failed"),
)
_IDS = re.compile(r"run_[0-9a-f-]{36}|cnd_[0-9a-f]{20}_[0-9]+_[0-9]+", re.ASCII)
log = structlog.get_logger(__name__)
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


@cache
def environment() -> Environment:
    """Where templates are rendered: everything is escaped, and a name that is not there is an error."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= FILTERS
    made.globals |= {"asset": assets.address, "version": __version__}
    return made


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page, or a part of one."""
    about = {
        "request": request,
        "path": request.url.path,
        "address": here(request),
        "signed_in": SESSION_COOKIE in request.cookies,
        "guest": is_guest(request),
        "may": lambda scope: may(request, scope),
        "csrf": request.cookies.get(CSRF_COOKIE, ""),
        "csrf_field": CSRF_FIELD,
        "part": is_part(request),
        "documented": (request.app.state.documentation / "index.html").is_file(),
    }
    text = environment().get_template(template).render(about | values)
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store", "Vary": "HX-Request"}
    headers["Referrer-Policy"] = "same-origin"  # a form whose session has ended is gone back to
    return HTMLResponse(text.encode("utf-8", "backslashreplace"), status, headers)


def is_guest(request: Request) -> bool:
    """Whether somebody looks with nothing but a share: nothing is offered to them that changes anything."""
    return SESSION_COOKIE not in request.cookies and SHARE_COOKIE in request.cookies


def may(request: Request, scope: str) -> bool:
    """Whether something is offered to whoever looks; the API decides, and a session from before it was told has all."""
    if is_guest(request):
        return False
    told = request.cookies.get(SCOPES_COOKIE)
    return told is None or scope in told.split(".")


def is_part(request: Request) -> bool:
    """Whether a page asks for a part of itself, not a person for a page."""
    return request.headers.get("HX-Request") == "true"


def here(request: Request) -> str:
    """The address of a page as it stands in a link: without host."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def go_to(address: str) -> RedirectResponse:
    """Send the browser to a page after a form was taken."""
    return RedirectResponse(address, status_code=303)


def public_address(request: Request, place: str) -> str:
    """The whole address of a page, to hand on to others: a proxy may stand between them and what answers here."""
    base = request.app.state.public_url or str(request.base_url)
    return f"{base.rstrip('/')}{place}"


def sign_in_address(back: str) -> str:
    """Where somebody signs in who then goes back."""
    return f"/sign-in?next={quote(back, safe='')}"


class PageRoute(APIRoute):
    """A route whose errors are pages."""

    def get_route_handler(self) -> Handler:
        """The handler of the route, with its errors told to people."""
        handle = super().get_route_handler()

        async def told(request: Request) -> Response:
            try:
                return await handle(request)
            except SignedOutError:
                return _signed_out(request)
            except RequestValidationError as error:
                first = error.errors()[0]
                detail = f"{'.'.join(str(part) for part in first['loc'][1:])}: {message_of(first)}"
                return failed(request, 422, "The address cannot be read", detail)
            except (ServiceError, EvolveError) as error:
                return failure(request, error)

        return told


def failure(request: Request, error: Exception) -> Response:
    """The page of an error of ours."""
    status, title = next((status, title) for kind, status, title in STATUSES if isinstance(error, kind))
    if status == 500:
        log.error("page.failed", page=getattr(request.scope.get("route"), "path", ""), error=repr(error))
    if "begins several ids" in str(error) and (named := _IDS.findall(str(error))):
        return failed(request, status, "Which one?", str(error), named=named)
    return failed(request, status, title, str(error))


def failed(request: Request, status: int, title: str, detail: str, **values: Any) -> Response:
    """A page that says what is wrong and offers a way on."""
    trace = getattr(request.state, "request_id", "")
    about = {"title": title, "detail": detail, "trace": trace, "named": (), **values}
    return render(request, "failure.html", status, **about)


def _signed_out(request: Request) -> Response:
    if is_guest(request):
        return _share_ended(request)
    back = here(request) if request.method == "GET" and not is_part(request) else came_from(request)
    if is_part(request):
        return Response(status_code=401, headers={"HX-Redirect": sign_in_address(back)})
    if request.method == "GET":
        return RedirectResponse(sign_in_address(back), status_code=303)
    return render(request, "sign_in.html", 401, back=back, complaint="The session has ended: sign in to continue.")


def came_from(request: Request) -> str:
    """The page that a form or a part was sent from, without host: to go back to."""
    try:
        page = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return "/runs"
    return (page.path or "/runs") + (f"?{page.query}" if page.query else "")


def _share_ended(request: Request) -> Response:
    if is_part(request):
        return Response(status_code=401, headers={"HX-Refresh": "true"})
    if request.method != "GET":
        return failed(request, 403, "Refused", "a share is read-only: sign in with a key")
    detail = "the address that you opened was revoked or has expired: ask for another, or sign in with a key"
    answer = failed(request, 403, "The share has ended", detail, guest=False)
    answer.delete_cookie(SHARE_COOKIE, path="/", samesite="lax")
    return answer
