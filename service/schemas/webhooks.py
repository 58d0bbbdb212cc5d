"""Webhooks on the wire."""

from typing import Annotated, Literal

from pydantic import Field

from service.schemas.derived_models import DescribedAs
from service.schemas.types import Count, Moment, Object, Page, Reply, Request

Type = Literal[
    "run.succeeded",
    "run.failed",
    "run.cancelled",
    "run.improved",
    "run.waiting",
    "run.paused",
    "batch.succeeded",
    "batch.failed",
    "batch.cancelled",
]
Address = Annotated[str, Field(min_length=8, max_length=2000, pattern=r"^https?://[^\x00-\x20]+$")]
Types = Annotated[list[Type], Field(min_length=1, max_length=9)]


class WebhookCreate(Request):
    """An address that shall hear what becomes of runs."""

    url: Address = Field(description="Address that messages are sent to")
    types: Types = Field(description="What it hears")


class WebhookPatch(Request):
    """What of a webhook shall be another; what is left out stays."""

    url: Address | None = Field(default=None, description="Address that messages are sent to; null: as before")
    types: Types | None = Field(default=None, description="Types of messages that it gets; null: as before")
    enabled: bool | None = Field(default=None, description="True has one hear again that was disabled")


class Webhook(Reply):
    """A webhook, without its secret."""

    id: str = Field(description="Id of the webhook")
    url: str = Field(description="Address that messages are sent to")
    types: list[str] = Field(description="Types of messages that it gets")
    enabled: bool = Field(description="Whether messages are sent to it")
    disabled: str = Field(description="Why it hears nothing; empty: it does")
    created_at: Moment = Field(description="When it was created")


class NewWebhook(Webhook):
    """A webhook with a new secret."""

    secret: str | None = Field(
        description="`whsec_...`: it signs what is sent, is shown this once, and null in an answer that is given again"
    )


class WebhookPage(Page):
    """Webhooks, the oldest first."""

    items: list[Webhook] = Field(description="Webhooks, the oldest first")


class WebhookSubject(Reply):
    """What a message is about; read its state from the API."""

    id: str = Field(description="Id of the run, or of the webhook of a ping")


class WebhookMessage(Reply):
    """A message as it is sent, by Standard Webhooks."""

    type: str = Field(description="Type of the message, such as `run.succeeded`")
    timestamp: Moment = Field(description="When it happened")
    data: WebhookSubject = Field(description="What it is about")


class Delivery(Reply):
    """A message to a webhook."""

    id: str = Field(description="Id of the delivery")
    type: str = Field(description="Type of the message, such as `run.succeeded`")
    payload: Annotated[Object, DescribedAs(WebhookMessage)] = Field(description="The message, as it is sent")
    state: Literal["pending", "delivered", "failed"] = Field(
        description="`pending`: it will be tried again; `delivered`; `failed`: it was given up",
    )
    attempts: Count = Field(description="Number of attempts so far")
    next_at: Moment | None = Field(description="When it is tried next; null: never again")
    status: int | None = Field(description="HTTP status of the last attempt; null: there was no answer")
    error: str = Field(description="Why the last attempt failed; empty: it did not")
    created_at: Moment = Field(description="When it was created")


class DeliveryPage(Page):
    """Deliveries, newest first."""

    items: list[Delivery] = Field(description="Deliveries, newest first")
