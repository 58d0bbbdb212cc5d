"""The state of a search is the fold of its events: nothing else changes it, and a replay passes equal states."""

from collections import deque
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.archives.population import Population
from evolve.archives.row_table import Rows
from evolve.configuration import RunConfig
from evolve.events import Event
from evolve.lineage import Lineage
from evolve.program import Program
from evolve.proposal import Candidate, Individual
from evolve.search.open_proposal import OpenProposal
from evolve.search.state import SearchState
from tests.fakes.world import World, new_search, resume, toy_problem
from tests.property.search.test_search import ASKINGS, WAYS, config, repeated

# What is not part of the state: caches of what it derives, and what a run is made with.
DERIVED = {
    "_view",
    "centres",
    "_selections",
    "_operators",
    "_extensions",
    "_asked",
    "_arrival",
    "problem",
    "_problem",
    "config",
}
# Nearly all that a state holds, known without a look at what they can.
PLAIN = {str, int, float, bool, type(None)}
LISTS = {list, tuple, deque}
NOT_REPLAYED = {OpenProposal: {"proposal"}, Candidate: {"program", "parents", "recovered"}}


def told(value: Any) -> Any:
    """A value with all that it holds, as plain values; texts that a replay leaves out are left out."""
    if type(value) in PLAIN:
        return repr(value)
    if type(value) in LISTS:
        return [told(one) for one in value]
    if isinstance(value, Individual):
        return value.candidate_id, value.fitness, value.rewards, value.signed_scores, told(value.measures)
    if isinstance(value, Lineage):
        return told(value.columns())
    if isinstance(value, Population):
        members = list(value)
        return [told(members), told(value.best(len(members))), told(value.ages), value.arrivals, told(value.rewards)]
    if isinstance(value, Rows):
        return told(value.values)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return [(told(key), told(one)) for key, one in value.items()]
    if isinstance(value, Set):
        return sorted(map(told, value))
    if isinstance(value, list | tuple | deque):
        return [told(one) for one in value]
    if isinstance(value, Program) or not hasattr(value, "__module__") or not value.__module__.startswith("evolve."):
        return repr(value)
    return type(value).__name__, [(name, told(getattr(value, name))) for name in names(value)]


def names(value: Any) -> list[str]:
    held = [entry.name for entry in fields(value)] if is_dataclass(value) else list(vars(value))
    return [name for name in held if name not in DERIVED | NOT_REPLAYED.get(type(value), set())]


@contextmanager
def watched(*, before: bool = True) -> Iterator[list[tuple[Any, Any]]]:
    """The states before and after each event that is applied; to walk a state is most of what this test does."""
    found: list[tuple[Any, Any]] = []
    apply = SearchState.apply

    def watch(self: SearchState, event: Event) -> None:
        previous = told(self) if before else None
        apply(self, event)
        found.append((previous, told(self)))

    SearchState.apply = watch  # type: ignore[method-assign] # the one way into the state, which this test watches
    try:
        yield found
    finally:
        SearchState.apply = apply  # type: ignore[method-assign]


@settings(max_examples=25, deadline=None)
@given(way=WAYS, askings=ASKINGS, window=st.sampled_from([0, 4]), data=st.data())
def test_the_state_is_the_fold_of_the_events(way: RunConfig, askings: Any, window: int, data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    world = World(repeated(toy_problem(several=seed % 2 == 0)), lambda count: int(rng.integers(count)), faulty=True)
    with watched() as live:
        search = new_search(world.problem, config(way, window), askings)
        world.play(search, search.start())
    with watched(before=False) as replayed:
        resume(world, new_search(world.problem, config(way, window), askings), world.log)
    assert len(live) == len(replayed) == len(world.log)
    for place, (event, (_, after), (_, again)) in enumerate(zip(world.log, live, replayed, strict=True)):
        assert after == again, f"event {place}: {event}"
    for place, ((_, after), (before, _)) in enumerate(pairwise(live)):
        assert after == before, f"something changed the state after event {place}: {world.log[place]}"
