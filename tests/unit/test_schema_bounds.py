"""Numbers that come from outside have bounds: no sum, date or duration that is made of them overflows."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import TypeAdapter, ValidationError

from service.schemas.types import Seconds


def test_a_time_that_is_told_in_seconds_leads_to_a_date() -> None:
    adapter: TypeAdapter[float] = TypeAdapter(Seconds)
    longest = adapter.validate_python(1e9)
    now = datetime.now(UTC)
    assert now.year - (now - timedelta(seconds=longest)).year in (31, 32)
    for value in (1e15, 1e308, float("inf"), float("nan"), -1):
        with pytest.raises(ValidationError):
            adapter.validate_python(value)
