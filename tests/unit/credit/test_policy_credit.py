"""The adaptive choice among policies follows its formula, and its counts are a fold of the run's events."""

import math
from collections import Counter
from collections.abc import Sequence

import pytest

from evolve.configuration import BudgetConfig, RunConfig
from evolve.credit.bandit import upper_bound
from evolve.credit.policy_credit import ANSWERS, MONEY, TOKENS, PolicyCredit
from evolve.events import EventKind
from evolve.money import Money
from evolve.proposal import Answer, CompletedReply, Usage
from evolve.search.ensemble import PolicyRequest
from evolve.search.search import Search
from evolve.search.state import SearchState
from tests.fakes.world import TEAM, World, new_search, score, toy_problem, value_of

Play = tuple[int, int, float]  # proposals, of these won, tokens of each; a program each


def played(**policies: Play) -> PolicyCredit:
    """Earnings of policies after so many proposals, the won ones last."""
    policy_credit = PolicyCredit()
    for name, (proposals, won, tokens) in policies.items():
        for number in range(proposals):
            policy_credit.ask(name)
            policy_credit.pay(name, tokens, Money.read(f"{tokens / 1000:g} USD"), 1)
            policy_credit.settle(name, number >= proposals - won)
    return policy_credit


def faded(wins: Sequence[float]) -> float:
    """Mean in which each counts 0.995 times as much as the next."""
    weights = [0.995**age for age in reversed(range(len(wins)))]
    return sum(w * x for w, x in zip(weights, wins, strict=True)) / sum(weights)


def bound(wins: Sequence[float], everything: int) -> float:
    return upper_bound(faded(wins), len(wins), math.log(everything + 1))


@pytest.mark.parametrize(
    ("counted", "costs"), [([TOKENS], (1.5, 0.5)), ([MONEY], (1.5, 0.5)), ([ANSWERS, MONEY], (1.25, 0.75))]
)
@pytest.mark.parametrize("weight", [0.5, 1.0, 1.7, 2.0, 3.0, 12.0])
def test_the_bound_of_the_gain_over_the_cost_times_the_weight_decides(
    weight: float, counted: list[str], costs: tuple[float, float]
) -> None:
    policy_credit = played(dear=(20, 8, 900.0), cheap=(30, 3, 300.0))
    # costs in shares of their mean, 600
    dear = weight * bound([0.0] * 12 + [1.0] * 8, 50) / costs[0]
    cheap = bound([0.0] * 27 + [1.0] * 3, 50) / costs[1]
    chosen, rationale = policy_credit.best_buy(["dear", "cheap"], [weight, 1.0], counted)
    assert chosen == (0 if dear > cheap else 1)
    assert rationale["visits"] == (20, 30)[chosen]
    assert (rationale["gain"] + rationale["bonus"]) / rationale["price"] == pytest.approx(max(dear, cheap))


def test_money_and_tokens_may_differ_in_what_is_the_better_buy() -> None:
    policy_credit = PolicyCredit()
    for _ in range(20):
        for name, tokens, cost in (("wordy", 1000, "0.001 USD"), ("terse", 100, "0.01 USD")):
            policy_credit.ask(name)
            policy_credit.pay(name, tokens, Money.read(cost), 1)
            policy_credit.settle(name, won=True)
    both = ["wordy", "terse"]
    assert both[policy_credit.best_buy(both, [1.0, 1.0], [MONEY])[0]] == "wordy"
    assert both[policy_credit.best_buy(both, [1.0, 1.0], [TOKENS])[0]] == "terse"


def test_a_policy_that_costs_nothing_and_brings_nothing_is_not_chosen_for_ever() -> None:
    policy_credit = played(free=(3000, 0, 0.0), paid=(10, 9, 500.0))
    # Counted as a tenth of the mean cost, the free one's bound is 0.03 against half of one near 1.
    assert bound([0.0] * 3000, 3010) / 0.1 < bound([0.0] + [1.0] * 9, 3010) / 2
    assert policy_credit.best_buy(["free", "paid"], [1.0, 1.0], [TOKENS])[0] == 1


@pytest.mark.parametrize(
    ("counted", "tokens", "answers", "price"),
    [
        ([ANSWERS], 900, 4, 1.0),
        ([ANSWERS], 0, 8, 4 / 3),
        ([ANSWERS], 0, 0, 0.4),  # a reply without an answer counts as one
        ([ANSWERS, TOKENS], 0, 4, 0.5),
        ([ANSWERS, TOKENS], 900, 1, 0.7),
        ([TOKENS], 0, 8, 0.1),
    ],
)
def test_a_proposal_costs_what_is_counted_in_equal_parts(
    counted: list[str], tokens: int, answers: int, price: float
) -> None:
    policy_credit = PolicyCredit()
    for name, spent in (("model", (900, 4)), ("other", (tokens, answers))):
        for _ in range(5):
            policy_credit.ask(name)
            policy_credit.pay(name, spent[0], None, spent[1])
            policy_credit.settle(name, name == "other")
    chosen, rationale = policy_credit.best_buy(["model", "other"], [0.1, 1.0], counted)
    assert chosen == 1
    assert rationale["price"] == pytest.approx(price)


@pytest.mark.parametrize("answers", [1, 4])
def test_until_there_is_a_gain_a_tuner_takes_as_many_evaluations_as_a_model(answers: int) -> None:
    policy_credit, taken = PolicyCredit(), Counter[str]()
    for _ in range(500):
        place, _ = policy_credit.best_buy(["model", "tuner"], [1.0, 1.0], [ANSWERS])
        name, tokens, written = (("model", 1400.0, answers), ("tuner", 0.0, 8))[place]
        policy_credit.ask(name)
        policy_credit.pay(name, tokens, None, written)
        policy_credit.settle(name, won=False)
        taken[name] += written
    assert taken["tuner"] == pytest.approx(taken["model"], rel=0.15)


def test_policies_that_are_all_free_are_told_apart_by_what_they_bring() -> None:
    policy_credit = played(good=(40, 20, 0.0), poor=(40, 1, 0.0))
    assert policy_credit.best_buy(["poor", "good"], [1.0, 1.0], [TOKENS])[0] == 1


def test_each_is_tried_three_times_first() -> None:
    policy_credit = played(known=(9, 9, 1.0), new=(2, 0, 1000.0))
    assert policy_credit.best_buy(["known", "new"], [1.0, 1.0], [TOKENS]) == (1, {"visits": 2})


def shares(*askings: PolicyRequest, spent: dict[str, int]) -> Counter[str]:
    """How often each policy is asked in an adaptive run in which a proposal of each takes so many tokens."""
    toy = toy_problem()
    config = RunConfig(policy_choice="adaptive", islands=1, budget=BudgetConfig(evaluations=400, tokens=10**9))
    search = Search("run_toy", toy, config, *askings)
    (seed,) = search.start().candidates
    search.tell(seed.id, score(toy, seed.program))
    asked: Counter[str] = Counter()
    while search.ended() is None:
        (proposal,) = search.ask().proposals
        asked[proposal.policy] += 1
        x = value_of(proposal.parent.program)
        step = (3 - x) * (0.02 if proposal.policy != "worse" else -0.5) + 1e-6 * proposal.number
        taken = search.answer(proposal.number, Answer(chain=0, index=0, text=f"x = {x + step!r}\n"))
        search.complete(proposal.number, CompletedReply(completions=("",), usage=Usage(output=spent[proposal.policy])))
        for candidate in taken.candidates:
            search.tell(candidate.id, score(toy, candidate.program))
    return asked


def test_of_two_that_bring_as_much_the_cheaper_is_asked_more() -> None:
    asked = shares(PolicyRequest(policy="cheap"), PolicyRequest(policy="dear"), spent={"cheap": 100, "dear": 1000})
    assert asked["cheap"] > 2 * asked["dear"] > 0


def test_of_two_that_cost_as_much_the_one_that_finds_something_is_asked_more() -> None:
    asked = shares(PolicyRequest(policy="better"), PolicyRequest(policy="worse"), spent={"better": 100, "worse": 100})
    assert asked["better"] > 5 * asked["worse"] > 0


def test_the_earnings_of_a_run_are_the_fold_of_its_events() -> None:
    config = RunConfig(policy_choice="adaptive", budget=BudgetConfig(evaluations=90))
    toy = toy_problem()
    world = World(toy)
    search = new_search(toy, config, TEAM)
    world.play(search, search.start())
    again = SearchState(toy, config)
    for event in world.log:
        again.apply(event)
    found = again.trials.policy_credit.by_policy
    assert found == search.state.trials.policy_credit.by_policy
    asked = Counter(event.payload["policy"] for event in world.log if event.kind is EventKind.PROPOSAL_CREATED)
    assert {name: earning.gains.visits for name, earning in found.items()} == asked
    assert [earning.tokens.mean for earning in found.values()] == pytest.approx([15.0, 15.0])


def test_a_proposal_that_was_given_up_does_not_count() -> None:
    config = RunConfig(policy_choice="adaptive")
    toy = toy_problem()
    search = Search("run_toy", toy, config, *TEAM)
    (seed,) = search.start().candidates
    search.tell(seed.id, score(toy, seed.program))
    (proposal,) = search.ask().proposals
    search.forgo(proposal.number, "away")
    earning = search.state.trials.policy_credit.of(proposal.policy)
    assert (earning.gains.visits, earning.gains.weight) == (0, 0.0)


@pytest.mark.parametrize(
    ("budget", "currency", "chosen"),
    [
        (BudgetConfig(evaluations=None, patience=9), None, "terse"),  # tokens, where nothing else is limited
        (BudgetConfig(evaluations=None, patience=9), "USD", "cheap"),
        (BudgetConfig(), None, "brief"),  # answers alone
        (BudgetConfig(evaluations=None, answers=50), None, "brief"),
        (BudgetConfig(tokens=10**6), None, "terse"),  # answers and tokens
        (BudgetConfig(), "USD", "cheap"),  # answers and money
    ],
)
def test_what_the_budget_limits_is_what_a_proposal_costs(
    budget: BudgetConfig, currency: str | None, chosen: str
) -> None:
    config = RunConfig(policy_choice="adaptive", budget=budget)
    costs = {"terse": (10, "1 USD", 2), "cheap": (1000, "0.01 USD", 2), "brief": (1000, "1 USD", 1)}
    search = Search(
        "run_toy", toy_problem(), config, *(PolicyRequest(policy=name, currency=currency) for name in costs)
    )
    for name, (tokens, money, answers) in costs.items():
        for _ in range(5):
            policy_credit = search.state.trials.policy_credit
            policy_credit.ask(name)
            policy_credit.pay(name, tokens, Money.read(money), answers)
            policy_credit.settle(name, won=False)
    (seed,) = search.start().candidates
    search.tell(seed.id, score(search.problem, seed.program))
    assert search.ask().proposals[0].policy == chosen
