"""Runs of the toy world in which people ask for changes at chosen moments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from evolve.change_events import (
    BanLifted,
    CandidateBanned,
    PriorityGiven,
    PriorityLifted,
    RequestedChange,
    SettingsChanged,
)
from evolve.configuration import RunConfig
from evolve.errors import ConfigurationError
from evolve.problem import Problem
from evolve.search.deterministic_schedule import DeterministicSchedule
from evolve.search.ensemble import PolicyRequest
from evolve.search.search import Search
from evolve.search.state import SearchState
from tests.fakes.world import ASKING, World, new_search, toy_problem

AnySearch = Search | DeterministicSchedule
Ask = Callable[[SearchState], RequestedChange]
_IDS = count(1)


def ban(candidate_id: str, *, descendants: bool = False) -> RequestedChange:
    change_id = f"chg_{next(_IDS)}"
    return RequestedChange(
        data=CandidateBanned(change_id=change_id, by="ada", candidate_id=candidate_id, descendants=descendants)
    )


def lift(candidate_id: str) -> RequestedChange:
    return RequestedChange(data=BanLifted(change_id=f"chg_{next(_IDS)}", by="ada", candidate_id=candidate_id))


def prioritize(candidate_id: str, proposals: int = 10) -> RequestedChange:
    change_id = f"chg_{next(_IDS)}"
    return RequestedChange(
        data=PriorityGiven(change_id=change_id, by="ada", candidate_id=candidate_id, proposals=proposals)
    )


def lift_priority(candidate_id: str) -> RequestedChange:
    return RequestedChange(data=PriorityLifted(change_id=f"chg_{next(_IDS)}", by="ada", candidate_id=candidate_id))


def steered(
    asked: Mapping[int, Ask],
    config: RunConfig,
    *,
    problem: Problem | None = None,
    choose: Callable[[int], int] = lambda _: 0,
    askings: Sequence[PolicyRequest] = (ASKING,),
    **world_options: Any,
) -> tuple[World, AnySearch]:
    """A run in which a change is asked for after so many arrivals; one that cannot be made is refused with its event.

    Args:
        asked: makes each change of the state then.
    """
    arrivals = count(1)

    def arrive(waiting: int) -> int:
        ask = asked.get(next(arrivals))
        if ask is not None:
            change = ask(search.state)
            if isinstance(change.data, PriorityGiven):  # as storage brings it
                change = replace(change, individual=world.individuals.get(change.data.candidate_id))
            try:
                world._send(search, search.change(change))
            except ConfigurationError as error:
                world._send(search, search.refuse(change, str(error)))
        return choose(waiting)

    world = World(problem or toy_problem(), choose=arrive, **world_options)
    search = new_search(world.problem, config, askings)
    world.play(search, search.start())
    return world, search


def setting(**settings: Any) -> RequestedChange:
    """A change of settings; `__` stands for the dot of a key."""
    given = {key.replace("__", "."): value for key, value in settings.items()}
    return RequestedChange(data=SettingsChanged(change_id=f"chg_{next(_IDS)}", by="ada", settings=given))
