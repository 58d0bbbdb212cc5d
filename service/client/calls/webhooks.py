"""Calls of the tag webhooks. `scripts.openapi` writes them."""

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


def create_webhook(body: WebhookCreate) -> Call[NewWebhook]:
    """Create a webhook for the tenant's runs, by Standard Webhooks. Private addresses are refused."""
    return Call(method="POST", path="/v1/webhooks", body=body, answer=NewWebhook)


def list_webhooks(*, limit: int | None = None) -> Call[WebhookPage]:
    """List webhooks, oldest first, without their secrets."""
    return Call(method="GET", path="/v1/webhooks", params=chosen(limit=limit), answer=WebhookPage)


def get_webhook(webhook_id: str) -> Call[Webhook]:
    """Read a webhook."""
    return Call(method="GET", path=place("/v1/webhooks/{}", webhook_id), answer=Webhook)


def update_webhook(webhook_id: str, body: WebhookPatch) -> Call[Webhook]:
    """Change the address or the types of a webhook, or enable or disable it."""
    return Call(method="PATCH", path=place("/v1/webhooks/{}", webhook_id), body=body, answer=Webhook)


def delete_webhook(webhook_id: str) -> Call[None]:
    """Delete a webhook and its deliveries."""
    return Call(method="DELETE", path=place("/v1/webhooks/{}", webhook_id), answer=NoneType)


def rotate_webhook_secret(webhook_id: str) -> Call[NewWebhook]:
    """Give a webhook a new secret. Messages carry the old signature too until the next rotation."""
    return Call(method="POST", path=place("/v1/webhooks/{}/rotate", webhook_id), answer=NewWebhook)


def ping_webhook(webhook_id: str) -> Call[Delivery]:
    """Send a test message to a webhook."""
    return Call(method="POST", path=place("/v1/webhooks/{}/ping", webhook_id), answer=Delivery)


def list_deliveries(webhook_id: str, *, limit: int | None = None) -> Call[DeliveryPage]:
    """List the sent and pending deliveries of a webhook, newest first."""
    return Call(
        method="GET",
        path=place("/v1/webhooks/{}/deliveries", webhook_id),
        params=chosen(limit=limit),
        answer=DeliveryPage,
    )


def redeliver(webhook_id: str, delivery_id: str) -> Call[Delivery]:
    """Send a message again, as a new delivery."""
    return Call(
        method="POST", path=place("/v1/webhooks/{}/deliveries/{}/redeliver", webhook_id, delivery_id), answer=Delivery
    )
