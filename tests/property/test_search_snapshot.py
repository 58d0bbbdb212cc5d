"""A snapshot of a search, taken at any moment, knows what a replay of the events knows, and continues as it does."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.configuration import RunConfig
from evolve.problem import Problem
from evolve.search.snapshot import differences, draft, encode, restore
from tests.fakes.unruly import UnrulyWorld, known
from tests.property.test_unruly_world import Change, changes, configs, decided, opened, problems, resumed


@given(
    problem=problems(),
    config=configs(st.integers(0, 7)),
    temper=st.integers(0, 1000),
    order=st.integers(0, 1000),
    before=st.integers(0, 150),
    after=st.integers(0, 60),
    extensions=st.lists(st.tuples(st.integers(0, 60), changes()), max_size=2),
    extended=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_a_snapshot_and_the_events_behind_it_give_what_all_events_give(
    problem: Problem,
    config: RunConfig,
    temper: int,
    order: int,
    before: int,
    after: int,
    extensions: list[tuple[int, Change]],
    extended: bool,
) -> None:
    """`extended`: whether the budget that is stored with the run is the one that it was given at last."""
    world = UnrulyWorld(problem, temper, np.random.default_rng(order))
    search = opened(problem, config)
    world.begin(search.start())
    for calls, (key, value) in extensions:
        world.go_on(search, calls)
        world.extend(search, key, value)
    world.go_on(search, before)
    position, content = len(world.log), encode(draft(search))
    world.go_on(search, after)
    stored = replace(config, budget=search.state.budget) if extended else config
    whole, quick, sparing = opened(problem, stored), opened(problem, stored), opened(problem, stored)
    restore(quick, content)
    restore(sparing, content)
    owed = [
        resumed(world, whole, world.log),
        resumed(world, quick, world.log[position:]),
        resumed(world, sparing, world.log[position:], on_demand=True),
    ]
    assert known(quick.state) == known(whole.state) == known(search.state)
    assert differences(quick.state, whole.state) == []
    assert differences(sparing.state, whole.state) == []
    assert owed[0] == owed[1] == owed[2]
    ends = []
    for again, owing in zip((whole, quick, sparing), owed, strict=True):
        rest = UnrulyWorld(problem, temper, np.random.default_rng(order + 1), earlier=world.individuals)
        rest.begin(owing)
        rest.play(again)
        ends.append(([event.payload for event in rest.log], decided(again.state)))
    assert ends[0] == ends[1]
    assert ends[0][0] == ends[2][0]
    assert differences(sparing.state, whole.state) == []
