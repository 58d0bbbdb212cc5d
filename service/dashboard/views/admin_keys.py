"""Keys of a tenant: who may do what."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.forms import WHOLE, FormErrors, filled, last_day, new_once, only_once
from service.dashboard.pages import PageRoute, go_to, render
from service.dashboard.session import Api, FormData, FormDep, SignedOutError
from service.errors import RefusedError, UsageError
from service.schemas.keys import KeyCreate, NewApiKey

SCOPES = (
    ("runs:read", "read runs, their figures and events"),
    ("programs:read", "read programs, prompts and feedback"),
    ("runs:write", "submit runs and problems, write notes, make shares and webhooks"),
    ("runs:control", "pause, resume, cancel, extend and fork runs"),
    ("evaluations:lease", "evaluate as a remote worker"),
    ("keys:manage", "make and revoke keys, read the audit"),
    ("operate", "quotas, workers, keys of other tenants"),
)
USUAL = ("runs:read", "programs:read")
router = APIRouter(prefix="/admin/keys", route_class=PageRoute, include_in_schema=False)
KeyId = Annotated[str, Path(max_length=100)]
Cursor = Annotated[str, Query(max_length=4000)]


@router.get("")
async def show_keys(request: Request, api: Api, cursor: Cursor = "") -> Response:
    """Show the keys of the tenant, never the keys themselves."""
    return await _page(request, api, FormData(), list(USUAL), FormErrors(), cursor=cursor)


@router.post("")
async def create_key(request: Request, api: Api, form: FormDep) -> Response:
    """Make a key; this answer alone shows it."""
    complaints, scopes = FormErrors(), form.several("scopes")
    key = _asked(form, scopes, complaints)
    if key is not None:
        try:
            made = await api.send(only_once(calls.create_key(key), form))
        except SignedOutError:
            raise
        except (UsageError, RefusedError) as error:
            complaints[WHOLE] = str(error)
        else:
            return await _page(request, api, FormData(), list(USUAL), FormErrors(), 201, made=made)
    return await _page(request, api, form, scopes, complaints, 422)


@router.post("/{key_id}/revoke")
async def revoke_key(key_id: KeyId, api: Api) -> Response:
    """Close a key for good."""
    await api.send(calls.revoke_key(key_id))
    return go_to("/admin/keys")


def _asked(form: FormData, scopes: list[str], complaints: FormErrors) -> KeyCreate | None:
    values: dict[str, Any] = {"name": form.get("name", "").strip(), "scopes": scopes}
    if not values["name"]:
        complaints["name"] = "the name is missing: give the key a name"
    if not scopes:
        complaints["scopes"] = "a key needs a scope: choose at least one"
    if ends := last_day(form.get("expires", ""), "expires", datetime.now(UTC), complaints):
        values["expires_at"] = ends
    if tenant := form.get("tenant", "").strip():
        values["tenant"] = tenant
    return filled(KeyCreate, values, complaints)


async def _page(
    request: Request,
    api: AsyncClient,
    form: FormData,
    scopes: list[str],
    complaints: FormErrors,
    status: int = 200,
    *,
    cursor: str = "",
    made: NewApiKey | None = None,
) -> Response:
    call = calls.list_keys(limit=100)
    page = await api.send(call.at(cursor) if cursor else call)
    return render(
        request,
        "admin_keys.html",
        status,
        keys=page.items,
        next_cursor=page.next_cursor,
        made=made,
        form=form,
        chosen=scopes,
        scopes=SCOPES,
        complaints=complaints,
        now=datetime.now(UTC),
        once=new_once(),
    )
