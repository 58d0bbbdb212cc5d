"""Bans: a run does not build upon a banned candidate, and a replay knows it."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from evolve.change_events import BanLifted, CandidateBanned, ChangeRefused, RequestedChange
from evolve.configuration import (
    ARCHIVES,
    ArchiveConfig,
    BudgetConfig,
    DeterministicConfig,
    RunConfig,
)
from evolve.errors import ConfigurationError
from evolve.event_types import (
    CandidateEvaluated,
    EventData,
    IndividualInserted,
    IndividualsRemoved,
    IslandMigrated,
    ProposalCreated,
)
from evolve.events import Event
from evolve.identity import candidate_id
from evolve.search.state import SearchState
from tests.fakes.steering import ban, lift, steered
from tests.fakes.world import World, new_search, resume, toy_problem

SEED = candidate_id("run_toy", 0, 0)
CONFIG = RunConfig(
    islands=2,
    migration_interval=7,
    operators={"mutate": 1.0, "crossover": 1.0, "repair": 1.0},
    budget=BudgetConfig(evaluations=150),
    deterministic=DeterministicConfig(window=4),
)
FREE = replace(CONFIG, deterministic=DeterministicConfig(window=0))
BOTH = pytest.mark.parametrize("config", [CONFIG, FREE], ids=["deterministic", "free"])


def best(state: SearchState) -> str:
    assert state.best is not None
    return state.best.candidate_id


def ancestor(state: SearchState) -> str:
    """The candidate beside the seed of which most descend."""
    return max(list(state.lineage)[1:], key=lambda one: len(state.lineage.descendants(one)))


def of_kind(events: Iterable[Event], *kinds: type[EventData]) -> list[EventData]:
    return [event.data for event in events if isinstance(event.data, kinds)]


def banned_at(world: World) -> tuple[CandidateBanned, int]:
    return next((e.data, place) for place, e in enumerate(world.log) if isinstance(e.data, CandidateBanned))


def used_after(world: World, place: int) -> set[str]:
    """Everybody that proposals, archives and migrations of a log name from a place on."""
    used: set[str] = set()
    for event in world.log[place:]:
        match event.data:
            case ProposalCreated(parents=parents, failures=failures):
                used |= {one for one, _ in parents} | set(failures)
            case IslandMigrated(candidate_ids=ids):
                used |= set(ids)
            case IndividualInserted(candidate_id=one):
                used.add(one)
    return used


def family(world: World, root: str) -> set[str]:
    """A candidate with all that descends from it over parents and crossover, as the candidates of a run tell it."""
    found = {root}
    for one in world.candidates.values():
        if any(parent in found for parent, role in one.parents if role != "inspiration"):
            found.add(one.id)
    return found


@BOTH
@pytest.mark.parametrize("kind", ARCHIVES)
def test_a_banned_candidate_is_no_parent_inspiration_or_migrant(config: RunConfig, kind: str) -> None:
    config = replace(config, archive=ArchiveConfig(kind=kind, size=12))
    world, search = steered({40: lambda state: ban(best(state))}, config)
    change, place = banned_at(world)
    assert change.candidate_id not in used_after(world, place)
    assert change.candidate_id in used_after(world, 0)
    removed = of_kind(world.log[place:], IndividualsRemoved)
    assert change.candidate_id in {one for data in removed for one in data.candidate_ids}  # type: ignore[attr-defined]
    assert all(change.candidate_id not in island.archive.members for island in search.state.islands)
    assert search.state.account.evaluations == 150


@BOTH
def test_its_descendants_are_banned_too_where_that_is_wanted_those_to_come_among_them(config: RunConfig) -> None:
    world, search = steered({50: lambda state: ban(ancestor(state), descendants=True)}, config)
    change, place = banned_at(world)
    kin = family(world, change.candidate_id)
    assert len(kin) > 1
    assert not kin & used_after(world, place)
    scored = {data.candidate_id for data in of_kind(world.log, CandidateEvaluated)}  # type: ignore[attr-defined]
    assert {one for one in kin & scored if one not in search.state.bans} == set()
    assert {one for one in scored - kin if one in search.state.bans} == set()


def test_without_its_descendants_they_stay() -> None:
    world, _ = steered({60: lambda _: ban(SEED)}, CONFIG)
    _, place = banned_at(world)
    assert (family(world, SEED) - {SEED}) & used_after(world, place)


@BOTH
def test_a_lifted_ban_brings_back_what_it_removed(config: RunConfig) -> None:
    world, search = steered({40: lambda state: ban(best(state)), 60: lambda state: lift(banned_id(state))}, config)
    change, _ = banned_at(world)
    place = next(at for at, event in enumerate(world.log) if isinstance(event.data, BanLifted))
    offered = of_kind(world.log[place:], IndividualInserted)
    back = [data for data in offered if data.candidate_id == change.candidate_id]  # type: ignore[attr-defined]
    assert back
    assert not search.state.bans.standing
    assert not search.state.bans.removed


def banned_id(state: SearchState) -> str:
    return next(iter(state.bans.standing))


def test_an_island_that_a_ban_empties_begins_anew_from_the_best_of_the_others() -> None:
    def second(state: SearchState) -> str:
        mine = {member.candidate_id for member in state.islands[1].archive.members}
        rest = {member.candidate_id for member in state.islands[0].archive.members}
        assert len(mine) == 1
        assert rest - mine
        return mine.pop()

    config = replace(FREE, archive=ArchiveConfig(kind="top", size=1), topology="none", operators={})
    world, search = steered({40: lambda state: ban(second(state))}, config)
    change, place = banned_at(world)
    removed, founded = (event.data for event in world.log[place + 1 : place + 3])
    assert removed == IndividualsRemoved(island=1, candidate_ids=(change.candidate_id,))
    assert isinstance(founded, IndividualInserted)
    assert (founded.island, founded.status) == (1, "added")
    assert founded.candidate_id != change.candidate_id
    assert search.state.account.evaluations == 150


def parents(world: World, place: int = 0) -> set[str]:
    found = (event.data for event in world.log[place:])
    return {one for data in found if isinstance(data, ProposalCreated) for one, _ in data.parents}


def test_independent_samples_do_not_start_from_a_banned_seed() -> None:
    config = replace(FREE, strategy="best_of_n", islands=1, operators={})
    two = toy_problem(seeds=(0.0, 4.0))
    world, _ = steered({30: lambda _: ban(SEED)}, config, problem=two)
    _, place = banned_at(world)
    assert parents(world, place) == {candidate_id("run_toy", 0, 1)}
    assert parents(world) == {SEED, candidate_id("run_toy", 0, 1)}


def test_a_sequence_goes_on_from_another_candidate_than_a_banned_one() -> None:
    def latest(state: SearchState) -> str:
        assert state.latest is not None
        return state.latest.candidate_id

    config = replace(FREE, strategy="sequential", islands=1, operators={}, deterministic=DeterministicConfig(window=1))
    whole, _ = steered({}, config)
    world, _ = steered({30: lambda state: ban(latest(state))}, config)
    change, place = banned_at(world)
    assert change.candidate_id in parents(whole)
    assert change.candidate_id not in parents(world, place)


@BOTH
def test_a_replay_goes_on_with_the_bans_as_the_unbroken_run(config: RunConfig) -> None:
    asked = {
        30: lambda state: ban(best(state), descendants=True),
        45: lambda state: ban(best(state)),
        60: lambda state: lift(banned_id(state)),
    }
    whole, search = steered(asked, config)
    last = next(at for at, event in enumerate(whole.log) if isinstance(event.data, BanLifted))
    _, first = banned_at(whole)
    ends = [end for end in whole.boundaries if end > first]
    for end in (*ends[:3], *[one for one in ends if one > last][:3], ends[-20]):
        again = World(whole.problem, individuals=dict(whole.individuals), candidates=dict(whole.candidates))
        second = new_search(whole.problem, config)
        again.play(second, resume(again, second, whole.log[:end]))
        if config.deterministic.window and end > last:
            assert whole.log[:end] + again.log == whole.log
            assert second.state.bans.standing == search.state.bans.standing
        assert second.state.account.evaluations == 150


def test_a_ban_that_leaves_nothing_to_start_from_is_refused_and_logged() -> None:
    world, search = steered({40: lambda _: ban(SEED, descendants=True)}, CONFIG)
    [refused] = of_kind(world.log, ChangeRefused)
    assert isinstance(refused, ChangeRefused)
    assert (refused.requested, refused.by) == ("candidate.banned", "ada")
    assert "no candidate to start from" in refused.reason
    assert not search.state.bans.standing
    assert refused.change_id in search.state.changes.made


def test_what_cannot_be_is_refused_with_the_reason() -> None:
    _, search = steered({40: lambda state: ban(best(state), descendants=True)}, FREE)
    with pytest.raises(ConfigurationError, match="cnd_nobody was not evaluated"):
        search.change(ban("cnd_nobody"))
    with pytest.raises(ConfigurationError, match=f"{SEED} is not banned"):
        search.change(lift(SEED))


def test_a_ban_that_is_asked_for_twice_counts_once() -> None:
    once = ban(SEED)
    world, _ = steered({60: lambda _: once, 70: lambda _: once}, CONFIG)
    assert len(of_kind(world.log, CandidateBanned)) == 1


@BOTH
def test_a_narrower_ban_leaves_the_wider_one_of_a_candidate(config: RunConfig) -> None:
    first: list[str] = []

    def wide(state: SearchState) -> RequestedChange:
        first.append(ancestor(state))
        return ban(first[0], descendants=True)

    world, search = steered({50: wide, 70: lambda _: ban(first[0])}, config)
    assert [data.descendants for data in of_kind(world.log, CandidateBanned)] == [True, False]  # type: ignore[attr-defined]
    assert search.state.bans.standing[first[0]].descendants
    _, place = banned_at(world)
    assert not family(world, first[0]) & used_after(world, place)
    _, search = steered({50: wide, 70: lambda _: ban(first[0]), 90: lambda _: lift(first[0])}, config)
    assert not search.state.bans.standing


@BOTH
def test_a_change_that_is_delivered_again_counts_once_where_it_could_not_be_made_a_second_time(
    config: RunConfig,
) -> None:
    lifted = lift(SEED)
    asked = {60: lambda _: ban(SEED), 70: lambda _: lifted, 80: lambda _: lifted, 90: lambda _: lifted}
    world, search = steered(asked, config)
    assert len(of_kind(world.log, BanLifted)) == 1
    assert of_kind(world.log, ChangeRefused) == []
    assert not search.state.bans.standing


@BOTH
def test_a_change_that_was_refused_and_is_delivered_again_is_refused_once(config: RunConfig) -> None:
    refused = ban(SEED, descendants=True)
    world, _ = steered({60: lambda _: refused, 80: lambda _: refused}, config)
    assert len(of_kind(world.log, ChangeRefused)) == 1


def test_the_credit_of_a_banned_candidate_leaves_its_ancestors() -> None:
    world, search = steered({60: lambda state: ban(best(state), descendants=True)}, FREE)
    bans = search.state.bans
    scored = [one for one in world.individuals.values() if one.fitness is not None]
    rest = max(one.fitness for one in scored if one.candidate_id not in bans)  # type: ignore[type-var]
    assert any(one.candidate_id in bans for one in scored)
    assert search.state.lineage.standing(SEED).best == rest
