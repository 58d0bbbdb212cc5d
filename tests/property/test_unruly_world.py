"""Whatever policies and evaluators do, a search spends its budget exactly, ends, and is the fold of its events."""

import json
import math
from collections import Counter
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evolve.configuration import (
    ARCHIVES,
    ISLAND_CHOICES,
    MIGRANTS,
    NOVELTIES,
    OPERATOR_CHOICES,
    OPERATORS,
    RESETS,
    SELECTIONS,
    STRATEGIES,
    TOPOLOGIES,
    TRUNCATIONS,
    ArchiveConfig,
    BudgetConfig,
    DeterministicConfig,
    NoveltyConfig,
    PromptConfig,
    RunConfig,
    SelectionOptions,
)
from evolve.credit.yields import UNSUCCESSFUL
from evolve.events import Event, EventKind
from evolve.problem import EvaluatorSpec, Measure, Objective, Problem
from evolve.search.deterministic_schedule import DeterministicSchedule, open_search
from evolve.search.ensemble import PolicyRequest
from evolve.search.search import Search, SearchStep
from evolve.search.shutdown import ENDED
from evolve.search.state import SearchState
from service.ports import Counters
from service.projections import count
from service.runner.status import StatusFold
from tests.fakes.unruly import UnrulyWorld, bare, known
from tests.fakes.world import program

CLOSENESS = Objective(name="closeness", low=-10.0, high=0.0)
SMALLNESS = Objective(name="smallness", low=0.0, high=1.0)
ALONE = Objective(name="closeness")
MEASURES = ((), (Measure(name="magnitude", bins=3),), (Measure(name="magnitude", low=0.0, high=0.5),))


def problems() -> st.SearchStrategy[Problem]:
    return st.builds(
        lambda seeds, objectives, measures: Problem(
            name="unruly",
            seeds=tuple(program(float(x)) for x in seeds),
            evaluator=EvaluatorSpec(entry="x"),
            objectives=objectives,
            measures=measures,
        ),
        st.lists(st.integers(0, 2), min_size=1, max_size=3),
        st.sampled_from([(), (ALONE,), (CLOSENESS,), (CLOSENESS, SMALLNESS)]),
        st.sampled_from([*MEASURES, (Measure(name="complexity"),)]),
    )


def budgets() -> st.SearchStrategy[BudgetConfig]:
    few = st.integers(1, 40)
    either = st.sampled_from([(True, False), (False, True), (True, True)])
    return st.builds(
        lambda which, evaluations, answers, tokens, patience: BudgetConfig(
            evaluations=evaluations if which[0] else None,
            answers=answers if which[1] else None,
            tokens=tokens,
            patience=patience,
        ),
        either,
        few,
        few,
        st.none() | st.integers(1, 300),
        st.none() | st.integers(3, 30),
    )


Change = tuple[str, int | None]


def changes() -> st.SearchStrategy[Change]:
    """Another value for a key of the budget; never one that lets a search go on for ever."""
    limits = st.tuples(st.sampled_from(["evaluations", "answers"]), st.integers(1, 60))
    return limits | st.tuples(st.sampled_from(["tokens", "patience"]), st.none() | st.integers(1, 300))


def configs(windows: st.SearchStrategy[int]) -> st.SearchStrategy[RunConfig]:
    return st.builds(
        RunConfig,
        strategy=st.sampled_from(STRATEGIES),
        islands=st.integers(1, 3),
        island_choice=st.sampled_from(ISLAND_CHOICES),
        topology=st.sampled_from(TOPOLOGIES),
        migrants=st.sampled_from(MIGRANTS),
        reset_from=st.sampled_from(RESETS),
        migration_interval=st.integers(1, 7),
        migration_rate=st.sampled_from([0.0, 0.1, 1.0]),
        reset_after=st.sampled_from([0, 1, 5]),
        archive=st.builds(
            ArchiveConfig,
            kind=st.sampled_from(ARCHIVES),
            size=st.integers(1, 6),
            front=st.sampled_from([1, 2]),
            truncation=st.sampled_from(TRUNCATIONS),
            neighbours=st.integers(1, 4),
        ),
        selection=st.dictionaries(st.sampled_from(SELECTIONS), st.floats(0.1, 1e100), max_size=3),
        operators=st.dictionaries(st.sampled_from(OPERATORS), st.floats(0.1, 1e100), max_size=4),
        operator_choice=st.sampled_from(OPERATOR_CHOICES),
        novelty=st.builds(
            NoveltyConfig, kind=st.sampled_from(NOVELTIES), min_distance=st.sampled_from([0.0, 0.3, 1.0])
        ),
        selection_options=st.builds(
            SelectionOptions,
            dirichlet_alpha=st.sampled_from([1e-300, 0.5, 1.0, 1e90]),
            power_law_exponent=st.sampled_from([0.0, 1e-300, 0.5, 1e90]),
            exploration=st.sampled_from([0.0, 1.0, 1e100]),
            cases=st.sampled_from([1e-9, 0.5, 1.0]),
        ),
        prompt=st.builds(PromptConfig, failures=st.integers(0, 2)),
        budget=budgets(),
        seed=st.integers(0, 9),
        deterministic=st.builds(DeterministicConfig, window=windows),
        answers=st.integers(1, 4),
        samples=st.integers(1, 3),
    )


def opened(problem: Problem, config: RunConfig) -> Search | DeterministicSchedule:
    return open_search("run_unruly", problem, config, PolicyRequest(policy="unruly"))


def resumed(
    world: UnrulyWorld, search: Search | DeterministicSchedule, log: list[Event], *, on_demand: bool = False
) -> SearchStep:
    owed = search.replay(
        bare(log),
        lambda ids: [world.individuals[i] for i in ids],
        lambda ids: [world.candidates[i] for i in ids],
        on_demand=on_demand,
    )
    return SearchStep(candidates=owed.candidates, proposals=owed.proposals)


def check_budget(
    search: Search | DeterministicSchedule, config: RunConfig, problem: Problem, reason: str | None
) -> None:
    account, budget = search.state.account, config.budget
    if budget.evaluations is not None:
        assert account.evaluations <= max(budget.evaluations, len(problem.seeds))
    if budget.answers is not None:
        assert account.answers <= budget.answers
    if reason in {"evaluations", "answers"}:
        assert getattr(account, reason) >= getattr(budget, reason)
    assert reason in {"evaluations", "answers", "tokens", "patience", "exhausted", *UNSUCCESSFUL}


def check_log(search: Search | DeterministicSchedule, log: list[Event]) -> None:
    json.dumps([event.payload for event in log], allow_nan=False)
    of = {kind: [event.payload for event in log if event.kind is kind] for kind in EventKind}
    created = [payload["candidate_id"] for payload in of[EventKind.CANDIDATE_CREATED]]
    ends = of[EventKind.CANDIDATE_EVALUATED] + of[EventKind.CANDIDATE_DUPLICATE]
    assert sorted(created) == sorted(payload["candidate_id"] for payload in ends)
    assert len(set(created)) == len(created)
    answered = Counter(
        p["proposal_number"]
        for p in of[EventKind.CANDIDATE_CREATED] + of[EventKind.CANDIDATE_REJECTED]
        if p["proposal_number"]
    )
    limits = {payload["proposal_number"]: payload["limit"] for payload in of[EventKind.PROPOSAL_CREATED]}
    assert all(answered[number] <= limit for number, limit in limits.items())
    closed = [payload["proposal_number"] for payload in of[EventKind.PROPOSAL_ANSWERED] + of[EventKind.PROPOSAL_FAILED]]
    assert sorted(closed) == sorted(limits)
    duplicates = {payload["candidate_id"]: payload["of"] for payload in of[EventKind.CANDIDATE_DUPLICATE]}
    assert not set(duplicates.values()) & set(duplicates)
    assert search.state.account.barren == barren(log)
    check_projections(search, log)


def barren(log: list[Event]) -> int:
    """Proposals at the end of a log that brought nothing to evaluate."""
    duplicates = {event.payload["candidate_id"] for event in log if event.kind is EventKind.CANDIDATE_DUPLICATE}
    created = [event.payload for event in log if event.kind is EventKind.CANDIDATE_CREATED]
    fruitful = {payload["proposal_number"] for payload in created if payload["candidate_id"] not in duplicates}
    closed = [
        e.payload["proposal_number"] for e in log if e.kind in {EventKind.PROPOSAL_ANSWERED, EventKind.PROPOSAL_FAILED}
    ]
    return len(list(takewhile(lambda number: number not in fruitful, reversed(closed))))


def check_projections(search: Search | DeterministicSchedule, log: list[Event]) -> None:
    counters, status, account = Counters(), StatusFold("run_unruly"), search.state.account
    for event in log:
        counters = count(counters, event)
        status.apply(event)
    assert (counters.evaluations, counters.answers) == (account.evaluations, account.answers)
    assert counters.tokens_input + counters.tokens_output == account.tokens
    assert not status._pending
    best = search.state.best
    assert best is not None
    assert (status.status.best_candidate_id, status.status.best_fitness) == (best.candidate_id, best.fitness)


@given(
    problem=problems(),
    config=configs(st.integers(0, 7)),
    temper=st.integers(0, 1000),
    order=st.integers(0, 1000),
    candour=st.sampled_from([0.05, 0.5, 0.9]),
)
@settings(max_examples=150, deadline=None)
def test_a_search_ends_with_its_budget_spent_exactly_and_nothing_scored_twice(
    problem: Problem, config: RunConfig, temper: int, order: int, candour: float
) -> None:
    world = UnrulyWorld(problem, temper, np.random.default_rng(order), candour)
    search = opened(problem, config)
    world.begin(search.start())
    reason = world.play(search)
    check_budget(search, config, problem, reason)
    check_log(search, world.log)
    scored = [world.candidates[candidate].fingerprint for candidate in world.evaluated]
    assert len(set(scored)) == len(scored)
    again = opened(problem, config)
    resumed(world, again, world.log)
    assert known(again.state) == known(search.state)


@given(
    problem=problems(),
    config=configs(st.integers(0, 7)),
    temper=st.integers(0, 1000),
    order=st.integers(0, 1000),
    sittings=st.lists(st.integers(1, 60), max_size=4),
)
@settings(max_examples=150, deadline=None)
def test_a_search_that_is_cut_off_again_and_again_knows_what_it_knew(
    problem: Problem, config: RunConfig, temper: int, order: int, sittings: list[int]
) -> None:
    world = UnrulyWorld(problem, temper, np.random.default_rng(order))
    search = opened(problem, config)
    world.begin(search.start())
    reason = None
    for calls in [*sittings, None]:
        reason = world.play(search) if calls is None else world.play(search, calls)
        if reason is not None:
            break
        search = cut(world, search, config)
    check_budget(search, config, problem, reason)
    check_log(search, world.log)


def cut(
    world: UnrulyWorld, search: Search | DeterministicSchedule, config: RunConfig
) -> Search | DeterministicSchedule:
    """End a search where it stands; another one, which knows the same."""
    again = opened(world.problem, config)
    world.forget()
    step = resumed(world, again, world.log)
    assert known(again.state) == known(search.state)
    world.begin(step)
    return again


@given(
    problem=problems(),
    config=configs(st.integers(0, 7)),
    temper=st.integers(0, 1000),
    order=st.integers(0, 1000),
    sittings=st.lists(st.tuples(st.integers(0, 60), st.none() | changes()), max_size=5),
    cancelled=st.booleans(),
)
@example(
    problem=Problem(
        name="unruly",
        seeds=tuple(program(float(x)) for x in (0, 0, 2)),
        evaluator=EvaluatorSpec(entry="x"),
        objectives=(ALONE,),
        measures=MEASURES[2],
    ),
    config=RunConfig(
        strategy="sequential",
        budget=BudgetConfig(evaluations=None, answers=13, tokens=148, patience=3),
        novelty=NoveltyConfig(kind="tokens", min_distance=0.3),
        prompt=PromptConfig(failures=0),
        seed=7,
        deterministic=DeterministicConfig(window=2),
        answers=3,
        samples=1,
    ),
    temper=193,
    order=488,
    sittings=[(47, ("patience", 139))],  # at its end already, where the budget that is stored with it is not
    cancelled=False,
)
@example(
    problem=Problem(name="unruly", seeds=(program(0.0),), evaluator=EvaluatorSpec(entry="x"), objectives=(ALONE,)),
    config=RunConfig(
        islands=1,
        budget=BudgetConfig(evaluations=30, patience=3),
        deterministic=DeterministicConfig(window=2),
        answers=2,
        samples=1,
    ),
    temper=2,
    order=0,
    sittings=[(300, ("evaluations", 12)), (0, ("patience", None))],  # at its end by the key that is extended second
    cancelled=False,
)
@settings(max_examples=200, deadline=None)
def test_a_search_that_is_extended_cut_off_and_cancelled_is_the_fold_of_its_events(
    problem: Problem,
    config: RunConfig,
    temper: int,
    order: int,
    sittings: list[tuple[int, Change | None]],
    cancelled: bool,
) -> None:
    world = UnrulyWorld(problem, temper, np.random.default_rng(order))
    search = opened(problem, config)
    world.begin(search.start())
    maximum = {key: getattr(config.budget, key) or math.inf for key in ("evaluations", "answers")}
    for calls, change in sittings:
        world.go_on(search, calls)
        if change is None:
            search = cut(world, search, config)
            continue
        world.extend(search, *change)
        maximum |= {change[0]: max(change[1] or 0, given_out(search, change[0]))} if change[0] in maximum else {}
    if cancelled:
        world.close(search)
    else:
        reason = world.play(search)
        assert reason in {"evaluations", "answers", "tokens", "patience", "exhausted", *UNSUCCESSFUL}
    account = search.state.account
    assert account.evaluations <= max(maximum["evaluations"], len(problem.seeds))
    assert account.answers <= maximum["answers"]
    if search.state.best is not None:
        check_log(search, world.log)
    for stored in (config, replace(config, budget=search.state.budget)):
        again = opened(problem, stored)
        resumed(world, again, world.log)
        assert known(again.state) == known(search.state)


def as_ordered(event: Event) -> Event:
    """An event without what depends on the moment: how much was written of answers that the end of the run cut off."""
    payload = {key: value for key, value in event.payload.items() if key not in {"tokens", "cost"}}
    cut = event.kind is EventKind.PROPOSAL_FAILED and payload["reason"] == ENDED
    return Event.stored(event.kind, payload=payload) if cut else event


def decided(state: SearchState) -> dict[str, Any]:
    """All that is known, without the sums that hold what was cut off."""
    found = known(state)
    return found | {"account": replace(found["account"], tokens=0, money=None)}


def given_out(search: Search | DeterministicSchedule, key: str) -> int:
    """What is used of a key, and what was asked for and may still come."""
    state = search.state
    pending = len(state.pending) if key == "evaluations" else 0
    return int(getattr(state.account, key)) + pending + state.outstanding


@given(
    problem=problems(),
    config=configs(st.integers(1, 7)),
    temper=st.integers(0, 1000),
    orders=st.tuples(st.integers(0, 1000), st.integers(0, 1000)),
    part=st.floats(0.0, 1.0),
    extensions=st.lists(st.tuples(st.integers(0, 80), changes()), max_size=2),
)
@settings(max_examples=150, deadline=None)
def test_a_deterministic_search_is_the_same_in_any_order_and_after_any_cut(
    problem: Problem,
    config: RunConfig,
    temper: int,
    orders: tuple[int, int],
    part: float,
    extensions: list[tuple[int, Change]],
) -> None:
    whole = UnrulyWorld(problem, temper, np.random.default_rng(orders[0]))
    search = opened(problem, config)
    whole.begin(search.start())
    since = 0
    for calls, (key, value) in extensions:
        whole.go_on(search, calls)
        whole.extend(search, key, value)
        since = len(whole.boundaries) - 1
    whole.play(search)
    upto = whole.boundaries[since + int(part * (len(whole.boundaries) - 2 - since))]
    rest = UnrulyWorld(problem, temper, np.random.default_rng(orders[1]))
    again = opened(problem, config)
    rest.begin(resumed(whole, again, whole.log[:upto]))
    rest.play(again)
    assert [as_ordered(event) for event in (*whole.log[:upto], *rest.log)] == [as_ordered(event) for event in whole.log]
    assert decided(again.state) == decided(search.state)
