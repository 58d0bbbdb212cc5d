"""Embeddings as novelty: whoever is told to a search has a vector by then, and what is too near is not evaluated."""

import asyncio
import math
import re
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pytest

from evolve.configuration import (
    ArchiveConfig,
    BudgetConfig,
    ConcurrencyConfig,
    DeterministicConfig,
    NoveltyConfig,
    RunConfig,
    VariantConfig,
)
from evolve.errors import ConfigurationError, PolicyRefused, PolicyUnavailable
from evolve.evaluation import PLAIN, Evaluation, ScoringRequest
from evolve.events import Event, EventKind
from evolve.money import Money
from evolve.program import Program
from evolve.proposal import CompletedReply, Proposal, Reply, Usage
from evolve.search.driver import Driver
from evolve.search.embedding import check_embedder
from evolve.search.ensemble import EnsembleMember
from evolve.search.result import INTERRUPTED, Result
from evolve.search.search import Search
from evolve.search.shutdown import ENDED
from evolve.similarity import vectors
from tests.fakes.vectors import ToyEmbedder, by_value, look
from tests.fakes.world import World, answers, new_search, resume, score, toy_problem, value_of
from tests.integration.runner.scene import ToyEvaluator, ToyPolicy
from tests.patience import PATIENCE_SECONDS

MIN_DISTANCE = 1 - math.cos(0.03)  # of two directions of `by_value` whose x are 0.3 apart
NEAR = re.compile(
    r"the program is too near .* its distance in embedding from (cnd_\w+) is ([\d.]+), and novelty.min_distance"
)
NOVELTY = NoveltyConfig(kind="embedding", min_distance=MIN_DISTANCE)
CONFIG = RunConfig(budget=BudgetConfig(evaluations=40), islands=2, novelty=NOVELTY)
ONE_ISLAND = RunConfig(
    budget=BudgetConfig(evaluations=60),
    islands=2,
    migration_interval=5,
    concurrency=ConcurrencyConfig(policy=16),
    variants=(VariantConfig(islands=(1,), novelty=NOVELTY),),
)


@dataclass
class Paced(ToyPolicy):
    """A policy that takes so many turns of the event loop for a call, and says what it cost."""

    turns: int = 1

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        async for reply in super().propose(proposal):
            for _ in range(self.turns):
                await asyncio.sleep(0)
            if isinstance(reply, CompletedReply):
                reply = CompletedReply(completions=("toy",), usage=Usage(input=10, output=5), cost=usd(1))
            yield reply


@dataclass
class PacedEvaluator(ToyEvaluator):
    """An evaluator that takes so many turns of the event loop."""

    turns: int = 1

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        for _ in range(self.turns):
            await asyncio.sleep(0)
        return await super().evaluate(program, evaluation_id, scoring)


def usd(amount: float) -> Money:
    return Money(amount=Decimal(str(amount)), currency="USD")


def driver(embedder: ToyEmbedder | None, config: RunConfig = CONFIG, **given: Any) -> Driver:
    problem = toy_problem(seeds=(0.0, 1.0))
    fields: dict[str, Any] = {
        "policies": [EnsembleMember(policy=Paced(), currency="USD")],
        "evaluator": ToyEvaluator(problem),
        "monotonic": time.monotonic,
    }
    return Driver("run_toy", problem, config, **{**fields, **given}, embedder=embedder)


async def ended(running: Driver) -> Result:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await running.run()


def ordered(window: int) -> RunConfig:
    return RunConfig(
        budget=CONFIG.budget, islands=2, novelty=CONFIG.novelty, deterministic=DeterministicConfig(window=window)
    )


def judged(result: Result, islands: Sequence[int] = (0, 1)) -> tuple[int, int]:
    """How many children were taken and how many refused as too near; each by the members of its island at that time.

    Of islands that compare: on the others nothing is too near.
    """
    sources = {record["candidate_id"]: record["source"] for record in result.candidates}
    values = {name: value_of(Program.of({"x.py": text})) for name, text in sources.items() if text}
    members: dict[int, set[str]] = {0: set(), 1: set()}
    taken, refused = 0, 0
    events = list(result.events)
    for event, following in zip(events, [*events[1:], events[-1]], strict=True):
        payload = event.payload
        match event.kind:
            case EventKind.INDIVIDUAL_INSERTED:
                kept = payload["status"] in ("new_cell", "improved", "added")
                members[payload["island"]] |= {payload["candidate_id"]} if kept else set()
                members[payload["island"]] -= set(payload["displaced"])  # a range that grows merges cells of others too
            case EventKind.CANDIDATE_CREATED if (
                payload["proposal_number"] and following.kind is not EventKind.CANDIDATE_DUPLICATE
            ):
                if payload["island"] not in islands:
                    continue
                x = values[payload["candidate_id"]]
                distances = [1 - math.cos((x - values[name]) / 10) for name in members[payload["island"]]]
                assert min(distances) >= MIN_DISTANCE - 1e-6
                taken += 1
            case EventKind.CANDIDATE_REJECTED if found := NEAR.match(payload["reason"]):
                assert payload["island"] in islands
                assert found[1] in members[payload["island"]]
                assert float(found[2]) < MIN_DISTANCE
                refused += 1
            case _:
                pass
    return taken, refused


def story(events: Sequence[Event]) -> list[tuple[EventKind, dict[str, Any]]]:
    """What was told up to the end, where what is under way is cut off wherever it stands; without the time it took."""
    ends = [place for place, event in enumerate(events) if event.payload.get("reason") == ENDED]
    told = []
    for event in events[: ends[0] if ends else None]:
        payload = dict(event.payload)
        payload["charges"] = [{**charge, "seconds": 0.0} for charge in payload.get("charges", ())]
        told.append((event.kind, payload))
    return told


@pytest.mark.parametrize("window", [0, 3])
@pytest.mark.parametrize("turns", [1, 40])
async def test_a_child_is_evaluated_where_it_is_far_from_every_member_of_its_island(window: int, turns: int) -> None:
    result = await ended(driver(ToyEmbedder(turns=turns), ordered(window)))
    taken, refused = judged(result)
    assert taken >= 38
    assert refused > 5
    assert result.account.evaluations == 40


@pytest.mark.parametrize("window", [0, 3])
async def test_where_one_island_compares_by_embeddings_migrants_from_others_are_compared_too(window: int) -> None:
    config = replace(ONE_ISLAND, deterministic=DeterministicConfig(window=window))
    result = await ended(driver(ToyEmbedder(), config))
    taken, refused = judged(result, islands=[1])
    assert taken >= 10
    assert refused > 2
    arrived = [event.payload for event in result.events if event.kind is EventKind.ISLAND_MIGRATED]
    assert any(one["to"] == 1 for one in arrived)


async def test_without_an_embedder_the_same_children_are_taken() -> None:
    plain = RunConfig(budget=CONFIG.budget, islands=2)
    result = await ended(driver(None, plain))
    with pytest.raises(AssertionError):
        judged(result)


async def test_a_child_or_a_member_that_cannot_be_embedded_is_not_judged() -> None:
    result = await ended(driver(ToyEmbedder(make=lambda _: None)))
    assert not any(NEAR.match(event.payload.get("reason") or "") for event in result.events)
    assert result.account.evaluations == 40


async def test_each_program_is_embedded_before_its_answer_is_told_and_members_once() -> None:
    embedder = ToyEmbedder()
    result = await ended(driver(embedder))
    assert [value_of(program) for program in embedder.calls[0]] == [0.0, 1.0]
    embedded = [program.id for call in embedder.calls[1:] for program in call]
    assert not {program.id for program in embedder.calls[0]} & {program.id for program in embedder.calls[1]}
    created = [
        event
        for event in result.events
        if event.kind is EventKind.CANDIDATE_CREATED and event.payload["proposal_number"]
    ]
    assert {event.payload["program_id"] for event in created} <= set(embedded)


@pytest.mark.parametrize("window", [1, 4])
async def test_with_order_kept_a_run_repeats_whatever_the_speed_of_its_parts(window: int) -> None:
    stories = []
    for embedding, answering, scoring in ((1, 1, 1), (60, 1, 1), (1, 60, 1), (2, 7, 60)):
        problem = toy_problem(seeds=(0.0, 1.0))
        running = driver(
            ToyEmbedder(turns=embedding),
            ordered(window),
            policies=[EnsembleMember(policy=Paced(turns=answering, concurrency=1 + answering % 4), currency="USD")],
            evaluator=PacedEvaluator(problem, slots=1 + scoring % 3, turns=scoring),
        )
        stories.append(story((await ended(running)).events))
    assert all(one == stories[0] for one in stories[1:])


async def test_an_embedder_that_is_away_is_waited_for_and_nobody_writes_meanwhile() -> None:
    embedder, policy = ToyEmbedder(), Paced()
    embedder.away = "it is loading"
    heard: list[Event] = []

    def observe(events: Sequence[Event]) -> None:
        heard.extend(events)
        if any(event.kind is EventKind.RUN_WAITING for event in events):
            asked.extend(policy.asked)
            asyncio.get_running_loop().call_later(0.05, setattr, embedder, "away", "")

    asked: list[int] = []
    result = await ended(driver(embedder, policies=[EnsembleMember(policy=policy, currency="USD")], observe=observe))
    waited = [
        event.payload["reason"] for event in heard if event.kind in (EventKind.RUN_WAITING, EventKind.RUN_UNBLOCKED)
    ]
    assert waited == ["the embedder eye cannot be asked: it is loading", ""]
    assert asked == []
    assert embedder.refused_calls >= 2
    assert result.account.evaluations == 40
    judged(result)


@pytest.mark.parametrize("denied", [False, True])
async def test_answers_wait_for_an_embedder_that_went_away_and_are_told_when_it_is_back(
    denied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evolve.search.embedding.DENIED_RETRY_SECONDS", 0.01)
    embedder, policy = ToyEmbedder(), Paced()
    embedder.denied = denied
    waits: list[tuple[int, int]] = []
    told: list[EventKind] = []

    def observe(events: Sequence[Event]) -> None:
        told.extend(event.kind for event in events)
        if not waits and told.count(EventKind.CANDIDATE_EVALUATED) >= 12:
            embedder.away = "it went away"
        if any(event.kind is EventKind.RUN_WAITING for event in events):
            waits.append((told.count(EventKind.PROPOSAL_ANSWERED), len(policy.asked)))
            asyncio.get_running_loop().call_later(0.1, come_back)

    def come_back() -> None:
        waits.append((told.count(EventKind.PROPOSAL_ANSWERED), len(policy.asked)))
        embedder.away = ""

    result = await ended(driver(embedder, policies=[EnsembleMember(policy=policy, currency="USD")], observe=observe))
    (_, asked), (answered, asked_by_then) = waits
    # Those who wrote by then wrote on; nobody else was asked, and no answer was told.
    assert asked_by_then <= asked + policy.concurrency
    assert answered <= asked
    taken, _ = judged(result)
    assert taken >= 38
    assert policy.asked == sorted(set(policy.asked))


async def test_whoever_stops_a_run_ends_the_calls_of_its_embedder() -> None:
    embedder = ToyEmbedder(turns=10**9)

    def observe(events: Sequence[Event]) -> None:
        if any(event.kind is EventKind.PROPOSAL_CREATED for event in events):
            asyncio.get_running_loop().call_later(0.01, running.stop)

    running = driver(embedder, observe=observe)
    result = await ended(running)
    assert (result.reason, embedder.cancelled) == (INTERRUPTED, 1)


async def test_what_was_written_by_a_run_that_is_stopped_is_paid_although_it_was_never_told() -> None:
    embedder = ToyEmbedder()

    def observe(events: Sequence[Event]) -> None:
        if any(event.kind is EventKind.RUN_WAITING for event in events):
            asyncio.get_running_loop().call_later(0.05, running.stop)
        if any(event.kind is EventKind.PROPOSAL_CREATED for event in events):
            asyncio.get_running_loop().call_soon(leave)

    def leave() -> None:
        if embedder.calls:
            embedder.away = "it went away"
        else:
            asyncio.get_running_loop().call_soon(leave)

    running = driver(
        embedder, policies=[EnsembleMember(policy=Paced(concurrency=1, turns=3), currency="USD")], observe=observe
    )
    result = await ended(running)
    failed = [event.payload for event in result.events if event.kind is EventKind.PROPOSAL_FAILED]
    assert [(one["cost"], one["charges"][0]["tokens"]["input"]) for one in failed if "charges" in one] == [("1 USD", 2)]


async def test_what_vectors_cost_is_charged_to_the_proposals_that_they_were_for() -> None:
    embedder = ToyEmbedder(cost=usd(0.25))
    result = await ended(driver(embedder))
    ends = [
        event.payload
        for event in result.events
        if event.kind in (EventKind.PROPOSAL_ANSWERED, EventKind.PROPOSAL_FAILED)
    ]
    charges = [charge for payload in ends for charge in payload.get("charges", [])]
    assert all(len(payload.get("charges", [])) <= 1 for payload in ends)
    assert {(charge["policy"], charge["purpose"]) for charge in charges} == {("eye", "embedding")}
    embedded = sum(len(call) for call in embedder.calls)
    assert sum(charge["tokens"]["input"] for charge in charges) == embedded
    assert sum(charge["seconds"] for charge in charges) == pytest.approx(0.5 * len(embedder.calls))
    written = sum("tokens" in payload and payload["tokens"]["output"] == 5 for payload in ends)
    assert result.account.tokens == 15 * written + embedded
    assert result.account.money == usd(written + 0.25 * len(embedder.calls))


async def test_what_an_embedder_without_a_price_cost_is_not_known() -> None:
    result = await ended(driver(ToyEmbedder(cost=None)))
    assert result.account.money is None


async def test_vectors_are_paid_for_where_the_author_refuses_or_is_asked_again() -> None:
    embedder = ToyEmbedder(cost=usd(0.25))
    troubles = (PolicyUnavailable("busy", 0.0), PolicyRefused("too long"))
    policy = Paced(troubles=troubles, concurrency=1)
    result = await ended(driver(embedder, policies=[EnsembleMember(policy=policy, currency="USD")]))
    failed = next(event.payload for event in result.events if event.kind is EventKind.PROPOSAL_FAILED)
    assert (failed["reason"], failed["cost"]) == ("too long", "0")
    assert [charge["cost"] for charge in failed["charges"]] == ["0.25 USD"]


def test_forgetting_what_nobody_needs_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def story(config: RunConfig) -> tuple[list[Any], int]:
        world = Looking(toy_problem(), choose=lambda waiting: waiting - 1)
        search = new_search(world.problem, config)
        world.play(search, search.start())
        known = search.answer_filter._similarity.vectors
        return [(event.kind, dict(event.payload)) for event in world.log], len(known)

    archive = ArchiveConfig(kind="top", size=10)
    config = RunConfig(budget=BudgetConfig(evaluations=150), islands=2, novelty=CONFIG.novelty, archive=archive)
    expected, many = story(config)
    monkeypatch.setattr(vectors, "_SPARE", 4)
    found, few = story(config)
    assert found == expected
    assert few < many / 2


class Looking(World):
    """A world that hands in vectors with each reply."""

    def _reply(self, search: Any, proposal: Proposal) -> Any:
        look(search, proposal.number, answers(proposal), by_value)
        return super()._reply(search, proposal)


@pytest.mark.parametrize("part", [0.3, 0.7])
def test_a_run_in_which_one_island_compares_by_embeddings_goes_on_as_the_unbroken_one(part: float) -> None:
    config = replace(ONE_ISLAND, deterministic=DeterministicConfig(window=3))
    whole = Looking(toy_problem(seeds=(0.0, 1.0)))
    search = new_search(whole.problem, config)
    whole.play(search, search.start())
    prefix = whole.log[: whole.boundaries[int(part * len(whole.boundaries))]]
    again = Looking(whole.problem, individuals=whole.individuals, candidates=whole.candidates)
    second = new_search(whole.problem, config)
    again.play(second, resume(again, second, prefix))
    assert prefix + again.log == whole.log
    assert any(NEAR.match(event.payload.get("reason") or "") for event in again.log)


def test_what_cannot_be_told_is_not_wanted() -> None:
    problem = toy_problem()
    search = new_search(problem, CONFIG)
    assert isinstance(search, Search)
    (seed,) = search.start().candidates
    assert [program.id for program in search.answer_filter.owed()] == [seed.program.id]
    search.tell(seed.id, score(problem, seed.program))
    (proposal,) = search.ask().proposals
    first, second, *_ = [answer for answer in answers(proposal) if "(" not in answer.text]
    wanted: Callable[..., Program | None] = search.answer_filter.wanted
    assert wanted(proposal.number, first) is not None
    search.answer(proposal.number, first)
    assert wanted(proposal.number, first) is None  # it was told
    assert wanted(proposal.number + 1, second) is None  # nobody asked for it


@pytest.mark.parametrize(
    ("config", "embedder", "said"),
    [
        (CONFIG, None, "novelty.kind = 'embedding' needs an embedder: name a policy with role = \"embedder\""),
        (ONE_ISLAND, None, "novelty.kind = 'embedding' needs an embedder"),
        (RunConfig(), "eye", "the policy eye is an embedder, and nothing asks for embeddings"),
        (
            replace(CONFIG, variants=(VariantConfig(islands=(0, 1), novelty=NoveltyConfig(kind="tokens")),)),
            "eye",
            "the policy eye is an embedder, and nothing asks for embeddings",
        ),
    ],
)
def test_an_embedder_goes_with_the_comparison_by_embeddings(config: RunConfig, embedder: str | None, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        check_embedder(config, embedder)
    with pytest.raises(ConfigurationError, match=said):
        driver(ToyEmbedder() if embedder else None, config)
    check_embedder(CONFIG, "eye")
    check_embedder(ONE_ISLAND, "eye")
    check_embedder(RunConfig(), None)
