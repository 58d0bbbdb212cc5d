"""The clock of an installation tells the time of its database, whatever the machine believes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from service.db.clock import ASK_AGAIN_SECONDS, MAX_ASKING_SECONDS, DatabaseClock

TRUE = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Steady:
    """A steady clock that moves when it is told to."""

    def __init__(self) -> None:
        self.seconds = 500.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def steady() -> Steady:
    return Steady()


@pytest.fixture
def clock(steady: Steady) -> DatabaseClock:
    return DatabaseClock(steady, lambda: TRUE + HOUR)


def answering(at: datetime, steady: Steady, seconds: float = 0.0) -> Callable[[], datetime]:
    """A database that answers with a time, and takes some seconds."""

    def ask() -> datetime:
        steady.seconds += seconds
        return at

    return ask


def test_until_a_database_has_told_its_time_it_is_that_of_the_machine(clock: DatabaseClock) -> None:
    assert clock.now() == TRUE + HOUR


def test_it_carries_on_what_the_database_told(clock: DatabaseClock, steady: Steady) -> None:
    clock.follow(answering(TRUE, steady))
    steady.seconds += 7.25
    assert clock.now() == TRUE + timedelta(seconds=7.25)
    assert clock.monotonic() == 507.25


def test_a_database_is_asked_again_after_a_while_and_no_sooner(clock: DatabaseClock, steady: Steady) -> None:
    clock.follow(answering(TRUE, steady))
    steady.seconds += ASK_AGAIN_SECONDS - 0.5
    clock.follow(answering(TRUE + HOUR, steady))
    assert clock.now() < TRUE + HOUR
    steady.seconds += 1
    clock.follow(answering(TRUE + HOUR, steady))
    assert clock.now() == TRUE + HOUR


def test_an_answer_that_was_long_under_way_is_not_believed_where_a_better_one_is_known(
    clock: DatabaseClock, steady: Steady
) -> None:
    late = 2 * MAX_ASKING_SECONDS
    clock.follow(answering(TRUE, steady, late))
    assert clock.now() == TRUE  # better than what the machine says
    steady.seconds += ASK_AGAIN_SECONDS
    clock.follow(answering(TRUE + timedelta(seconds=ASK_AGAIN_SECONDS), steady, late))
    assert clock.now() == TRUE + timedelta(seconds=ASK_AGAIN_SECONDS + late)
