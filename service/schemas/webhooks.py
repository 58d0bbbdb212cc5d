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
    """A new webhook."""

    url: Address = Field(description="Address that messages are sent to")
    types: Types = Field(description="Types of messages that it gets")


class WebhookPatch(Request):
    """Changes to a webhook. Missing members stay as before."""

    url: Address | None = Field(default=None, description="Address that gets the messages. Null: as before")
    types: Types | None = Field(default=None, description="Types of messages that it gets. Null: as before")
    enabled: bool | None = Field(default=None, description="True enables a disabled webhook again")


class Webhook(Reply):
    """A webhook, without its secret."""

    id: str = Field(description="Id of the webhook")
    url: str = Field(description="Address that messages are sent to")
    types: list[str] = Field(description="Types of messages that it gets")
    enabled: bool = Field(description="Whether messages are sent to it")
    disabled: str = Field(description="Why it is disabled. Empty: enabled")
    created_at: Moment = Field(description="When it was created")


class NewWebhook(Webhook):
    """A webhook with a new secret."""

    secret: str | None = Field(
        description="`whsec_...`, which signs messages. Shown only once. Null in a repeated answer"
    )


class WebhookPage(Page):
    """Webhooks, oldest first."""

    items: list[Webhook] = Field(description="Webhooks, oldest first")


class WebhookSubject(Reply):
    """The subject of a message. Read its state from the API."""

    id: str = Field(description="Id of the run, or of the webhook of a ping")


class WebhookMessage(Reply):
    """A message as it is sent, by Standard Webhooks."""

    type: str = Field(description="Type of the message, such as `run.succeeded`")
    timestamp: Moment = Field(description="When it happened")
    data: WebhookSubject = Field(description="Its subject")


class Delivery(Reply):
    """A message to a webhook."""

    id: str = Field(description="Id of the delivery")
    type: str = Field(description="Type of the message, such as `run.succeeded`")
    payload: Annotated[Object, DescribedAs(WebhookMessage)] = Field(description="The message, as it is sent")
    state: Literal["pending", "delivered", "failed"] = Field(
        description="`pending`: it will be tried again. `delivered`. `failed`: no more tries",
    )
    attempts: Count = Field(description="Number of attempts so far")
    next_at: Moment | None = Field(description="When it is tried next. Null: never")
    status: int | None = Field(description="HTTP status of the last attempt. Null: no answer")
    error: str = Field(description="Why the last attempt failed. Empty: no failure")
    created_at: Moment = Field(description="When it was created")


class DeliveryPage(Page):
    """Deliveries, newest first."""

    items: list[Delivery] = Field(description="Deliveries, newest first")
