"""Calls about webhooks."""

from types import NoneType

from service.client.call import Call, chosen, place
from service.schemas.webhooks import (
    Delivery,
    DeliveryPage,
    NewWebhook,
    Webhook,
    WebhookCreate,
    WebhookPage,
    WebhookPatch,
)

WEBHOOKS, WEBHOOK = "/v1/webhooks", "/v1/webhooks/{}"


def create_webhook(webhook: WebhookCreate) -> Call[NewWebhook]:
    """Have an address hear what becomes of runs; its secret is shown in this answer alone."""
    return Call(method="POST", path=WEBHOOKS, body=webhook, answer=NewWebhook)


def list_webhooks(*, limit: int | None = None) -> Call[WebhookPage]:
    """List webhooks, the oldest first."""
    return Call(method="GET", path=WEBHOOKS, params=chosen(limit=limit), answer=WebhookPage)


def get_webhook(webhook_id: str) -> Call[Webhook]:
    """Read a webhook."""
    return Call(method="GET", path=place(WEBHOOK, webhook_id), answer=Webhook)


def update_webhook(webhook_id: str, patch: WebhookPatch) -> Call[Webhook]:
    """Change a webhook."""
    return Call(method="PATCH", path=place(WEBHOOK, webhook_id), body=patch, answer=Webhook)


def delete_webhook(webhook_id: str) -> Call[None]:
    """Remove a webhook with its deliveries."""
    return Call(method="DELETE", path=place(WEBHOOK, webhook_id), answer=NoneType)


def rotate_webhook_secret(webhook_id: str) -> Call[NewWebhook]:
    """Give a webhook a new secret beside the one it has."""
    return Call(method="POST", path=place(f"{WEBHOOK}/rotate", webhook_id), answer=NewWebhook)


def ping_webhook(webhook_id: str) -> Call[Delivery]:
    """Send a webhook a message to try it."""
    return Call(method="POST", path=place(f"{WEBHOOK}/ping", webhook_id), answer=Delivery)


def list_deliveries(webhook_id: str, *, limit: int | None = None) -> Call[DeliveryPage]:
    """List deliveries to a webhook, newest first."""
    path = place(f"{WEBHOOK}/deliveries", webhook_id)
    return Call(method="GET", path=path, params=chosen(limit=limit), answer=DeliveryPage)


def redeliver(webhook_id: str, delivery_id: str) -> Call[Delivery]:
    """Send a message again."""
    path = place(f"{WEBHOOK}/deliveries/{{}}/redeliver", webhook_id, delivery_id)
    return Call(method="POST", path=path, answer=Delivery)
