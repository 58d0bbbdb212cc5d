"""Priorities: the next proposals start from the candidate that a person chose, and a replay knows it."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from evolve.change_events import ChangeRefused, PriorityGiven
from evolve.configuration import ArchiveConfig, BudgetConfig, DeterministicConfig, RunConfig
from evolve.event_types import EventData, ProposalCreated
from evolve.events import Event
from evolve.identity import candidate_id
from evolve.proposal import Proposal
from evolve.search.state import SearchState
from tests.fakes.steering import Ask, ban, lift_priority, prioritize, steered
from tests.fakes.world import World, new_search, resume

SEED = candidate_id("run_toy", 0, 0)
CONFIG = RunConfig(
    islands=2,
    archive=ArchiveConfig(kind="top", size=4),
    operators={"mutate": 1.0, "crossover": 1.0, "repair": 1.0},
    budget=BudgetConfig(evaluations=150),
    deterministic=DeterministicConfig(window=4),
)
FREE = replace(CONFIG, deterministic=DeterministicConfig(window=0))
BOTH = pytest.mark.parametrize("config", [CONFIG, FREE], ids=["deterministic", "free"])


def displaced(state: SearchState) -> str:
    """A valid candidate that no archive holds any more."""
    held = {member.candidate_id for island in state.islands for member in island.archive.members}
    return next(one for one in state.lineage if one not in held and one != SEED and state.lineage.fitness(one))


def of_kind(events: Iterable[Event], *kinds: type[EventData]) -> list[EventData]:
    return [event.data for event in events if isinstance(event.data, kinds)]


def given(world: World) -> tuple[PriorityGiven, int]:
    return next((e.data, place) for place, e in enumerate(world.log) if isinstance(e.data, PriorityGiven))


def created(world: World, place: int = 0) -> list[ProposalCreated]:
    return [event.data for event in world.log[place:] if isinstance(event.data, ProposalCreated)]


@BOTH
def test_the_next_proposals_start_from_a_candidate_with_priority_though_no_archive_holds_it(
    config: RunConfig,
) -> None:
    world, search = steered({60: lambda state: prioritize(displaced(state), 6)}, config)
    change, place = given(world)
    after = created(world, place)
    mine = [data for data in after if data.priority]
    assert {data.priority for data in mine} == {change.change_id}
    assert len(mine) == 6
    assert {data.parents[0][0] for data in mine} == {change.candidate_id}
    assert {(data.selection, data.weights) for data in mine} == {("priority", ())}
    passed_over = after[: after.index(mine[-1])]
    assert {data.operator for data in passed_over if not data.priority} <= {"repair"}
    for data in mine:
        others = [one for one, _ in data.parents[1:]]
        assert change.candidate_id not in others
        if data.operator == "crossover":
            assert [role for _, role in data.parents].count("crossover") == 1
    asked = [e.subject for e in world.log if isinstance(e.subject, Proposal) and e.subject.priority_id]
    assert {one.parent.program for one in asked} == {world.individuals[change.candidate_id].program}
    assert not search.state.changes.priorities.standing
    assert search.state.account.evaluations == 150


@BOTH
def test_several_priorities_are_used_up_one_after_the_other_and_a_lifted_one_ends(config: RunConfig) -> None:
    asked: dict[int, Ask] = {
        60: lambda state: prioritize(displaced(state), 100),
        61: lambda _: prioritize(SEED, 3),
        75: lambda state: lift_priority(next(iter(state.changes.priorities.standing))),
    }
    world, search = steered(asked, config)
    [first, second] = of_kind(world.log, PriorityGiven)
    assert isinstance(first, PriorityGiven)
    assert isinstance(second, PriorityGiven)
    used = [data.priority for data in created(world) if data.priority]
    cut = used.index(second.change_id)
    assert used == [first.change_id] * cut + [second.change_id] * 3
    assert 0 < cut < 100
    assert not search.state.changes.priorities.standing


def test_a_ban_ends_the_priority_of_what_it_covers() -> None:
    asked: dict[int, Ask] = {
        60: lambda state: prioritize(displaced(state), 100),
        64: lambda state: ban(next(iter(state.changes.priorities.standing))),
    }
    world, search = steered(asked, CONFIG)
    change, _ = given(world)
    place = next(at for at, event in enumerate(world.log) if event.kind == "candidate.banned")
    assert change.candidate_id not in {one for data in created(world, place) for one, _ in data.parents}
    assert not search.state.changes.priorities.standing


@BOTH
def test_a_replay_goes_on_with_the_priority_as_the_unbroken_run(config: RunConfig) -> None:
    whole, search = steered({60: lambda state: prioritize(displaced(state), 9)}, config)
    change, first = given(whole)
    ends = [end for end in whole.boundaries if end > first]
    for end in (*ends[:4], ends[-20]):
        again = World(whole.problem, individuals=dict(whole.individuals), candidates=dict(whole.candidates))
        second = new_search(whole.problem, config)
        owed = resume(again, second, whole.log[:end])
        programs = {one.parent.program for one in owed.proposals if one.priority_id == change.change_id}
        assert programs <= {whole.individuals[change.candidate_id].program}
        again.play(second, owed)
        if config.deterministic.window:
            assert whole.log[:end] + again.log == whole.log
        assert second.state.account.evaluations == search.state.account.evaluations == 150
        used = [data for data in created(again) if data.priority] + [
            event.data for event in whole.log[:end] if isinstance(event.data, ProposalCreated) and event.data.priority
        ]
        assert len(used) == 9


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda _: prioritize("cnd_nobody"), "was not evaluated in this run"),
        (lambda _: prioritize(SEED, 0), "1 to 10000 proposals, not 0"),
        (lambda _: prioritize(SEED, 10_001), "1 to 10000 proposals"),
        (lambda _: lift_priority(SEED), "has no priority"),
        (
            lambda state: prioritize(next(one for one in state.lineage if state.lineage.fitness(one) is None)),
            "no valid evaluation",
        ),
    ],
)
def test_what_cannot_have_priority_is_refused_with_the_reason(ask: Ask, reason: str) -> None:
    world, search = steered({90: ask}, FREE)
    [refused] = of_kind(world.log, ChangeRefused)
    assert isinstance(refused, ChangeRefused)
    assert reason in refused.reason
    assert not search.state.changes.priorities.standing


def test_a_banned_candidate_has_no_priority() -> None:
    world, _ = steered({60: lambda _: ban(SEED), 70: lambda _: prioritize(SEED)}, CONFIG)
    [refused] = of_kind(world.log, ChangeRefused)
    assert isinstance(refused, ChangeRefused)
    assert "lift its ban first" in refused.reason


@pytest.mark.parametrize("strategy", ["best_of_n", "sequential"])
def test_a_strategy_without_selection_takes_no_priority(strategy: str) -> None:
    config = replace(FREE, strategy=strategy, islands=1, operators={})
    world, _ = steered({30: lambda _: prioritize(SEED)}, config)
    [refused] = of_kind(world.log, ChangeRefused)
    assert isinstance(refused, ChangeRefused)
    assert f"the strategy {strategy} chooses no parents" in refused.reason
