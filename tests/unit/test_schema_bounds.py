"""Numbers that come from outside have bounds: no sum, date or duration that is made of them overflows."""

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from service.ports import WEBHOOK_TYPES
from service.schemas.types import Seconds
from service.schemas.webhooks import Type, WebhookCreate


def test_a_time_that_is_told_in_seconds_leads_to_a_date() -> None:
    adapter: TypeAdapter[float] = TypeAdapter(Seconds)
    longest = adapter.validate_python(1e9)
    now = datetime.now(UTC)
    assert now.year - (now - timedelta(seconds=longest)).year in (31, 32)
    for value in (1e15, 1e308, float("inf"), float("nan"), -1):
        with pytest.raises(ValidationError):
            adapter.validate_python(value)


def test_a_webhook_may_hear_of_just_what_is_told() -> None:
    assert get_args(Type) == WEBHOOK_TYPES
    everything = {"url": "https://hooks.example/", "types": list(WEBHOOK_TYPES)}
    assert WebhookCreate.model_validate(everything).types == list(WEBHOOK_TYPES)
