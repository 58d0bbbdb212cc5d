"""A whole search on the log: stored is what the search knows, and a replay goes on to the same end."""

from collections.abc import Iterable, Sequence

import pytest
from sqlalchemy import select

from evolve.configuration import ArchiveConfig, BudgetConfig, DeterministicConfig, RunConfig
from evolve.events import Event, EventKind
from evolve.search.deterministic_schedule import DeterministicSchedule
from evolve.search.search import Search, SearchStep
from service.db.engine import Database
from service.db.log import SqlRunLog
from service.db.models import MembershipRow
from service.db.reader import SqlRunReader
from service.ports import LoggedEvent
from tests.contract.story import START, new_toy_run
from tests.fakes.world import World, new_search, toy_problem

RUN = "run_toy"
ARCHIVES = ["grid", "cvt", "dominated_novelty", "pareto", "top"]


def config(archive: str, window: int = 0) -> RunConfig:
    return RunConfig(
        islands=3,
        migration_interval=5,
        migration_rate=0.3,
        reset_after=9,
        archive=ArchiveConfig(kind=archive, size=6),
        budget=BudgetConfig(evaluations=80),
        deterministic=DeterministicConfig(window=window),
        seed=3,
    )


def commit(log: SqlRunLog, fence: int, events: Sequence[Event], batch: int, after: int = 1) -> None:
    told = [
        LoggedEvent(run_id=RUN, sequence=sequence, at=START, event=event)
        for sequence, event in enumerate(events, start=after + 1)
    ]
    for start in range(0, len(told), batch):
        log.append(RUN, fence, told[start : start + batch])


def bare(logged: Iterable[LoggedEvent]) -> Iterable[Event]:
    return (entry.event for entry in logged if entry.event.kind is not EventKind.RUN_CREATED)


def played(archive: str, window: int = 0) -> tuple[World, Search | DeterministicSchedule]:
    world = World(toy_problem(several=True, seeds=(0.0, 5.0)))
    search = new_search(world.problem, config(archive, window))
    world.play(search, search.start())
    return world, search


def members(search: Search | DeterministicSchedule) -> list[tuple[int, str]]:
    return sorted(
        (island.number, member.candidate_id) for island in search.state.islands for member in island.archive.members
    )


@pytest.fixture
def fence(log: SqlRunLog) -> int:
    log.create(new_toy_run(RUN, several=True))
    return log.take(RUN, "runner-1", 60)


@pytest.mark.parametrize("archive", ARCHIVES)
@pytest.mark.parametrize("batch", [1, 17, 10_000])
def test_what_is_stored_is_what_the_search_knows(
    database: Database, log: SqlRunLog, fence: int, archive: str, batch: int
) -> None:
    world, search = played(archive)
    assert {EventKind.ISLAND_MIGRATED, EventKind.CANDIDATE_REJECTED, EventKind.CANDIDATE_DUPLICATE} <= {
        e.kind for e in world.log
    }
    commit(log, fence, world.log, batch)
    with database.read() as connection:
        stored = connection.execute(
            select(MembershipRow.island, MembershipRow.candidate_id).where(MembershipRow.until.is_(None))
        )
        assert sorted((island, candidate) for island, candidate in stored) == members(search)
    run = SqlRunReader(database).run(RUN)
    assert search.state.best is not None
    assert (run.best_candidate_id, run.best_fitness) == (search.state.best.candidate_id, search.state.best.fitness)
    account = search.state.account
    assert (run.counters.evaluations, run.counters.answers) == (account.evaluations, account.answers)
    assert run.counters.tokens_input + run.counters.tokens_output == account.tokens
    assert run.seed_fitness == max(seed.fitness for seed in search.state.seeds if seed.fitness is not None)
    ids = list(world.individuals)
    assert log.individuals(RUN, ids) == [world.individuals[candidate] for candidate in ids]
    ids = list(world.candidates)
    assert log.candidates(RUN, ids) == [world.candidates[candidate] for candidate in ids]


@pytest.mark.parametrize("archive", ARCHIVES)
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("on_demand", [False, True])
def test_a_search_cut_off_goes_on_from_storage_to_the_same_end(
    log: SqlRunLog, fence: int, archive: str, part: float, on_demand: bool
) -> None:
    whole, _ = played(archive, window=4)
    cut = whole.boundaries[int(part * len(whole.boundaries))]
    commit(log, fence, whole.log[:cut], batch=23)
    rest = World(whole.problem, earlier=whole.individuals)
    search = new_search(whole.problem, config(archive, window=4))
    resumed = search.replay(
        bare(log.events(RUN)),
        lambda ids: log.individuals(RUN, ids),
        lambda ids: log.candidates(RUN, ids),
        on_demand=on_demand,
    )
    rest.play(search, SearchStep(candidates=resumed.candidates, proposals=resumed.proposals))
    assert whole.log[:cut] + rest.log == whole.log
    commit(log, fence, rest.log, batch=23, after=1 + cut)
    assert list(bare(log.events(RUN))) == whole.log


@pytest.mark.parametrize("archive", ARCHIVES)
def test_every_event_of_a_search_comes_back(log: SqlRunLog, fence: int, archive: str) -> None:
    world, _ = played(archive)
    commit(log, fence, world.log, batch=50)
    assert list(bare(log.events(RUN))) == world.log
