"""Deterministic runs are equal whatever the order of completion; a replayed prefix ends where the whole run did."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.configuration import (
    ARCHIVES,
    ISLAND_CHOICES,
    MIGRANTS,
    POLICY_CHOICES,
    RESETS,
    SELECTIONS,
    TOPOLOGIES,
    TRUNCATIONS,
    ArchiveConfig,
    BudgetConfig,
    DeterministicConfig,
    NoveltyConfig,
    RunConfig,
    VariantConfig,
)
from evolve.events import Event
from evolve.problem import Problem
from evolve.reply_form import ReplyForm
from evolve.search.ensemble import PolicyRequest
from tests.fakes.world import ASKING, TEAM, TUNED, World, new_search, resume, toy_problem

WAYS = st.builds(
    RunConfig,
    islands=st.integers(2, 3),
    island_choice=st.sampled_from(ISLAND_CHOICES),
    topology=st.sampled_from(TOPOLOGIES),
    migration_interval=st.just(7),
    migrants=st.sampled_from(MIGRANTS),
    reset_after=st.just(12),
    reset_from=st.sampled_from(RESETS),
    policy_choice=st.sampled_from(POLICY_CHOICES),
    archive=st.builds(
        ArchiveConfig,
        kind=st.sampled_from(ARCHIVES),
        size=st.integers(2, 10),
        front=st.sampled_from([1, 3]),
        truncation=st.sampled_from(TRUNCATIONS),
    ),
    variants=st.sampled_from(
        [
            (),
            (VariantConfig(islands=(1,), archive=ArchiveConfig(kind="top", size=3)),),
            (VariantConfig(islands=(1,), novelty=NoveltyConfig(kind="tokens", min_distance=0.6)),),
        ]
    ),
    selection=st.sampled_from(SELECTIONS).map(lambda name: {name: 1.0}),
    budget=st.just(BudgetConfig(evaluations=40)),
    seed=st.integers(0, 5),
)
FORMS = tuple(
    ReplyForm(format="tags:answer", edits=edits, answers=answers, samples=4 // answers)
    for edits in ("rewrite", "diff")
    for answers in (4, 1)
)
ASKINGS = st.sampled_from([(ASKING,), TEAM, TUNED, (replace(ASKING, forms=FORMS), TEAM[1])])


def repeated(problem: Problem) -> Problem:
    """The problem with repeats that may be spared, so that each order of an evaluation has a threshold."""
    return replace(problem, evaluator=replace(problem.evaluator, repeats=5, min_repeats=2))


def config(way: RunConfig, window: int) -> RunConfig:
    return replace(way, deterministic=DeterministicConfig(window=window))


def play(world: World, window: int, way: RunConfig, askings: Sequence[PolicyRequest]) -> list[Event]:
    search = new_search(world.problem, config(way, window), askings)
    assert world.play(search, search.start()) == "evaluations"
    return world.log


@given(data=st.data(), window=st.integers(1, 9), way=WAYS, several=st.booleans(), askings=ASKINGS)
@settings(max_examples=40, deadline=None)
def test_a_deterministic_run_is_equal_whatever_the_order_of_completion(
    data: st.DataObject, window: int, way: RunConfig, several: bool, askings: Sequence[PolicyRequest]
) -> None:
    problem = repeated(toy_problem(several=several, seeds=(0.0, 5.0)))
    calm = play(World(problem), window, way, askings)
    wild = World(problem, choose=lambda n: data.draw(st.integers(0, n - 1)))
    assert play(wild, window, way, askings) == calm


@given(
    data=st.data(),
    window=st.integers(0, 6),
    way=WAYS,
    part=st.floats(0, 0.97),
    askings=ASKINGS,
    faulty=st.booleans(),
    on_demand=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_run_cut_anywhere_goes_on_to_the_same_end(
    data: st.DataObject,
    window: int,
    way: RunConfig,
    part: float,
    askings: Sequence[PolicyRequest],
    faulty: bool,
    on_demand: bool,
) -> None:
    problem = repeated(toy_problem(several=True, seeds=(0.0, 5.0)))
    whole = World(problem, faulty=faulty)
    search = new_search(problem, config(way, window), askings)
    whole.play(search, search.start())
    prefix = whole.log[: whole.boundaries[int(part * len(whole.boundaries))]]
    again = World(
        problem,
        faulty=faulty,
        individuals=whole.individuals,
        candidates=whole.candidates,
        earlier=dict(whole.individuals),
    )
    second = new_search(problem, config(way, window), askings)
    again.play(second, resume(again, second, prefix, on_demand=on_demand))
    if window:
        assert prefix + again.log == whole.log
    assert second.state.account.evaluations == 40
    told = [e.payload["candidate_id"] for e in prefix if e.kind == "candidate.evaluated"]
    assert not set(told) & set(again.evaluated)
