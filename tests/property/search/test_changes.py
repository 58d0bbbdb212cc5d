"""What people change of a run: the state stays the fold of the events, and a cut run goes on as the whole one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.change_events import ChangeData, HintGiven, RequestedChange
from evolve.configuration import RunConfig
from evolve.event_types import IndividualsRemoved
from evolve.events import Event
from evolve.search.state import SearchState
from tests.fakes.steering import Ask, ban, lift, lift_priority, prioritize, setting, steered
from tests.fakes.world import World, new_search, resume, toy_problem
from tests.property.search.test_fold import told
from tests.property.search.test_search import ASKINGS, WAYS, config, repeated


def banned(place: float, *, descendants: bool) -> Ask:
    """A ban of any candidate that was evaluated, or of the best."""

    def ask(state: SearchState) -> RequestedChange:
        everybody = list(state.lineage)
        best = state.best.candidate_id if state.best else everybody[0]
        chosen = best if place > 0.7 else everybody[int(place * len(everybody))]
        return ban(chosen, descendants=descendants)

    return ask


def lifted(place: float) -> Ask:
    def ask(state: SearchState) -> RequestedChange:
        standing = list(state.bans.standing) or list(state.lineage)
        return lift(standing[int(place * len(standing))])

    return ask


def prioritized(place: float, proposals: int) -> Ask:
    """A priority of any candidate that was evaluated, most of which no archive holds."""

    def ask(state: SearchState) -> RequestedChange:
        everybody = list(state.lineage)
        return prioritize(everybody[int(place * len(everybody))], proposals)

    return ask


def priority_lifted(place: float) -> Ask:
    def ask(state: SearchState) -> RequestedChange:
        standing = list(state.changes.priorities.standing) or list(state.lineage)
        return lift_priority(standing[int(place * len(standing))])

    return ask


def hinted(proposals: int, island: int | None, text: str) -> Ask:
    """A hint for one island, or for all; the search refuses it where the run has no such island."""
    change_id = f"hnt_{proposals}_{island}_{len(text)}"
    data = HintGiven(change_id=change_id, by="ada", text=text, proposals=proposals, island=island)
    return lambda _: RequestedChange(data=data)


PLACES = st.floats(0, 0.999)
SETTINGS = st.sampled_from(
    [
        {"selection": {"tournament": 1.0}},
        {"selection": {"dirichlet": 1.0, "puct": 1.0}},
        {"operators": {"mutate": 1.0, "repair": 1.0}},
        {"operators": {"crossover": 1.0}},
        {"island_choice": "bandit"},
        {"topology": "full", "migration_interval": 3},
        {"inspirations__top": 0, "inspirations__diverse": 4},
        {"reset_after": 5, "policies__toy": 0.25},
    ]
)


def changed(settings: Mapping[str, Any]) -> Ask:
    return lambda _: setting(**settings)


ASKS = st.one_of(
    st.builds(changed, SETTINGS),
    st.builds(banned, PLACES, descendants=st.booleans()),
    st.builds(lifted, PLACES),
    st.builds(hinted, st.integers(1, 9), st.sampled_from([None, 0, 1]), st.sampled_from(["try rings", ""])),
    st.builds(prioritized, PLACES, st.integers(1, 9)),
    st.builds(priority_lifted, PLACES),
)
CHANGES = st.dictionaries(st.integers(3, 60), ASKS, min_size=1, max_size=6)


@contextmanager
def compared() -> Iterator[list[Any]]:
    """The states after each change, and after every 40th event, as they pass."""
    found: list[Any] = []
    apply, events = SearchState.apply, count()

    def watch(self: SearchState, event: Event) -> None:
        apply(self, event)
        if next(events) % 40 == 0 or isinstance(event.data, ChangeData | IndividualsRemoved):
            found.append((event, told(self), self.config))

    SearchState.apply = watch  # type: ignore[method-assign] # the one way into the state, which this test watches
    try:
        yield found
    finally:
        SearchState.apply = apply  # type: ignore[method-assign]


@settings(max_examples=10, deadline=None)
@given(way=WAYS, askings=ASKINGS, window=st.sampled_from([0, 4]), asked=CHANGES, seed=st.integers(0, 1000))
def test_a_replay_passes_the_states_that_the_live_run_passed(
    way: RunConfig, askings: Any, window: int, asked: Mapping[int, Ask], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    problem = repeated(toy_problem(several=seed % 2 == 0, seeds=(0.0, 4.0)))
    with compared() as live:
        world, _ = steered(
            asked,
            config(way, window),
            problem=problem,
            choose=lambda count: int(rng.integers(count)),
            askings=askings,
            faulty=True,
        )
    with compared() as replayed:
        resume(world, new_search(problem, config(way, window), askings), world.log)
    assert len(live) == len(replayed)
    for (event, *after), (_, *again) in zip(live, replayed, strict=True):
        assert after == again, event


@settings(max_examples=10, deadline=None)
@given(way=WAYS, askings=ASKINGS, window=st.integers(1, 6), asked=CHANGES, part=st.floats(0, 1))
def test_a_run_that_is_cut_after_its_changes_goes_on_as_the_whole_one(
    way: RunConfig, askings: Any, window: int, asked: Mapping[int, Ask], part: float
) -> None:
    problem = repeated(toy_problem(seeds=(0.0, 4.0)))
    whole, search = steered(asked, config(way, window), problem=problem, askings=askings)
    last = max((at for at, event in enumerate(whole.log) if isinstance(event.data, ChangeData)), default=0)
    ends = [end for end in whole.boundaries if end > last] or [len(whole.log)]
    prefix = whole.log[: ends[min(len(ends) - 1, int(part * len(ends)))]]
    again = World(problem, individuals=whole.individuals, candidates=whole.candidates)
    second = new_search(problem, config(way, window), askings)
    again.play(second, resume(again, second, prefix))
    assert prefix + again.log == whole.log
    assert second.state.bans.standing == search.state.bans.standing
    assert second.state.config == search.state.config
    assert told(second.state.lineage) == told(search.state.lineage)
