"""Snapshots of runs that people change, that learn and that write prompts: each gives the state that a replay gives."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.configuration import BudgetConfig, InsightsConfig, RunConfig
from evolve.events import Event
from evolve.problem import Problem
from evolve.search.search import Search
from evolve.search.snapshot import differences, draft, encode, restore
from evolve.search.state import SearchState
from tests.fakes.steering import Ask, steered
from tests.fakes.unruly import bare
from tests.fakes.world import ASKING, toy_problem
from tests.property.search.test_changes import CHANGES
from tests.property.search.test_fold import told
from tests.property.search.test_search import ASKINGS, WAYS, config, repeated
from tests.unit.search.test_learning import LearningWorld, configured
from tests.unit.search.test_prompt_pool import ASKING as WRITING
from tests.unit.search.test_prompt_pool import CONFIG as POOL
from tests.unit.search.test_prompt_pool import Writing

Make = Callable[[], Search]


def maker(problem: Problem, run: RunConfig, askings: Any) -> Make:
    return lambda: Search("run_toy", problem, run, *askings)


@contextmanager
def snapped(make: Make, every: int, first: int) -> Iterator[dict[int, bytes]]:
    """Snapshots of the live state, by the number of events that it folded."""
    found: dict[int, bytes] = {}
    apply, events = SearchState.apply, count(1)

    def watch(self: SearchState, event: Event) -> None:
        apply(self, event)
        number = next(events)
        if number % every == first % every:
            holder = make()
            holder.state = self
            found[number] = encode(draft(holder))

    SearchState.apply = watch  # type: ignore[method-assign] # the one way into the state, which this test watches
    try:
        yield found
    finally:
        SearchState.apply = apply  # type: ignore[method-assign]


def compare(make: Make, log: list[Event], snapshots: Mapping[int, bytes]) -> None:
    """Each snapshot is the fold of the events before it, and those behind it lead to the same state from there."""
    events = bare(log)
    whole = make()
    folded = 0
    for number, content in sorted(snapshots.items()):
        for event in events[folded:number]:
            whole.state.apply(event)
        folded = number
        quick = make()
        restore(quick, content)
        assert differences(quick.state, whole.state) == []
        assert told(quick.state) == told(whole.state)
        assert quick.state.config == whole.state.config
    for event in events[folded:]:
        whole.state.apply(event)
    for number, content in snapshots.items():
        quick = make()
        restore(quick, content)
        for event in events[number:]:
            quick.state.apply(event)
        assert differences(quick.state, whole.state) == []
        assert told(quick.state) == told(whole.state)


@settings(max_examples=15, deadline=None)
@given(way=WAYS, askings=ASKINGS, asked=CHANGES, seed=st.integers(0, 1000), first=st.integers(0, 60))
def test_a_snapshot_of_a_run_that_people_change_is_the_fold_of_its_events(
    way: RunConfig, askings: Any, asked: Mapping[int, Ask], seed: int, first: int
) -> None:
    rng = np.random.default_rng(seed)
    problem = repeated(toy_problem(several=seed % 2 == 0, seeds=(0.0, 4.0)))
    make = maker(problem, config(way, 0), askings)
    with snapped(make, 61, first) as found:
        world, _ = steered(
            asked,
            config(way, 0),
            problem=problem,
            choose=lambda waiting: int(rng.integers(waiting)),
            askings=askings,
            faulty=True,
        )
    compare(make, world.log, found)


def test_a_snapshot_holds_the_prompts_that_compete() -> None:
    make = maker(toy_problem(), POOL, (WRITING,))
    with snapped(make, 29, 0) as found:
        world, search = Writing(toy_problem()), make()
        world.play(search, search.start())
    assert len(search.state.prompts.prompts) > 2
    compare(make, world.log, found)


def test_a_snapshot_holds_the_versions_of_a_policy_that_a_run_trains() -> None:
    run = replace(configured(), insights=InsightsConfig(text="Try rings."))
    make = maker(toy_problem(), run, (ASKING,))
    with snapped(make, 53, 0) as found:
        world, search = LearningWorld(toy_problem()), make()
        world.play(search, search.start())
    assert len(search.state.changes.learning.updates) > 2
    assert search.state.changes.insights.standing is not None
    compare(make, world.log, found)


def test_a_snapshot_is_of_the_budget_that_was_extended_and_not_of_the_one_that_is_stored() -> None:
    run = RunConfig(budget=BudgetConfig(evaluations=20, answers=500))
    make = maker(toy_problem(), run, (ASKING,))
    search = make()
    search.start()
    search.extend("evaluations", 40)
    content = encode(draft(search))
    stored = maker(toy_problem(), replace(run, budget=BudgetConfig(evaluations=60, answers=900)), (ASKING,))()
    restore(stored, content)
    assert (stored.state.budget.evaluations, stored.state.budget.answers) == (40, 900)
