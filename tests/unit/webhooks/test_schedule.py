"""Ten tries over about three days."""

from datetime import UTC, datetime, timedelta

import pytest

from service.webhooks.schedule import TRIES, next_try

START = datetime(2026, 1, 1, tzinfo=UTC)


def tries(draw: float) -> list[timedelta]:
    times, now = [START], START
    while (again := next_try(len(times), now, draw)) is not None:
        now = again
        times.append(now)
    return [at - START for at in times]


def test_the_schedule_is_the_standards_own() -> None:
    """The table of Standard Webhooks 1.0.0, times since the start."""
    table = "0:00:00 0:00:05 0:05:05 0:35:05 2:35:05 7:35:05 17:35:05 31:35:05 51:35:05 75:35:05"
    parts = [[int(part) for part in text.split(":")] for text in table.split()]
    assert tries(0.0) == [timedelta(hours=hours, minutes=minutes, seconds=seconds) for hours, minutes, seconds in parts]
    assert TRIES == 10


def test_chance_spreads_the_tries_by_at_most_a_fifth() -> None:
    for early, late in zip(tries(0.0)[1:], tries(0.999)[1:], strict=True):
        assert early < late < 1.2 * early


@pytest.mark.parametrize(("asked", "hours"), [(0.0, 5 / 3600), (3600.0, 1), (10.0**6, 24)])
def test_a_receiver_that_asks_to_be_left_alone_is_for_a_day_at_most(asked: float, hours: float) -> None:
    assert next_try(1, START, 0.0, asked) == START + timedelta(hours=hours)


def test_no_request_of_a_receiver_adds_a_try() -> None:
    assert next_try(TRIES, START, 0.0, 60.0) is None
