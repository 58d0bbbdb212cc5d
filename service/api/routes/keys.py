"""Keys, and what was done with them."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response

from service import keys
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.idempotency import OnceDep, made
from service.api.openapi_responses import LOCATION, REPLAY_HEADER
from service.api.pagination import DEFAULT_LIMIT, Cursor, Limit, Paging
from service.api.problem_errors import ApiFault
from service.identifiers import new_id
from service.ports import DEFAULT_TENANT, Caller, KeyRecord, Scope
from service.schemas.keys import ApiKey, AuditLine, AuditPage, KeyCreate, KeyPage, NewApiKey
from service.schemas.problem_details import Code

router = APIRouter(prefix="/v1", tags=["keys"], route_class=ApiRoute)

Managing = Annotated[Caller, Depends(requires(Scope.KEYS_MANAGE))]
KeyId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Id of a key.")]
_MADE: dict[int | str, dict[str, Any]] = {201: {"model": NewApiKey, "headers": LOCATION | REPLAY_HEADER}}


@router.post("/api-keys", status_code=201, response_model=NewApiKey, responses=_MADE, operation_id="create_key")
def create_key(body: KeyCreate, caller: Managing, parts: PartsDep, once: OnceDep) -> Response:
    """Create a key. It cannot have more scopes than the key that creates it. Only this answer shows it."""
    tenant = body.tenant or caller.tenant
    if tenant != caller.tenant and not _operates(caller):
        raise ApiFault(
            403, Code.FORBIDDEN, "keys of other tenants are made with a key of the operator that may operate"
        )
    if beyond := set(body.scopes) - caller.scopes:
        raise ApiFault(403, Code.FORBIDDEN, f"the key at hand lacks the scope {min(beyond)}: it cannot give it")
    now = parts.clock.now()
    if body.expires_at is not None and body.expires_at <= now:
        raise ApiFault(422, Code.INVALID_REQUEST, "expires_at lies in the past: name a time to come")

    def effect() -> Response:
        minted = keys.mint(parts.signer)
        record = KeyRecord(
            id=new_id("key", now),
            tenant=tenant,
            name=body.name,
            shown=minted.shown,
            scopes=tuple(dict.fromkeys(body.scopes)),
            created_at=now,
            created_by=caller.actor,
            expires_at=body.expires_at,
        )
        parts.keys.add(record, minted.hash)
        shown = NewApiKey(**_fields(record), key=minted.text)
        return made(shown, 201, {"Location": f"/v1/api-keys/{record.id}"})

    return once(effect, unstored="key")


@router.get("/api-keys", response_model=KeyPage, operation_id="list_keys")
def list_keys(caller: Managing, parts: PartsDep, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = "") -> KeyPage:
    """List keys, oldest first, without their secret text."""
    paging = Paging(parts.signer, cursor, limit, {"list": "keys", "tenant": caller.tenant})
    rows, following = paging.cut(
        parts.keys.keys(caller.tenant, paging.after or "", paging.limit + 1), lambda row: row.id
    )
    return KeyPage(items=[ApiKey(**_fields(row)) for row in rows], next_cursor=following)


@router.delete("/api-keys/{key_id}", response_model=ApiKey, operation_id="revoke_key")
def revoke_key(key_id: KeyId, caller: Managing, parts: PartsDep) -> ApiKey:
    """Revoke a key permanently. Repeating has no effect. Whoever may make keys of other tenants may revoke them."""
    tenant = None if _operates(caller) else caller.tenant
    return ApiKey(**_fields(parts.keys.revoke(tenant, key_id, parts.clock.now())))


@router.get("/audit", response_model=AuditPage, operation_id="list_audit")
def list_audit(caller: Managing, parts: PartsDep, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = "") -> AuditPage:
    """List the audit log: requests and refusals with their actors, newest first."""
    paging = Paging(parts.signer, cursor, limit, {"list": "audit", "tenant": caller.tenant})
    found = parts.audit.entries(caller.tenant, paging.after or "", paging.limit + 1)
    rows, following = paging.cut(found, lambda row: row.id)
    lines = [AuditLine(**{name: getattr(row, name) for name in AuditLine.model_fields}) for row in rows]
    return AuditPage(items=lines, next_cursor=following)


def _operates(caller: Caller) -> bool:
    return caller.tenant == DEFAULT_TENANT and Scope.OPERATE in caller.scopes


def _fields(record: KeyRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in ApiKey.model_fields} | {"scopes": list(record.scopes)}
