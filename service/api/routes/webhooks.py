"""Webhooks, and what was sent to them."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.dependencies import ApiDependencies
from service.api.error_responses import raises
from service.api.idempotency import OnceDep, made
from service.api.openapi_responses import EMPTY, LOCATION, REPLAY_HEADER
from service.api.pagination import DEFAULT_LIMIT, Cursor, Limit, Paging
from service.api.problem_errors import ApiFault
from service.errors import ConflictError, RefusedError, UnreachableError, UsageError
from service.identifiers import new_id
from service.ports import Caller, Scope
from service.ports import Delivery as StoredDelivery
from service.ports import Webhook as StoredWebhook
from service.schemas.problem_details import Code
from service.schemas.webhooks import (
    Delivery,
    DeliveryPage,
    NewWebhook,
    Webhook,
    WebhookCreate,
    WebhookPage,
    WebhookPatch,
)
from service.timestamps import rfc3339

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], route_class=ApiRoute)

Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ))]
Writing = Annotated[Caller, Depends(requires(Scope.RUNS_WRITE))]
WebhookId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Id of a webhook.")]
DeliveryId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Id of a delivery.")]
PING = "webhook.ping"
BY_HAND = "disabled over the API"
_MADE: dict[int | str, dict[str, Any]] = (
    raises(ConflictError) | {201: {"model": NewWebhook, "headers": LOCATION | REPLAY_HEADER}} | raises(RefusedError)
)
_SENT: dict[int | str, dict[str, Any]] = raises(ConflictError) | {202: {"model": Delivery, "headers": REPLAY_HEADER}}


@router.post("", status_code=201, response_model=NewWebhook, responses=_MADE, operation_id="create_webhook")
def create_webhook(body: WebhookCreate, caller: Writing, parts: PartsDep, once: OnceDep) -> Response:
    """Create a webhook for the tenant's runs, by Standard Webhooks. Private addresses are refused."""
    _check(parts, body.url)
    now = parts.clock.now()

    def effect() -> Response:
        webhook = StoredWebhook(
            id=new_id("whk", now),
            tenant=caller.tenant,
            url=body.url,
            types=tuple(dict.fromkeys(body.types)),
            secrets=(parts.new_webhook_secret(),),
            disabled="",
            created_at=now,
        )
        parts.webhooks.add(webhook)
        return made(_with_secret(webhook), 201, {"Location": f"/v1/webhooks/{webhook.id}"})

    return once(effect, unstored="secret")


@router.get("", response_model=WebhookPage, operation_id="list_webhooks")
def list_webhooks(caller: Reading, parts: PartsDep, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = "") -> WebhookPage:
    """List webhooks, oldest first, without their secrets."""
    paging = Paging(parts.signer, cursor, limit, {"list": "webhooks", "tenant": caller.tenant})
    found = parts.webhooks.webhooks(caller.tenant, paging.after or "", paging.limit + 1)
    rows, following = paging.cut(found, lambda row: row.id)
    return WebhookPage(items=[_shown(row) for row in rows], next_cursor=following)


@router.get("/{webhook_id}", response_model=Webhook, operation_id="get_webhook")
def get_webhook(webhook_id: WebhookId, caller: Reading, parts: PartsDep) -> Webhook:
    """Read a webhook."""
    return _shown(parts.webhooks.get(caller.tenant, webhook_id))


@router.patch("/{webhook_id}", response_model=Webhook, responses=raises(RefusedError), operation_id="update_webhook")
def update_webhook(webhook_id: WebhookId, body: WebhookPatch, caller: Writing, parts: PartsDep) -> Webhook:
    """Change the address or the types of a webhook, or enable or disable it."""
    if body.url is not None:
        _check(parts, body.url)

    def how(webhook: StoredWebhook) -> StoredWebhook:
        disabled = webhook.disabled
        if body.enabled is not None:
            disabled = "" if body.enabled else disabled or BY_HAND
        types = webhook.types if body.types is None else tuple(dict.fromkeys(body.types))
        return replace(webhook, url=body.url or webhook.url, types=types, disabled=disabled)

    return _shown(parts.webhooks.change(caller.tenant, webhook_id, how))


@router.delete("/{webhook_id}", status_code=204, responses=EMPTY, operation_id="delete_webhook")
def delete_webhook(webhook_id: WebhookId, caller: Writing, parts: PartsDep) -> Response:
    """Delete a webhook and its deliveries."""
    parts.webhooks.remove(caller.tenant, webhook_id)
    return Response(status_code=204)


@router.post(
    "/{webhook_id}/rotate",
    response_model=NewWebhook,
    responses={200: {"model": NewWebhook, "headers": REPLAY_HEADER}},
    operation_id="rotate_webhook_secret",
)
def rotate_webhook_secret(webhook_id: WebhookId, caller: Writing, parts: PartsDep, once: OnceDep) -> Response:
    """Give a webhook a new secret. Messages carry the old signature too until the next rotation."""

    def effect() -> Response:
        secret = parts.new_webhook_secret()

        def how(webhook: StoredWebhook) -> StoredWebhook:
            return replace(webhook, secrets=(secret, webhook.secrets[0]))

        return made(_with_secret(parts.webhooks.change(caller.tenant, webhook_id, how)), 200)

    return once(effect, unstored="secret")


@router.post(
    "/{webhook_id}/ping", status_code=202, response_model=Delivery, responses=_SENT, operation_id="ping_webhook"
)
def ping_webhook(webhook_id: WebhookId, caller: Writing, parts: PartsDep, once: OnceDep) -> Response:
    """Send a test message to a webhook."""

    def effect() -> Response:
        webhook = _hearing(parts, caller, webhook_id)
        at = rfc3339(parts.clock.now())
        payload = {"type": PING, "timestamp": at, "data": {"id": webhook.id}}
        return _sent(parts, webhook.id, PING, payload)

    return once(effect)


@router.get("/{webhook_id}/deliveries", response_model=DeliveryPage, operation_id="list_deliveries")
def list_deliveries(
    webhook_id: WebhookId, caller: Reading, parts: PartsDep, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = ""
) -> DeliveryPage:
    """List the sent and pending deliveries of a webhook, newest first."""
    webhook = parts.webhooks.get(caller.tenant, webhook_id)
    paging = Paging(parts.signer, cursor, limit, {"list": "deliveries", "webhook": webhook.id})
    found = parts.webhooks.deliveries(caller.tenant, webhook.id, paging.after or "", paging.limit + 1)
    rows, following = paging.cut(found, lambda row: row.id)
    return DeliveryPage(items=[_delivery(row) for row in rows], next_cursor=following)


@router.post(
    "/{webhook_id}/deliveries/{delivery_id}/redeliver",
    status_code=202,
    response_model=Delivery,
    responses=_SENT,
    operation_id="redeliver",
)
def redeliver(
    webhook_id: WebhookId, delivery_id: DeliveryId, caller: Writing, parts: PartsDep, once: OnceDep
) -> Response:
    """Send a message again, as a new delivery."""

    def effect() -> Response:
        webhook = _hearing(parts, caller, webhook_id)
        old = _find(parts, caller, webhook.id, delivery_id)
        return _sent(parts, webhook.id, old.type, old.payload)

    return once(effect)


def _check(parts: ApiDependencies, url: str) -> None:
    try:
        parts.check_webhook(url)
    except UnreachableError as error:  # not of the service: of the address
        raise UsageError(str(error)) from error


def _hearing(parts: ApiDependencies, caller: Caller, webhook_id: str) -> StoredWebhook:
    webhook = parts.webhooks.get(caller.tenant, webhook_id)
    if webhook.disabled:
        raise ConflictError(f"webhook {webhook.id} is disabled ({webhook.disabled}): enable it first")
    return webhook


def _find(parts: ApiDependencies, caller: Caller, webhook_id: str, delivery_id: str) -> StoredDelivery:
    # Newest first, so that the one asked for is the first that is not newer than it.
    found = parts.webhooks.deliveries(caller.tenant, webhook_id, delivery_id + "~", 1)
    if not found or found[0].id != delivery_id:
        raise ApiFault(404, Code.NOT_FOUND, f"webhook {webhook_id} has no delivery {delivery_id}")
    return found[0]


def _sent(parts: ApiDependencies, webhook_id: str, kind: str, payload: Any) -> Response:
    now = parts.clock.now()
    delivery = StoredDelivery(
        id=new_id("dlv", now),
        webhook_id=webhook_id,
        type=kind,
        payload=payload,
        state="pending",
        attempts=0,
        next_at=now,
        status=None,
        error="",
        created_at=now,
    )
    parts.webhooks.deliver(delivery)
    return made(_delivery(delivery), 202)


def _shown(webhook: StoredWebhook) -> Webhook:
    return Webhook(**_fields(webhook))


def _with_secret(webhook: StoredWebhook) -> NewWebhook:
    return NewWebhook(**_fields(webhook), secret=webhook.secrets[0])


def _fields(webhook: StoredWebhook) -> dict[str, Any]:
    return {
        "id": webhook.id,
        "url": webhook.url,
        "types": list(webhook.types),
        "enabled": not webhook.disabled,
        "disabled": webhook.disabled,
        "created_at": webhook.created_at,
    }


def _delivery(delivery: StoredDelivery) -> Delivery:
    return Delivery(**{name: getattr(delivery, name) for name in Delivery.model_fields})
