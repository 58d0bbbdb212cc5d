"""Webhooks of a tenant: which addresses hear what becomes of runs, and what was sent to them."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.forms import FormErrors, filled, new_once, only_once
from service.dashboard.pages import PageRoute, go_to, render
from service.dashboard.session import Api, FormData, FormDep, SignedOutError
from service.errors import RefusedError, UsageError
from service.schemas.webhooks import NewWebhook, Webhook, WebhookCreate, WebhookPatch

TYPES = (
    ("run.succeeded", "a run ended"),
    ("run.failed", "a run failed"),
    ("run.cancelled", "somebody ended a run"),
    ("run.improved", "a run has a new best"),
    ("run.waiting", "a run waits for something outside of it"),
    ("run.paused", "a run was paused"),
    ("batch.succeeded", "all runs of a batch have ended, and one succeeded"),
    ("batch.failed", "all runs of a batch have ended, and none succeeded"),
    ("batch.cancelled", "all runs of a batch were cancelled"),
)
USUAL = ["run.succeeded", "run.failed"]
router = APIRouter(prefix="/admin/webhooks", route_class=PageRoute, include_in_schema=False)
Id = Annotated[str, Path(max_length=100)]
Cursor = Annotated[str, Query(max_length=4000)]


@router.get("")
async def show_webhooks(request: Request, api: Api, cursor: Cursor = "") -> Response:
    """Show the webhooks of the tenant, never their secrets."""
    return await _list(request, api, FormData(), USUAL, FormErrors(), cursor=cursor)


@router.post("")
async def create_webhook(request: Request, api: Api, form: FormDep) -> Response:
    """Have an address hear what becomes of runs; this answer alone shows its secret."""
    complaints, types = FormErrors(), form.several("types")
    webhook = filled(WebhookCreate, _said(form, types, complaints), complaints)
    if webhook is not None:
        try:
            made = await api.send(only_once(calls.create_webhook(webhook), form))
        except SignedOutError:
            raise
        except (UsageError, RefusedError) as error:
            complaints["url"] = str(error)
        else:
            return await _one(request, api, made.id, None, FormErrors(), 201, made=made)
    return await _list(request, api, form, types, complaints, 422)


@router.get("/{webhook_id}")
async def show_webhook(request: Request, webhook_id: Id, api: Api, cursor: Cursor = "") -> Response:
    """Show a webhook and what was sent to it."""
    return await _one(request, api, webhook_id, None, FormErrors(), cursor=cursor)


@router.post("/{webhook_id}")
async def update_webhook(request: Request, webhook_id: Id, api: Api, form: FormDep) -> Response:
    """Change where a webhook lies, what it hears, and whether it does."""
    complaints = FormErrors()
    said = _said(form, form.several("types"), complaints) | {"enabled": form.get("enabled") == "yes"}
    patch = filled(WebhookPatch, said, complaints)
    if patch is not None:
        try:
            await api.send(calls.update_webhook(webhook_id, patch))
        except SignedOutError:
            raise
        except (UsageError, RefusedError) as error:
            complaints["url"] = str(error)
        else:
            return go_to(f"/admin/webhooks/{webhook_id}")
    return await _one(request, api, webhook_id, form, complaints, 422)


@router.post("/{webhook_id}/ping")
async def ping_webhook(webhook_id: Id, api: Api, form: FormDep) -> Response:
    """Send a webhook a message that means nothing."""
    await api.send(only_once(calls.ping_webhook(webhook_id), form))
    return go_to(f"/admin/webhooks/{webhook_id}#deliveries")


@router.post("/{webhook_id}/rotate")
async def rotate_secret(request: Request, webhook_id: Id, api: Api, form: FormDep) -> Response:
    """Give a webhook a new secret; this answer alone shows it."""
    made = await api.send(only_once(calls.rotate_webhook_secret(webhook_id), form))
    return await _one(request, api, webhook_id, None, FormErrors(), made=made)


@router.post("/{webhook_id}/delete")
async def delete_webhook(webhook_id: Id, api: Api) -> Response:
    """Remove a webhook with its deliveries."""
    await api.send(calls.delete_webhook(webhook_id))
    return go_to("/admin/webhooks")


@router.post("/{webhook_id}/deliveries/{delivery_id}/redeliver")
async def redeliver(webhook_id: Id, delivery_id: Id, api: Api) -> Response:
    """Send a message once more."""
    await api.send(calls.redeliver(webhook_id, delivery_id))
    return go_to(f"/admin/webhooks/{webhook_id}#deliveries")


def _said(form: FormData, types: list[str], complaints: FormErrors) -> dict[str, Any]:
    url = form.get("url", "").strip()
    if not url.startswith(("https://", "http://")):
        complaints["url"] = "this is not an address: write one such as https://example.org/hook"
    if not types:
        complaints["types"] = "a webhook needs an event: choose at least one"
    return {"url": url, "types": types}


async def _list(
    request: Request,
    api: AsyncClient,
    form: FormData,
    types: list[str],
    complaints: FormErrors,
    status: int = 200,
    *,
    cursor: str = "",
) -> Response:
    call = calls.list_webhooks(limit=100)
    page = await api.send(call.at(cursor) if cursor else call)
    values = {"form": form, "chosen": types, "types": TYPES, "complaints": complaints, "once": new_once()}
    return render(request, "admin_webhooks.html", status, webhooks=page.items, next_cursor=page.next_cursor, **values)


async def _one(
    request: Request,
    api: AsyncClient,
    webhook_id: str,
    form: FormData | None,
    complaints: FormErrors,
    status: int = 200,
    *,
    cursor: str = "",
    made: NewWebhook | None = None,
) -> Response:
    webhook: Webhook = await api.send(calls.get_webhook(webhook_id))
    call = calls.list_deliveries(webhook.id, limit=50)
    page = await api.send(call.at(cursor) if cursor else call)
    return render(
        request,
        "admin_webhook.html",
        status,
        webhook=webhook,
        made=made,
        deliveries=page.items,
        next_cursor=page.next_cursor,
        form={"url": webhook.url} if form is None else form,
        chosen=webhook.types if form is None else form.several("types"),
        enabled=webhook.enabled if form is None else form.get("enabled") == "yes",
        types=TYPES,
        complaints=complaints,
        once=new_once(),
    )
