"""Programs that people insert into a run at work: candidates like others, and a replay knows them."""

from dataclasses import replace

import pytest

from evolve.change_events import ProgramInserted, RequestedChange
from evolve.configuration import BudgetConfig, DeterministicConfig, RunConfig
from evolve.errors import ConfigurationError
from evolve.event_types import (
    CandidateCreated,
    CandidateDuplicate,
    CandidateEvaluated,
    IndividualInserted,
    ProposalAnswered,
    ProposalCreated,
)
from evolve.events import Event
from evolve.identity import candidate_id
from evolve.search.changes import MANUAL
from evolve.search.deterministic_schedule import DeterministicSchedule
from evolve.search.search import Search
from tests.fakes.world import World, new_search, program, resume, toy_problem

SEED = candidate_id("run_toy", 0, 0)
CONFIG = RunConfig(islands=2, budget=BudgetConfig(evaluations=120), deterministic=DeterministicConfig(window=4))
FREE = replace(CONFIG, deterministic=DeterministicConfig(window=0))
BOTH = pytest.mark.parametrize("config", [CONFIG, FREE], ids=["deterministic", "free"])


def change(x: float, number: int = 1, island: int = 1) -> RequestedChange:
    brought = program(x)
    data = ProgramInserted(change_id=f"chg_{number}", by="ada", program_id=brought.id, parent=SEED, island=island)
    return RequestedChange(data=data, program=brought)


def inserted(
    *changes: RequestedChange, config: RunConfig = CONFIG, after: int = 20, apart: int = 10
) -> tuple[World, Search | DeterministicSchedule]:
    """A run in which the first program comes after so many arrivals, and the others so many apart."""
    calls = [0]

    def choose(_: int) -> int:
        calls[0] += 1
        place, rest = divmod(calls[0] - after, apart)
        if rest == 0 and 0 <= place < len(changes):
            world._send(search, search.change(changes[place]))
        return 0

    world = World(toy_problem(), choose=choose)
    search = new_search(world.problem, config)
    world.play(search, search.start())
    return world, search


def proposed(world: World) -> ProposalCreated:
    """The proposal that holds a person's program."""
    return next(event.data for event in world.log if isinstance(event.data, ProposalCreated) and event.data.change)


@BOTH
def test_a_program_becomes_a_candidate_of_its_own_operator(config: RunConfig) -> None:
    world, search = inserted(change(2.95), config=config)
    created = proposed(world)
    assert (created.operator, created.parents, created.island, created.change) == (
        MANUAL,
        ((SEED, "parent"),),
        1,
        "chg_1",
    )
    place = next(at for at, event in enumerate(world.log) if event.data is created)
    told = [event.data for event in world.log[place - 1 : place + 3]]
    assert [type(data) for data in told] == [ProgramInserted, ProposalCreated, CandidateCreated, ProposalAnswered]
    mine = candidate_id("run_toy", created.proposal_number, 0)
    outcomes = [event.data for event in world.log if isinstance(event.data, CandidateEvaluated)]
    assert next(one.outcome for one in outcomes if one.candidate_id == mine) == "ok"
    homes = [event.data for event in world.log if isinstance(event.data, IndividualInserted)]
    assert next(one.island for one in homes if one.candidate_id == mine) == 1
    assert search.state.lineage.standing(SEED).children > 0
    assert search.state.lineage.standing(mine).parent == SEED


@BOTH
def test_it_counts_as_an_evaluation_and_policies_are_not_credited_with_it(config: RunConfig) -> None:
    world, search = inserted(change(2.95), change(2.9, 2), config=config)
    assert len(world.evaluated) == search.state.account.evaluations == 120
    assert set(search.state.yields.policies) == {"toy"}
    seeds, manual = 1, 2
    assert search.state.yields.children.total() == 120 - seeds - manual


def test_a_program_that_is_there_already_is_a_duplicate() -> None:
    world, _ = inserted(change(0.0))
    [same] = [event.data for event in world.log if isinstance(event.data, CandidateDuplicate) and event.data.of == SEED]
    assert same.candidate_id == candidate_id("run_toy", proposed(world).proposal_number, 0)


def test_a_program_that_is_inserted_twice_counts_once() -> None:
    world, _ = inserted(change(2.95), change(2.95))
    assert sum(isinstance(event.data, ProgramInserted) for event in world.log) == 1


@BOTH
def test_a_replay_goes_on_with_the_program_as_the_unbroken_run(config: RunConfig) -> None:
    whole, search = inserted(change(2.95), change(2.9, 2), change(0.0, 3), config=config)
    first = next(at for at, event in enumerate(whole.log) if isinstance(event.data, ProgramInserted))
    ends = [end for end in whole.boundaries if end > first]
    for end in (*ends[:3], *ends[-40::10], ends[len(ends) // 2]):
        again = World(whole.problem, individuals=dict(whole.individuals), candidates=dict(whole.candidates))
        second = new_search(whole.problem, config)
        owed = resume(again, second, whole.log[:end])
        assert not [one for one in owed.proposals if one.change_id]
        late = [event for event in whole.log[end:] if isinstance(event.data, ProgramInserted)]
        again.play(second, owed)
        if not late and config.deterministic.window:
            assert whole.log[:end] + again.log == whole.log
        assert second.state.account.evaluations == 120
    assert search.state.changes.made == {"chg_1", "chg_2", "chg_3"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"parent": "cnd_nobody"}, "cnd_nobody was not evaluated"), ({"island": 2}, "islands are 0 to 1")],
)
def test_a_program_without_a_place_is_refused_with_the_reason(changes: dict[str, object], reason: str) -> None:
    _, search = inserted(change(2.95))
    wrong = change(2.5, 9)
    with pytest.raises(ConfigurationError, match=reason):
        search.change(replace(wrong, data=replace(wrong.data, **changes)))  # type: ignore[arg-type]  # of each field's own type


def test_the_event_keeps_its_author_and_place() -> None:
    data = change(2.95).data
    assert Event.stored(data.kind, payload=Event(data).payload).data == data
