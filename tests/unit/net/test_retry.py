from datetime import UTC, datetime

import numpy as np
import pytest

from service.net.retry import Backoff, read_retry_after, worth_retrying


def now() -> datetime:
    return datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_retried(status: int) -> None:
    assert worth_retrying(status)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405, 413, 422, 501])
def test_what_cannot_pass_is_not_retried(status: int) -> None:
    assert not worth_retrying(status)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0.0),
        ("7", 7.0),
        (" 0.25 ", 0.25),
        ("Fri, 20 Nov 2026 12:00:30 GMT", 30.0),
        ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0),
        ("Friday, 20-Nov-26 12:01:00 GMT", 60.0),
        ("999999999", 3600.0),
        ("-5", 0.0),
        ("soon", 0.0),
        ("nan", 0.0),
        ("inf", 0.0),
        ("", 0.0),
        ("1.2.3", 0.0),
        ("\u0663", 3.0),
    ],
)
def test_retry_after_is_read_in_every_form(header: str | None, seconds: float) -> None:
    assert read_retry_after(header, now) == seconds


def test_waits_are_spread_over_the_whole_growing_range() -> None:
    backoff = Backoff(attempts=10, first_seconds=1.0, max_seconds=8.0)
    rng = np.random.default_rng(1)
    for attempt, bound in enumerate([1.0, 2.0, 4.0, 8.0, 8.0], start=1):
        waits = [backoff.wait(attempt, 0.0, rng) or 0.0 for _ in range(500)]
        assert 0.0 <= min(waits) < 0.05 * bound
        assert 0.95 * bound < max(waits) <= bound


def test_without_chance_waits_double_up_to_the_limit_and_stay_there() -> None:
    backoff = Backoff(first_seconds=0.2, max_seconds=5.0, jitter=0.0)
    assert [backoff.seconds(attempt, 0.3) for attempt in range(1, 8)] == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert backoff.seconds(100_000) == 5.0


@pytest.mark.parametrize(("draw", "seconds"), [(0.0, 6.0), (0.5, 7.0), (1.0, 8.0)])
def test_jitter_is_the_share_of_a_wait_that_is_left_to_chance(draw: float, seconds: float) -> None:
    assert Backoff(first_seconds=4.0, jitter=0.25).seconds(2, draw) == seconds


def test_a_longer_limit_can_be_set_to_what_a_header_asks_for() -> None:
    assert read_retry_after("90000", now, max_seconds=86_400.0) == 86_400.0


def test_no_wait_is_shorter_than_the_server_asks_for() -> None:
    assert Backoff(first_seconds=0.1).wait(1, 3.0, np.random.default_rng(1)) == 3.0


def test_the_last_attempt_is_not_waited_for() -> None:
    assert Backoff(attempts=3).wait(3, 0.0, np.random.default_rng(1)) is None


def test_a_server_that_asks_for_long_is_left_to_the_caller() -> None:
    assert Backoff(max_seconds=20.0).wait(1, 21.0, np.random.default_rng(1)) is None
