"""Webhooks on the wire."""

from typing import Annotated, Literal

from pydantic import Field

from service.schemas.types import Count, Moment, Object, Page, Reply, Request

Type = Literal["run.succeeded", "run.failed", "run.cancelled", "run.improved"]
Address = Annotated[str, Field(min_length=8, max_length=2000, pattern=r"^https?://[^\x00-\x20]+$")]
Types = Annotated[list[Type], Field(min_length=1, max_length=4)]


class WebhookCreate(Request):
    """An address that shall hear what becomes of runs."""

    url: Address
    types: Types = Field(description="What it hears")


class WebhookPatch(Request):
    """What of a webhook shall be another; what is left out stays."""

    url: Address | None = None
    types: Types | None = None
    enabled: bool | None = Field(default=None, description="True has one hear again that was disabled")


class Webhook(Reply):
    """A webhook, without its secret."""

    id: str
    url: str
    types: list[str]
    enabled: bool
    disabled: str = Field(description="Why it hears nothing; empty: it does")
    created_at: Moment


class NewWebhook(Webhook):
    """A webhook with a new secret."""

    secret: str | None = Field(
        description="`whsec_...`: it signs what is sent, is shown this once, and null in an answer that is given again"
    )


class WebhookPage(Page):
    """Webhooks, the oldest first."""

    items: list[Webhook]


class Delivery(Reply):
    """A message to a webhook."""

    id: str
    type: str
    payload: Object
    state: Literal["pending", "delivered", "failed"]
    attempts: Count
    next_at: Moment | None
    status: int | None = Field(description="HTTP status of the last attempt; null: there was no answer")
    error: str
    created_at: Moment


class DeliveryPage(Page):
    """Deliveries, newest first."""

    items: list[Delivery]
