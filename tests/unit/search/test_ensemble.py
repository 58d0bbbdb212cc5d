"""Several policies in one run: each proposal draws one by weight, and a run goes on while one of them can be asked."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import pytest

from evolve.budget import EXHAUSTED_AFTER
from evolve.configuration import BudgetConfig, ConcurrencyConfig, DeterministicConfig, RunConfig
from evolve.credit.policy_credit import PolicyCredit
from evolve.credit.yields import REFUSALS_IN_A_ROW
from evolve.errors import ConfigurationError, PolicyUnavailable
from evolve.events import Event, EventKind
from evolve.money import Money
from evolve.proposal import Proposal, Reply
from evolve.search.driver import Driver
from evolve.search.ensemble import Ensemble, EnsembleMember, PolicyRequest
from evolve.search.result import Result
from evolve.search.search import Search
from tests.fakes.world import TEAM, score, toy_problem
from tests.integration.runner.scene import ToyEvaluator, ToyPolicy
from tests.patience import PATIENCE_SECONDS

DRAWS = 4000


def names(ensemble: Ensemble, away: Sequence[str] = ()) -> list[str]:
    drawn = [ensemble.draw(number, away) for number in range(1, DRAWS + 1)]
    return [one.policy_request.policy for one in drawn if one is not None]


def three(seed: int = 0) -> Ensemble:
    policy_requests = [
        PolicyRequest(policy="a", weight=3.0),
        PolicyRequest(policy="b"),
        PolicyRequest(policy="c", weight=4.0),
    ]
    return Ensemble(policy_requests, RunConfig(seed=seed), PolicyCredit())


@pytest.mark.parametrize(("away", "shares"), [((), (3 / 8, 1 / 8, 4 / 8)), (("c",), (3 / 4, 1 / 4, 0.0))])
def test_policies_are_drawn_by_weight_among_those_that_are_present(
    away: Sequence[str], shares: tuple[float, float, float]
) -> None:
    counts = Counter(names(three(), away))
    for name, share in zip("abc", shares, strict=True):
        spread = math.sqrt(DRAWS * share * (1 - share))  # of a binomial count
        assert abs(counts[name] - DRAWS * share) <= 4 * spread


def test_a_draw_tells_its_probability_where_there_were_several() -> None:
    drawn = filter(None, (three().draw(number, ("c",)) for number in range(1, 50)))
    assert {one.policy_request.policy: one.rationale for one in drawn} == {
        "a": {"probability": 0.75},
        "b": {"probability": 0.25},
    }
    alone = three().draw(1, ("a", "c"))
    assert alone is not None
    assert (alone.policy_request.policy, alone.rationale) == ("b", {})


def test_a_draw_follows_from_the_seed_and_the_number_of_the_proposal_alone() -> None:
    assert names(three()) == names(three())
    assert names(three()) != names(three(seed=1))


def test_where_all_are_away_none_is_drawn() -> None:
    assert three().draw(1, ("a", "b", "c")) is None


@pytest.mark.parametrize(
    ("policy_requests", "said"),
    [
        ([], "needs a policy"),
        ([PolicyRequest(policy="a"), PolicyRequest(policy="a")], "two policies of the run are called a"),
        (
            [PolicyRequest(policy="a", currency="USD"), PolicyRequest(policy="b", currency="EUR")],
            "priced in EUR and USD",
        ),
    ],
)
def test_policies_that_do_not_go_together_are_refused(policy_requests: list[PolicyRequest], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Search("run_toy", toy_problem(), RunConfig(), *policy_requests)


@pytest.mark.parametrize(("unpriced", "held"), [("", True), (None, False)])
def test_a_budget_of_money_wants_to_know_what_each_policy_costs(unpriced: str | None, held: bool) -> None:
    policy_requests = [PolicyRequest(policy="a", currency="USD"), PolicyRequest(policy="b", currency=unpriced)]
    config = RunConfig(budget=BudgetConfig(money=Money.read("2")))
    if held:
        Search("run_toy", toy_problem(), config, *policy_requests)
        return
    with pytest.raises(ConfigurationError, match=r"budget\.money cannot be held"):
        Search("run_toy", toy_problem(), config, *policy_requests)


def begun(config: RunConfig | None = None) -> Search:
    toy = toy_problem()
    search = Search("run_toy", toy, config or RunConfig(), *TEAM)
    (seed,) = search.start().candidates
    search.tell(seed.id, score(toy, seed.program))
    return search


def test_a_proposal_asks_for_as_many_answers_as_its_policy_gives() -> None:
    search = begun(RunConfig(concurrency=ConcurrencyConfig(policy=16)))
    asked = {(p.policy, p.answers, p.samples, p.limit) for _ in range(15) for p in search.ask().proposals}
    assert asked == {("toy", 3, 2, 6), ("rare", 2, 1, 2)}


def test_a_policy_without_room_is_waited_for_and_none_takes_its_turn() -> None:
    free, held = begun(), begun()
    expected = [proposal.policy for _ in range(15) for proposal in free.ask().proposals]
    found: list[str] = []
    while len(found) < len(expected):
        step = held.ask(busy={"rare"})
        if not step.proposals:
            assert not held.ask(busy={"rare"}).events
            step = held.ask()
            assert step.proposals[0].policy == "rare"
        found += [proposal.policy for proposal in step.proposals]
    assert found == expected
    assert set(found) == {"toy", "rare"}


@dataclass
class Flighty(ToyPolicy):
    """Away for the calls that `missing` numbers, from 0."""

    missing: range = field(default_factory=lambda: range(0))
    calls: int = 0

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        self.calls += 1
        if self.calls - 1 in self.missing:
            raise PolicyUnavailable(f"{self.name} is out", retry_after_seconds=0.01)
        await asyncio.sleep(0.002)
        async for reply in super().propose(proposal):
            yield reply


def flown(policies: Sequence[ToyPolicy], escalate_after: Sequence[int] = (), **given: object) -> Result:
    async def scene() -> Result:
        async with asyncio.timeout(PATIENCE_SECONDS):
            problem = toy_problem()
            config = RunConfig(budget=BudgetConfig(evaluations=60), islands=2, **given)  # type: ignore[arg-type]
            after = [*escalate_after, *[0] * len(policies)]
            members = [
                EnsembleMember(policy=policy, escalate_after=n) for policy, n in zip(policies, after, strict=False)
            ]
            evaluator = ToyEvaluator(problem)
            return await Driver("run_toy", problem, config, members, evaluator, monotonic=time.monotonic).run()

    return asyncio.run(scene())


def of_kind(events: Sequence[Event], kind: EventKind) -> list[dict[str, object]]:
    return [dict(event.payload) for event in events if event.kind is kind]


def answered_by(result: Result) -> Counter[str]:
    asked = {
        payload["proposal_number"]: str(payload["policy"])
        for payload in of_kind(result.events, EventKind.PROPOSAL_CREATED)
    }
    return Counter(asked[payload["proposal_number"]] for payload in of_kind(result.events, EventKind.PROPOSAL_ANSWERED))


def test_a_run_goes_on_with_the_others_while_one_policy_is_away_and_says_so() -> None:
    gone = Flighty(name="gone", missing=range(10**6))
    result = flown([gone, Flighty(name="there")])
    assert (result.reason, result.account.evaluations) == ("evaluations", 60)
    assert of_kind(result.events, EventKind.POLICY_UNAVAILABLE) == [{"policy": "gone", "reason": "gone is out"}]
    assert not of_kind(result.events, EventKind.POLICY_RECOVERED)
    assert not of_kind(result.events, EventKind.RUN_WAITING)
    assert set(answered_by(result)) == {"there"}
    given_up = of_kind(result.events, EventKind.PROPOSAL_FAILED)
    assert {(payload["reason"], payload.get("away")) for payload in given_up if "away" in payload} == {
        ("gone is out", True)
    }


def test_a_policy_that_comes_back_is_asked_again() -> None:
    result = flown([Flighty(name="gone", missing=range(3)), Flighty(name="there")])
    assert of_kind(result.events, EventKind.POLICY_RECOVERED) == [{"policy": "gone"}]
    assert answered_by(result)["gone"] > 0


@dataclass
class Doubtful(ToyPolicy):
    """Away once; then its next answer comes when another policy has been asked ten times more."""

    other: Flighty = field(default_factory=Flighty)
    before: int | None = None

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        if self.before is None:
            self.before = -1
            raise PolicyUnavailable("out", retry_after_seconds=0.01)
        if self.before < 0:
            self.before = self.other.calls
            while self.other.calls < self.before + 10:  # noqa: ASYNC110 - another task's
                await asyncio.sleep(0.001)
        async for reply in super().propose(proposal):
            yield reply


def test_a_policy_that_is_being_tried_again_holds_nobody_up() -> None:
    there = Flighty(name="there")
    doubtful = Doubtful(name="doubtful", other=there, concurrency=1)
    result = flown([doubtful, there])
    assert len(of_kind(result.events, EventKind.POLICY_RECOVERED)) == 1
    assert answered_by(result)["doubtful"] > 1


def test_proposals_that_were_given_up_do_not_exhaust_a_search() -> None:
    search = begun()
    for _ in range(150):
        (proposal,) = search.ask().proposals
        search.forgo(proposal.number, "away")
    assert search.ended() is None
    refused = 0
    while search.ended() is None:
        (proposal,) = search.ask().proposals
        search.fail(proposal.number, f"refused for reason {refused}")
        refused += 1
    assert search.ended() == "policy_refused"
    assert REFUSALS_IN_A_ROW < refused <= EXHAUSTED_AFTER


def test_a_run_waits_while_all_policies_are_away() -> None:
    result = flown([Flighty(name="one", missing=range(4)), Flighty(name="two", missing=range(4))])
    assert {payload["policy"] for payload in of_kind(result.events, EventKind.POLICY_UNAVAILABLE)} == {"one", "two"}
    assert {payload["policy"] for payload in of_kind(result.events, EventKind.POLICY_RECOVERED)} == {"one", "two"}
    reasons = [payload["reason"] for payload in of_kind(result.events, EventKind.RUN_WAITING)]
    assert reasons
    assert set(reasons) == {"one is out; two is out"}
    assert result.reason == "evaluations"


def test_a_deterministic_run_waits_for_a_policy_that_is_away_and_is_what_it_would_have_been() -> None:
    def played(missing: range) -> Result:
        return flown(
            [Flighty(name="one", missing=missing), Flighty(name="two")], deterministic=DeterministicConfig(window=3)
        )

    calm, disturbed = played(range(0)), played(range(2, 5))
    assert "one is out" in {payload["reason"] for payload in of_kind(disturbed.events, EventKind.RUN_WAITING)}
    told = [
        [(event.kind, event.payload) for event in result.events if not event.kind.startswith(("run.", "policy."))]
        for result in (calm, disturbed)
    ]
    assert told[0] == told[1]
    assert len(answered_by(calm)) == 2


def escalating() -> Ensemble:
    policy_requests = [PolicyRequest(policy="chains"), PolicyRequest(policy="agent", escalate_after=10)]
    return Ensemble(policy_requests, RunConfig(), PolicyCredit())


@pytest.mark.parametrize(("since_best", "drawn"), [(0, {"chains"}), (9, {"chains"}), (10, {"chains", "agent"})])
def test_a_policy_that_escalates_is_drawn_only_while_the_run_stagnates(since_best: int, drawn: set[str]) -> None:
    found = [escalating().draw(number, (), since_best) for number in range(1, 100)]
    assert {one.policy_request.policy for one in found if one} == drawn


def test_a_policy_that_escalates_is_drawn_where_all_others_are_away() -> None:
    alone = escalating().draw(1, ("chains",), 0)
    assert alone is not None
    assert alone.policy_request.policy == "agent"


def test_a_run_escalates_after_evaluations_without_a_better_best() -> None:
    result = flown([Flighty(name="chains"), Flighty(name="agent")], escalate_after=(0, 8))
    since, asked = 0, []
    for event in result.events:
        if event.kind is EventKind.BEST_IMPROVED:
            since = 0
        elif event.kind is EventKind.CANDIDATE_EVALUATED:
            since += 1
        elif event.kind is EventKind.PROPOSAL_CREATED:
            asked.append((event.payload["policy"], since))
    assert {policy for policy, _ in asked} == {"chains", "agent"}
    assert min(count for policy, count in asked if policy == "agent") >= 8
