"""Sessions of people at a browser: a signed cookie, and a token that other sites' pages cannot know."""

import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from fastapi import Request
from fastapi.responses import Response

from service.api.auth import SESSION_COOKIE, csrf_token, session_of
from service.api.dependencies import ApiDependencies
from service.ports import Scope

SESSION_HOURS = 12
CSRF_COOKIE = "evolve_csrf"
# What pages offer. It decides nothing: every request is asked for its key or session.
SCOPES_COOKIE = "evolve_scopes"


def open_session(
    request: Request, response: Response, parts: ApiDependencies, key_hash: str, scopes: Iterable[Scope]
) -> None:
    """Set the cookies of a session.

    Args:
        request: asks for it; over https the cookies are for https only.
        response: gets the cookies.
        parts: sign them.
        key_hash: of the key that it stands for, with which it ends; empty: the operator's own, of a one-time login.
        scopes: what it may.
    """
    until = parts.clock.now() + timedelta(hours=SESSION_HOURS)
    session_id = f"ses_{secrets.token_hex(12)}"
    value = parts.signer.sign("session", {"id": session_id, "hash": key_hash, "until": until.timestamp()})
    _set(request, response, SESSION_COOKIE, value, until, hidden=True)
    _set(request, response, CSRF_COOKIE, csrf_token(parts, session_id), until, hidden=False)
    _set(request, response, SCOPES_COOKIE, ".".join(sorted(scopes)), until, hidden=True)


def close_session(request: Request, response: Response, parts: ApiDependencies) -> None:
    """Void the session of a browser, with all copies of its cookie, and take the cookies away."""
    value = session_of(request, parts)
    if value is not None:
        parts.sessions.end(value["id"], parts.clock.now(), datetime.fromtimestamp(value["until"], UTC))
    for name in (SESSION_COOKIE, CSRF_COOKIE, SCOPES_COOKIE):
        response.delete_cookie(name, path="/", samesite="lax")


def _set(request: Request, response: Response, name: str, value: str, until: datetime, *, hidden: bool) -> None:
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, expires=until, path="/", httponly=hidden, samesite="lax", secure=secure)
