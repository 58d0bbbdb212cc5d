"""The door: who makes a request, and whether they may."""

import hmac
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials
from starlette.concurrency import run_in_threadpool

from service import keys
from service.api.dependencies import ApiDependencies
from service.api.problem_errors import ApiFault
from service.ports import DEFAULT_TENANT, Allowance, Caller, Scope
from service.schemas.problem_details import Code, Fault

SESSION_COOKIE, SHARE_COOKIE, CSRF_HEADER = "evolve_session", "evolve_share", "X-CSRF-Token"
SHARED = frozenset({Scope.RUNS_READ, Scope.PROGRAMS_READ})
_UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="evolve"'}

bearer = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    description="`Authorization: Bearer evo_...`: an API key, or a share's token.",
)


async def parts_of(request: Request) -> ApiDependencies:
    """The parts that the application stands on; not in a thread, which takes longer to reach."""
    parts = request.app.state.parts
    assert isinstance(parts, ApiDependencies)
    return parts


PartsDep = Annotated[ApiDependencies, Depends(parts_of)]
Shown = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]


class requires:  # noqa: N801 - reads as the verb that it stands for in a route
    """A dependency that lets callers in who have all of some scopes.

    Args:
        scopes: what is needed.
        operator: whether only keys of the operator's own tenant may: what is asked for concerns all tenants.
        limited: whether the call is counted against the key's limit; those of workers are not.
        shared: whether the bearer of a share may: what is told is of the caller's run and no more.
    """

    def __init__(self, *scopes: Scope, operator: bool = False, limited: bool = True, shared: bool = False) -> None:
        self.scopes, self.operator, self.limited, self.shared = scopes, operator, limited, shared

    async def __call__(self, request: Request, parts: PartsDep, shown: Shown) -> Caller:
        """Who makes the request.

        Raises:
            ApiFault: nobody known, one who may not, or one who asks too often.
        """
        found = await identify(request, parts, shown)
        request.state.caller = found
        _check_parameters(request)
        if self.limited:
            await limit(request, parts, found.actor)
        lacking = [scope for scope in self.scopes if scope not in found.scopes]
        if lacking:
            raise missing(lacking[0])
        if found.run_id and not self.shared:
            raise ApiFault(403, Code.FORBIDDEN, "a share opens one run and nothing beside it: use a key")
        if self.operator and found.tenant != DEFAULT_TENANT:
            raise ApiFault(403, Code.FORBIDDEN, f"only keys of tenant {DEFAULT_TENANT} may do this: use one of them")
        return found


def missing(scope: Scope) -> ApiFault:
    """What somebody is told whose key does not reach so far."""
    return ApiFault(403, Code.FORBIDDEN, f"the key lacks the scope {scope}: use one that has it")


def queries_of(route: APIRoute) -> frozenset[str]:
    """Names of the query parameters that a route takes."""
    return frozenset(_queries(route.dependant))


def _queries(dependant: Dependant) -> Iterator[str]:
    yield from (str(field.alias) for field in dependant.query_params)
    for below in dependant.dependencies:
        yield from _queries(below)


def _check_parameters(request: Request) -> None:
    """Refuse parameters that would be passed over: one that is misspelt, and all but the last of one that is repeated.

    No route takes a list as a repeated parameter: several values of one are separated by commas.
    """
    if not request.query_params:
        return
    known = queries_of(request.scope["route"])
    for name in request.query_params:
        if name not in known:
            detail = f"there is no parameter {name[:60]!a} here: {', '.join(sorted(known)) or 'there are none'}"
            raise _refused(name, "unknown", detail)
        if (count := len(request.query_params.getlist(name))) > 1:
            raise _refused(name, "repeated", f"the parameter {name!a} is given {count} times: give it once")


def _refused(name: str, code: str, detail: str) -> ApiFault:
    fault = Fault(pointer=name.encode("utf-8", "replace").decode()[:200], code=code, detail=detail)
    return ApiFault(422, Code.INVALID_REQUEST, detail, errors=[fault])


async def identify(request: Request, parts: ApiDependencies, shown: HTTPAuthorizationCredentials | None) -> Caller:
    """Who makes a request: the bearer of a key or a share, or somebody with a session or a share at a browser."""
    found = await run_in_threadpool(_found, request, parts, shown)
    if found is None:
        await limit_stranger(request, parts)
        detail = "show a valid key: Authorization: Bearer evo_..."
        if shown is not None:
            detail = await run_in_threadpool(why_unknown, parts, shown.credentials)
        raise ApiFault(401, Code.UNAUTHENTICATED, detail, headers=_CHALLENGE)
    return found


def why_unknown(parts: ApiDependencies, text: str) -> str:
    """Why a key opens nothing, in one sentence; who was not limited before may not ask."""
    if not keys.well_formed(text) or parts.keys.find(keys.digest(parts.signer, text)) is not None:
        return keys.UNKNOWN
    return keys.FOREIGN if parts.keys.has_beginning(keys.beginning(text)) else keys.UNKNOWN


def known(request: Request, parts: ApiDependencies) -> bool:
    """Whether a request shows a valid key or session; shares are none, and what it may do is not asked."""
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        found = _by_token(parts, shown.strip(), parts.clock.now())
        return found is not None and not found.run_id
    return session_of(request, parts) is not None


def session_of(request: Request, parts: ApiDependencies) -> Mapping[str, Any] | None:
    """What the cookie of a session holds; None: there is none, it is another's, over, or was signed out of."""
    value = parts.signer.open("session", request.cookies.get(SESSION_COOKIE, ""))
    if value is None or parts.clock.now().timestamp() >= value["until"] or parts.sessions.ended(value["id"]):
        return None
    return value


async def known_still(request: Request, parts: ApiDependencies) -> bool:
    """Whether whoever made a request may still make it; nothing is counted."""
    return await run_in_threadpool(_found, request, parts, await bearer(request)) is not None


def _found(request: Request, parts: ApiDependencies, shown: HTTPAuthorizationCredentials | None) -> Caller | None:
    now = parts.clock.now()
    if shown is not None:
        return _by_token(parts, shown.credentials, now)
    return _by_session(request, parts, now) or _by_share(request, parts, now)


def _by_token(parts: ApiDependencies, text: str, now: datetime) -> Caller | None:
    if not keys.well_formed(text):
        return None
    if parts.local_key is not None and (own := parts.local_key.caller(text)) is not None:
        return own
    found = keys.digest(parts.signer, text)
    if text.startswith(f"{keys.SHARE}_"):
        share = parts.shares.find(found)
        if share is None or share.revoked_at is not None or (share.expires_at is not None and now >= share.expires_at):
            return None
        return Caller(tenant=share.tenant, actor=share.id, scopes=SHARED, run_id=share.run_id)
    key = parts.keys.find(found)
    if key is None or not key.valid(now):
        return None
    if not key.used_lately(now):
        parts.keys.used(key.id, now)
    return Caller(tenant=key.tenant, actor=key.id, name=key.name, scopes=frozenset(key.scopes))


def _by_session(request: Request, parts: ApiDependencies, now: datetime) -> Caller | None:
    value = session_of(request, parts)
    if value is None:
        return None
    key = parts.keys.find(value["hash"]) if value["hash"] else None
    if value["hash"] and (key is None or not key.valid(now)):
        return None
    if key is None:
        caller = Caller(tenant=DEFAULT_TENANT, actor=value["id"], scopes=frozenset(Scope))
    else:
        caller = Caller(tenant=key.tenant, actor=value["id"], name=key.name, scopes=frozenset(key.scopes))
    if request.method in _UNSAFE:
        request.state.caller = caller  # who is refused stands in the audit too
        shown, right = request.headers.get(CSRF_HEADER, ""), csrf_token(parts, str(value["id"]))
        if not hmac.compare_digest(shown.encode(), right.encode()):
            raise ApiFault(403, Code.FORBIDDEN, f"the header {CSRF_HEADER} is missing or another's: reload the page")
    return caller


def _by_share(request: Request, parts: ApiDependencies, now: datetime) -> Caller | None:
    """Somebody whose browser opened the address of a share: they look, and a key in that cookie would be no key."""
    token = request.cookies.get(SHARE_COOKIE, "")
    if request.method in _UNSAFE or not token.startswith(f"{keys.SHARE}_"):
        return None
    return _by_token(parts, token, now)


def csrf_token(parts: ApiDependencies, session_id: str) -> str:
    """What unsafe requests of a session must carry, which pages of other sites cannot know."""
    return parts.signer.digest("csrf", session_id)


async def limit_stranger(request: Request, parts: ApiDependencies) -> None:
    """Count a call of somebody unknown against the address that it comes from.

    Raises:
        ApiFault: too many come from there.
    """
    await limit(request, parts, f"address:{request.client.host if request.client else ''}")


async def limit(request: Request, parts: ApiDependencies, name: str) -> None:
    """Count a call.

    Raises:
        ApiFault: there were too many of late.
    """
    allowance = await parts.limiter.take(name)
    request.state.allowance = allowance
    if allowance.retry_after_seconds > 0:
        seconds = max(1, round(allowance.retry_after_seconds + 0.5))
        raise ApiFault(
            429,
            Code.RATE_LIMITED,
            f"more than {allowance.limit} requests a minute: wait {seconds} s",
            headers={"Retry-After": str(seconds), **limit_headers(allowance)},
        )


def limit_headers(allowance: Allowance) -> dict[str, str]:
    """The RateLimit fields of draft-ietf-httpapi-ratelimit-headers-11."""
    return {
        "RateLimit-Policy": f'"key";q={allowance.limit};w=60',
        "RateLimit": f'"key";r={allowance.remaining};t={max(0, round(allowance.reset_seconds))}',
    }
