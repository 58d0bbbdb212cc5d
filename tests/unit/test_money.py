"""Money is counted exactly, ends runs, and is the same after a replay."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.budget import Account, extended
from evolve.configuration import BudgetConfig, RunConfig
from evolve.errors import ConfigurationError
from evolve.money import FREE, Money, Price, read_amount, read_money, shared_currency
from evolve.proposal import CompletedReply, Usage
from evolve.search.deterministic_schedule import open_search
from evolve.search.ensemble import PolicyRequest
from evolve.search.search import Search
from tests.fakes.unruly import bare, known
from tests.fakes.world import World, answers, toy_problem

PRICE = Price(input=Decimal("0.15"), cached=Decimal("0.075"), output=Decimal("0.6"), currency="USD")
USAGE = Usage(input=1000, cached=400, output=50)
# 600 tokens at 0.15, 400 at 0.075 and 50 at 0.6, each per million: 90 + 30 + 30 millionths.
COST = Money(amount=Decimal("0.00015"), currency="USD")
PAID = PolicyRequest(policy="toy", answers=3, samples=2, currency="USD")


def test_a_million_proposals_of_a_ten_millionth_come_to_a_tenth_exactly() -> None:
    account, cost = Account(), Money.read("0.0000001 USD")
    for _ in range(1_000_000):
        account.spend(Usage(input=1), cost)
    assert str(account.money) == "0.1 USD"


def test_tokens_from_a_cache_have_their_own_price() -> None:
    assert PRICE.of(USAGE.input, USAGE.cached, USAGE.output) == COST


@given(
    st.lists(st.tuples(*[st.integers(0, 2**53)] * 3), min_size=1, max_size=20),
    st.lists(st.decimals(0, 10**11, allow_nan=False, places=12), min_size=3, max_size=3),
)
def test_sums_are_those_of_fractions(tokens: list[tuple[int, int, int]], prices: list[Decimal]) -> None:
    price = Price(input=prices[0], cached=prices[1], output=prices[2], currency="EUR")
    total, exact = FREE, Fraction(0)
    for given_, cached, written in tokens:
        held = min(given_, cached)
        total += price.of(given_, held, written)
        parts = zip((given_ - held, held, written), prices, strict=True)
        exact += sum((number * Fraction(each) for number, each in parts), Fraction(0)) / 10**6
    assert Fraction(total.amount) == exact
    assert Money.read(str(total)) == total


@pytest.mark.parametrize(
    ("said", "text"),
    [("2.50", "2.5"), (5, "5"), (0.1, "0.1"), (1e-7, "0.0000001"), ("3 EUR", "3 EUR"), ("100", "100"), ("0", "0")],
)
def test_amounts_are_read_as_they_were_written(said: object, text: str) -> None:
    assert str(read_money(said)) == text


@pytest.mark.parametrize(
    "said", ["", "-1", "1e5", "nan", "inf", "1,5", "5 usd", "5 USDT", "5  USD", "1" * 13, True, None, float("nan"), "٣"]
)
def test_what_is_no_money_is_refused(said: object) -> None:
    with pytest.raises(ConfigurationError, match="write"):
        read_money(said)


def test_two_currencies_are_never_added() -> None:
    with pytest.raises(ConfigurationError, match="EUR and USD cannot be added"):
        Money(amount=Decimal(1), currency="EUR") + Money(amount=Decimal(1), currency="USD")
    assert (FREE + COST, COST + FREE) == (COST, COST)


def test_the_policies_of_a_run_share_a_currency() -> None:
    assert shared_currency(["USD", "", "USD"]) == "USD"
    assert shared_currency(["", ""]) == ""
    assert shared_currency(["USD", None]) is None
    with pytest.raises(ConfigurationError, match="priced in EUR and USD"):
        shared_currency(["USD", "EUR", None])


class Priced(World):
    """A world whose policy costs something."""

    cost: Money | None = COST

    def _reply(self, search: Any, proposal: Any) -> Any:
        for answer in answers(proposal):
            self._send(search, search.answer(proposal.number, answer))
        completed = CompletedReply(completions=("toy",) * proposal.samples, usage=USAGE, cost=self.cost)
        return search.complete(proposal.number, completed)


def spend(config: RunConfig, asking: PolicyRequest = PAID) -> tuple[Any, Priced, str | None]:
    world = Priced(toy_problem())
    search = open_search("run_toy", world.problem, config, asking)
    return search, world, world.play(search, search.start())


@pytest.mark.parametrize("limit", ["0.001", "0.001 USD"])
def test_a_run_ends_by_money(limit: str) -> None:
    search, world, reason = spend(RunConfig(budget=BudgetConfig(evaluations=None, money=read_money(limit))))
    assert reason == "money"
    spent = search.state.account.money
    answered = sum(event.kind == "proposal.answered" for event in world.log)
    # Seven proposals of 0.00015 pass a limit of 0.001; what was in flight by then comes home.
    assert 7 <= answered <= 7 + 8
    assert spent == Money(amount=COST.amount * answered, currency="USD")


def test_a_replay_knows_what_was_spent() -> None:
    config = RunConfig(budget=BudgetConfig(evaluations=40, money=read_money(3)))
    search, world, _ = spend(config)
    again = open_search("run_toy", world.problem, config, PAID)
    again.replay(
        bare(world.log), lambda ids: [world.individuals[i] for i in ids], lambda ids: [world.candidates[i] for i in ids]
    )
    assert known(again.state) == known(search.state)
    assert again.state.account.money == search.state.account.money != FREE


def test_what_is_not_known_stays_unknown() -> None:
    account = Account()
    for cost in (Money.read("1 USD"), None, Money.read("1 USD")):
        account.spend(Usage(input=1, output=1), cost)
    assert account.money is None


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        act()
    return str(caught.value)


def test_a_limit_that_cannot_be_held_is_refused() -> None:
    def opened(money: str, currency: str | None) -> Search:
        config = RunConfig(budget=BudgetConfig(money=read_money(money)))
        return Search("run_toy", toy_problem(), config, replace(PAID, currency=currency))

    assert "give the policy a price" in refusal(lambda: opened("5", None))
    assert "in EUR and the policy's price in USD" in refusal(lambda: opened("5 EUR", "USD"))
    assert "above 0" in refusal(lambda: opened("0", "USD"))
    assert opened("5 EUR", "").state.budget.money == read_money("5 EUR")


def test_a_run_gets_more_money() -> None:
    config = RunConfig(budget=BudgetConfig(evaluations=None, answers=10**6, money=read_money("0.001")))
    search, _, _ = spend(config)
    (event,) = search.extend("money", "2.50", "somebody").events
    assert event.payload == {"key": "money", "from": "0.001", "to": "2.5", "by": "somebody"}
    assert search.ended() is None
    assert search.state.budget == extended(config.budget, "money", read_amount("2.5"))
    assert "is not an amount" in refusal(lambda: search.extend("money", "much"))
    unpriced = Search("run_toy", toy_problem(), RunConfig(), PolicyRequest(policy="toy"))
    assert "give the policy a price" in refusal(lambda: unpriced.extend("money", 5))


def test_what_was_cut_off_when_a_run_ended_was_spent() -> None:
    world = Priced(toy_problem())
    search = Search("run_toy", world.problem, RunConfig(), PAID)
    for candidate in search.start().candidates:
        world._score(search, candidate)
    numbers = [search.ask().proposals[0].number for _ in range(3)]
    step = search.close({numbers[1]: CompletedReply(completions=("half",), usage=USAGE, cost=COST)})
    failed = {
        event.payload["proposal_number"]: event.payload for event in step.events if event.kind == "proposal.failed"
    }
    assert list(failed) == numbers
    assert failed[numbers[1]]["cost"] == str(COST)
    assert "cost" not in failed[numbers[0]]
    assert search.state.account.money == COST
    assert search.state.account.tokens == USAGE.total
