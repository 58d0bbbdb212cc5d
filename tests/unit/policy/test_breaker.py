import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.policy.breaker import Breaker, BreakerState


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def opened(clock: Clock, failures: int = 3) -> Breaker:
    breaker = Breaker(clock, failures=failures, first_seconds=5.0, max_seconds=40.0)
    for _ in range(failures):
        assert breaker.admit() == 0.0
        breaker.failed()
    return breaker


def test_fewer_failures_than_the_threshold_leave_it_closed() -> None:
    breaker = Breaker(Clock(), failures=3)
    breaker.failed()
    breaker.failed()
    assert (breaker.state, breaker.admit()) == (BreakerState.CLOSED, 0.0)


def test_a_success_in_between_starts_the_count_again() -> None:
    breaker = Breaker(Clock(), failures=2)
    for _ in range(10):
        breaker.failed()
        breaker.succeeded()
    assert breaker.state is BreakerState.CLOSED


def test_an_open_breaker_says_how_long_to_wait() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.seconds += 2.0
    assert (breaker.state, breaker.admit()) == (BreakerState.OPEN, 3.0)


def test_a_half_open_breaker_lets_one_call_out() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.seconds += 5.0
    assert (breaker.state, breaker.admit()) == (BreakerState.HALF_OPEN, 0.0)
    assert breaker.admit() > 0.0


def test_the_trial_that_succeeds_closes_it() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.seconds += 5.0
    breaker.admit()
    breaker.succeeded()
    assert [breaker.admit() for _ in range(3)] == [0.0, 0.0, 0.0]


def test_a_trial_that_is_given_up_lets_another_out() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.seconds += 5.0
    breaker.admit()
    breaker.abandoned()
    assert breaker.admit() == 0.0


def test_it_stays_open_for_twice_as_long_each_time_up_to_a_bound() -> None:
    clock = Clock()
    breaker = opened(clock)
    waits = []
    for _ in range(6):
        waits.append(breaker.admit())
        clock.seconds += waits[-1]
        assert breaker.admit() == 0.0
        breaker.failed()
    assert waits == [5.0, 10.0, 20.0, 40.0, 40.0, 40.0]


def test_late_failures_of_earlier_calls_do_not_prolong_the_wait() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.seconds += 1.0
    breaker.failed()
    assert breaker.admit() == 4.0


@pytest.mark.parametrize(("asked", "wait"), [(60.0, 60.0), (1.0, 5.0)])
def test_the_servers_own_wish_counts_when_it_is_longer(asked: float, wait: float) -> None:
    breaker = Breaker(Clock(), failures=1, first_seconds=5.0, max_seconds=40.0)
    breaker.failed(asked)
    assert breaker.admit() == wait


@given(st.lists(st.sampled_from(["ask", "succeeded", "failed", "abandoned", "wait"]), max_size=60))
def test_whoever_waits_as_long_as_told_is_let_out_in_the_end(steps: list[str]) -> None:
    clock = Clock()
    breaker = Breaker(clock, failures=2, first_seconds=5.0, max_seconds=40.0)
    for step in steps:
        if step == "ask":
            breaker.admit()
        elif step == "wait":
            clock.seconds += 7.0
        else:
            getattr(breaker, step)()
    breaker.abandoned()
    wait = breaker.admit()
    assert 0.0 <= wait <= 40.0
    clock.seconds += wait
    assert wait == 0.0 or breaker.admit() == 0.0
