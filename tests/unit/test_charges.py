"""What is paid beside a completion is told with it and counted once, whatever becomes of the proposal."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from prometheus_client import REGISTRY

from evolve.configuration import BudgetConfig, DeterministicConfig, RunConfig
from evolve.event_types import ProposalAnswered, ProposalFailed
from evolve.events import Event, EventKind
from evolve.money import Money, read_money
from evolve.payloads import Bill, bills
from evolve.proposal import Charge, CompletedReply, Usage
from evolve.search.deterministic_schedule import open_search
from evolve.search.ensemble import PolicyRequest
from service.ports import Counters, LoggedEvent
from service.projections.costs import Costs
from service.projections.run_totals import count
from service.runner.metrics import RunMetrics
from service.runner.status import RunStatus
from tests.contract.story import RUN, START
from tests.fakes.unruly import bare, known
from tests.fakes.world import World, answers, score, toy_problem

WRITTEN = Usage(input=100, cached=40, output=10)
REVIEWED = Usage(input=7, cached=2, output=3)
CHARGE = Charge(
    policy="judge", purpose="review", usage=REVIEWED, cost=Money(amount=Decimal("0.5"), currency="USD"), seconds=2.0
)
ASKING = PolicyRequest(policy="toy", answers=3, samples=2, currency="USD")


def completed(*charges: Charge, samples: int = 2) -> CompletedReply:
    cost = Money(amount=Decimal(1), currency="USD")
    return CompletedReply(completions=("toy",) * samples, usage=WRITTEN, cost=cost, charges=charges)


class Reviewed(World):
    """A world whose policy is reviewed; every third proposal is refused after its review, every other third forgone."""

    def _reply(self, search: Any, proposal: Any) -> Any:
        number = proposal.number
        if number % 3 == 1:
            for answer in answers(proposal):
                self._send(search, search.answer(number, answer))
            return search.complete(number, completed(CHARGE, CHARGE, samples=proposal.samples))
        cut = CompletedReply(completions=(), cost=Money(), charges=(CHARGE,))
        if number % 3 == 2 and hasattr(search, "forgo"):
            return search.forgo(number, "away", cut)
        return search.fail(number, "refused", cut)


def run(config: RunConfig) -> tuple[Any, Reviewed, str | None]:
    world = Reviewed(toy_problem())
    search = open_search("run_toy", world.problem, config, ASKING)
    return search, world, world.play(search, search.start())


def ends(log: Sequence[Event]) -> list[Event]:
    return [event for event in log if event.kind in (EventKind.PROPOSAL_ANSWERED, EventKind.PROPOSAL_FAILED)]


@pytest.mark.parametrize("window", [0, 3])
def test_every_charge_is_counted_once(window: int) -> None:
    config = RunConfig(budget=BudgetConfig(evaluations=40), deterministic=DeterministicConfig(window=window))
    search, world, _ = run(config)
    # Of proposals that nobody replied to before the run ended, nothing was paid.
    paid = [event for event in ends(world.log) if event.payload.get("charges")]
    answered = sum(event.kind is EventKind.PROPOSAL_ANSWERED for event in paid)
    failed = len(paid) - answered
    assert answered
    assert failed
    reviews = 2 * answered + failed
    assert search.state.account.tokens == 110 * answered + 10 * reviews
    assert search.state.account.money == Money(amount=answered + Decimal("0.5") * reviews, currency="USD")
    counters = Counters()
    for event in world.log:
        counters = count(counters, event)
    assert (counters.tokens_input, counters.tokens_cached, counters.tokens_output) == (
        100 * answered + 7 * reviews, 40 * answered + 2 * reviews, 10 * answered + 3 * reviews,
    )  # fmt: skip
    assert counters.cost == str(search.state.account.money)


def test_a_replay_knows_of_charges() -> None:
    search, world, _ = run(RunConfig(budget=BudgetConfig(evaluations=40)))
    again = open_search("run_toy", world.problem, RunConfig(budget=BudgetConfig(evaluations=40)), ASKING)
    again.replay(
        bare(world.log), lambda ids: [world.individuals[i] for i in ids], lambda ids: [world.candidates[i] for i in ids]
    )
    assert known(again.state) == known(search.state)


@pytest.mark.parametrize(("key", "limit"), [("tokens", 500), ("money", read_money("5"))])
def test_charges_use_up_a_budget(key: str, limit: Any) -> None:
    search, world, reason = run(RunConfig(budget=BudgetConfig(**{"evaluations": None, key: limit})))
    assert reason == key
    # Those that were answered, of 110 tokens or 1 USD each, would not have reached the limit alone.
    answered = sum(event.kind is EventKind.PROPOSAL_ANSWERED for event in world.log)
    used = {"tokens": search.state.account.tokens, "money": search.state.account.money.amount}[key]
    maximum = {"tokens": 500, "money": 5}[key]
    assert answered * {"tokens": 110, "money": 1}[key] < maximum <= used


def test_what_was_under_way_when_a_run_ends_is_charged() -> None:
    world = World(toy_problem())
    search = open_search("run_toy", world.problem, RunConfig(), ASKING)
    seed = search.start().candidates[0]
    search.tell(seed.id, score(world.problem, seed.program))
    (proposal,) = search.ask().proposals
    (event,) = search.close({proposal.number: CompletedReply(completions=(), cost=Money(), charges=(CHARGE,))}).events
    assert event.kind is EventKind.PROPOSAL_FAILED
    assert (search.state.account.tokens, str(search.state.account.money)) == (10, "0.5 USD")


def test_an_event_tells_of_charges_only_where_there_are_any() -> None:
    _, world, _ = run(RunConfig(budget=BudgetConfig(evaluations=10)))
    answered = next(event for event in world.log if event.kind is EventKind.PROPOSAL_ANSWERED)
    told, data = answered.payload, answered.data
    assert isinstance(data, ProposalAnswered)
    bill = {
        "policy": "judge", "purpose": "review", "tokens": {"input": 7, "cached": 2, "output": 3}, "cost": "0.5 USD",
        "seconds": 2.0,
    }  # fmt: skip
    assert told["charges"] == [bill, bill]
    assert told["tokens"] == {"input": 100, "cached": 40, "output": 10}
    own = Bill("", data.tokens, data.cost)
    charge = Bill("judge", Usage(input=7, cached=2, output=3), Money.read("0.5 USD"), purpose="review")
    assert bills(data) == [own, charge, charge]
    assert bills(ProposalFailed(proposal_number=1, reason="refused")) == []
    plain = World(toy_problem())
    search = open_search("run_toy", plain.problem, RunConfig(budget=BudgetConfig(evaluations=10)), ASKING)
    plain.play(search, search.start())
    assert not any("charges" in event.payload for event in plain.log)


def test_charges_are_told_of_whom_they_were_paid_to() -> None:
    costs = Costs()
    _, world, _ = run(RunConfig(budget=BudgetConfig(evaluations=40)))
    for sequence, event in enumerate(world.log, start=1):
        costs.take(LoggedEvent(run_id=RUN, sequence=sequence, at=START, event=event))
    author, judge = costs.by_policy()["toy"], costs.by_policy()["judge"]
    paid = [event for event in ends(world.log) if event.payload.get("charges")]
    reviews = sum(len(event.payload["charges"]) for event in paid)
    answered = sum(event.kind is EventKind.PROPOSAL_ANSWERED for event in paid)
    assert (author.tokens_input, author.money) == (100 * answered, f"{answered} USD")
    assert (judge.tokens_input, judge.tokens_output) == (7 * reviews, 3 * reviews)
    assert judge.money == str(Money(amount=Decimal("0.5") * reviews, currency="USD"))
    assert (judge.proposals, judge.answered, judge.answers) == (0, 0, 0)
    assert sum(cost.tokens_input for cost in costs.by_operator().values()) == 100 * answered + 7 * reviews


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_metrics_tell_charges_of_whom_they_were_paid_to() -> None:
    before = counted("evolve_policy_tokens_total", model="judge", direction="input")
    _, world, _ = run(RunConfig(budget=BudgetConfig(evaluations=20)))
    metrics = RunMetrics()
    status = RunStatus(run_id=RUN, state="running")
    logged = [LoggedEvent(run_id=RUN, sequence=n, at=START, event=event) for n, event in enumerate(world.log, start=1)]
    metrics.committed(logged, status)
    metrics.rests(RUN)
    reviews = sum(len(event.payload.get("charges", ())) for event in ends(world.log))
    assert counted("evolve_policy_tokens_total", model="judge", direction="input") - before == 7 * reviews > 0
    assert counted("evolve_policy_cost_total", model="judge", currency="USD") >= 0.5 * reviews


def test_what_a_policy_costs_is_all_that_its_proposals_cost() -> None:
    search, _, _ = run(RunConfig(budget=BudgetConfig(evaluations=40)))
    earning = search.state.trials.policy_credit.of("toy")
    assert earning.tokens.mean == pytest.approx(110 + 2 * 10)
    assert earning.money.mean == pytest.approx(1 + 2 * 0.5)
