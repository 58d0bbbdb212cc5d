"""Pacing: what is asked for is bounded by what remains, and a run never stalls on it."""

import pytest

from evolve.budget import Account, expected, paced
from evolve.configuration import BudgetConfig, ConcurrencyConfig, RunConfig
from evolve.search.search import Search
from tests.fakes.world import new_search, score, toy_problem


def asked_at_once(config: RunConfig) -> int:
    """Answers outstanding when a policy that never answers was asked for all it may have."""
    toy = toy_problem()
    search = new_search(toy, config)
    assert isinstance(search, Search)
    for candidate in search.start().candidates:
        search.tell(candidate.id, score(toy, candidate.program))
    for _ in range(1000):
        if not search.ask().proposals:
            break
    return search.state.outstanding


@pytest.mark.parametrize("remaining", [1, 5, 9, 10, 99, 400])
@pytest.mark.parametrize("call", [1, 4, 64])
def test_a_tenth_is_never_passed_and_something_may_be_asked_for_when_nothing_is_out(remaining: int, call: int) -> None:
    share = max(1, -(-remaining // 10))
    assert paced(remaining, 0, call) >= 1
    for outstanding in range(2 * share):
        assert paced(remaining, outstanding, call) <= max(share - outstanding, 0)


def test_a_silent_policy_is_asked_for_a_tenth_of_the_evaluations() -> None:
    assert 1 <= asked_at_once(RunConfig(budget=BudgetConfig(evaluations=101))) <= 10


def test_a_limit_of_calls_that_is_named_lifts_the_bound() -> None:
    config = RunConfig(budget=BudgetConfig(evaluations=101), concurrency=ConcurrencyConfig(policy=16))
    assert asked_at_once(config) == 100


def test_tokens_count_as_the_answers_they_pay_for() -> None:
    used = Account(answers=10, tokens=1000)
    assert expected(BudgetConfig(evaluations=None, tokens=5000), used, None) == 40
    assert expected(BudgetConfig(evaluations=None, tokens=5000), Account(), None) is None
    assert expected(BudgetConfig(evaluations=None, tokens=500), used, None) == 0
