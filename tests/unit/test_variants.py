"""Islands that differ keep, select and show what their tables say."""

import re

from evolve.archives import CellArchive, DominatedNoveltyArchive, TopArchive
from evolve.configuration import (
    ArchiveConfig,
    BudgetConfig,
    DeterministicConfig,
    NoveltyConfig,
    RunConfig,
    SelectionOptions,
    VariantConfig,
)
from evolve.events import Event, EventKind
from evolve.search.state import SearchState
from tests.fakes.world import World, new_search, resume, toy_problem

CONFIG = RunConfig(
    islands=3,
    migration_interval=6,
    reset_after=15,
    variants=(
        VariantConfig(islands=(1,), archive=ArchiveConfig(kind="top", size=4), selection={"tournament": 1.0}),
        VariantConfig(islands=(2,), archive=ArchiveConfig(kind="dominated_novelty", size=6), operators={"simplify": 1}),
    ),
    deterministic=DeterministicConfig(window=3),
    budget=BudgetConfig(evaluations=90),
)


def played() -> tuple[SearchState, World]:
    toy = toy_problem()
    world = World(toy)
    search = new_search(toy, CONFIG)
    assert world.play(search, search.start()) == "evaluations"
    return search.state, world


def test_each_island_follows_its_own_table() -> None:
    state, world = played()
    first, second, third = (island.archive for island in state.islands)
    assert isinstance(first, CellArchive)
    assert isinstance(second, TopArchive)
    assert len(second.members) == 4
    assert isinstance(third, DominatedNoveltyArchive)
    assert len(third.members) == 6
    asked = [event.payload for event in world.log if event.kind is EventKind.PROPOSAL_CREATED]
    ways = {(payload["island"], payload["selection"], payload["operator"]) for payload in asked}
    assert ways == {(0, "power_law", "mutate"), (1, "tournament", "mutate"), (2, "power_law", "simplify")}


def test_an_island_selects_with_options_of_its_own() -> None:
    toy = toy_problem()
    config = RunConfig(
        islands=2,
        selection={"puct": 1.0},
        variants=(VariantConfig(islands=(1,), selection_options=SelectionOptions(exploration=0.0)),),
        budget=BudgetConfig(evaluations=60),
    )
    world = World(toy)
    search = new_search(toy, config)
    world.play(search, search.start())
    asked = [event.payload for event in world.log if event.kind is EventKind.PROPOSAL_CREATED]
    added = {island: [one["rationale"]["exploration"] for one in asked if one["island"] == island] for island in (0, 1)}
    assert min(added[0]) > 0
    assert set(added[1]) == {0.0}


def test_an_island_refuses_what_is_near_in_its_own_way() -> None:
    toy = toy_problem()
    config = RunConfig(
        islands=3,
        novelty=NoveltyConfig(kind="tokens", min_distance=0.9),
        variants=(
            VariantConfig(islands=(1,), novelty=NoveltyConfig()),
            VariantConfig(islands=(2,), novelty=NoveltyConfig(kind="syntax", min_distance=0.7)),
        ),
        budget=BudgetConfig(evaluations=60),
    )
    world = World(toy)
    search = new_search(toy, config)
    world.play(search, search.start())
    refused = [event.payload for event in world.log if event.kind is EventKind.CANDIDATE_REJECTED]
    near = {(one["island"], *re.findall(r"in (\w+) from .* asks for ([\d.]+)", one["reason"])) for one in refused}
    assert {one for one in near if len(one) > 1} == {(0, ("tokens", "0.9")), (2, ("syntax", "0.7"))}


def test_a_replay_of_islands_that_differ_repeats_them() -> None:
    _, world = played()
    again = World(toy_problem(), individuals=world.individuals, candidates=world.candidates)
    search = new_search(toy_problem(), CONFIG)
    prefix: list[Event] = world.log[: world.boundaries[len(world.boundaries) // 2]]
    again.play(search, resume(again, search, prefix))
    assert prefix + again.log == world.log
