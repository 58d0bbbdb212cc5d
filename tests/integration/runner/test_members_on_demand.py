"""A resumed run reads the programs of its members when a proposal shows them, and decides as a run that holds all."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.change_events import RequestedChange, SettingsChanged
from evolve.configuration import ArchiveConfig, DeterministicConfig, NoveltyConfig
from evolve.events import EventKind
from evolve.proposal import Individual, Proposal, Reply
from evolve.reply_form import ReplyForm
from evolve.search.loaded_members import MAX_CHARACTERS, LoadedMembers
from evolve.search.snapshot import differences
from evolve.search.unloaded import is_unloaded, unloaded_in
from evolve.selection import ArchiveView, Selected, SelectionParams
from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from service.db.snapshots import SqlSnapshotStore
from service.errors import StorageAwayError
from service.ports import Intent, LoggedEvent
from service.runner.desired_state import RunOrders
from service.runner.lease import held
from service.runner.program_loader import ProgramLoader
from service.runner.run_job import RunJob
from service.runner.run_loop import RunLoop
from service.runner.storage_retry import StorageRetry
from service.timestamps import SystemClock
from tests.contract.story import RUN, new_toy_run
from tests.integration.runner.scene import Notes, ToyPolicy, job, play, play_until

EVENTS = 60
GATED = 25
ALL_ALIVE = ArchiveConfig(kind="top", size=500)
FORMS = tuple(ReplyForm(format="tags:answer", edits=edits, answers=1, samples=2) for edits in ("rewrite", "diff"))


@dataclass
class ReadingPolicy(ToyPolicy):
    """Notes what it is shown."""

    shown: list[Proposal] = field(default_factory=list)

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        self.shown.append(proposal)
        async for reply in super().propose(proposal):
            yield reply


def oldest(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """A selection of an extension, which may look at anything."""
    del rng, params
    assert not is_unloaded(view.members[0])
    return Selected(place=0)


@dataclass
class GatedPolicy(ToyPolicy):
    """Makes a few proposals, and further ones once its gate is open."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        if proposal.number > GATED:
            await self.gate.wait()
        async for reply in super().propose(proposal):
            yield reply


class FormedPolicy(ReadingPolicy):
    """Answers in any of several forms, which are drawn by the size of the parent."""

    forms = FORMS


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.runner.run_snapshots.MIN_EVENTS", EVENTS)


def alive(log: SqlRunLog, database: Database, **config: Any) -> RunJob:
    work = job(log, **{"evaluations": 120, "archive": ALL_ALIVE, **config})
    return replace(work, snapshots=SqlSnapshotStore(database))


def resumed(work: RunJob) -> RunLoop:
    loop = RunLoop(work, Notes(), RunOrders())
    loop._replay()
    return loop


async def driven(loop: RunLoop, work: RunJob) -> None:
    async with held(work.log, work.run_id, work.owner, loop.patience, loop.wake, work.health) as hold:
        await loop.run(hold)


def told(run: RunJob) -> list[tuple[EventKind, Any]]:
    """What a run decided."""
    about = (EventKind.PROPOSAL_CREATED, EventKind.CANDIDATE_CREATED, EventKind.INDIVIDUAL_INSERTED)
    found = [entry.event for entry in run.log.events(run.run_id) if entry.event.kind in about]
    return [(event.kind, event.payload) for event in found]


def members(loop: RunLoop) -> list[Individual]:
    return [member for island in loop._search.state.islands for member in island.archive.members]


@pytest.mark.parametrize("forms", [False, True])
def test_a_resumed_run_shows_the_programs_of_members_that_it_left_in_the_database(
    log: SqlRunLog, database: Database, forms: bool
) -> None:
    policy = FormedPolicy() if forms else ReadingPolicy()
    work = alive(log, database, policy=policy)
    play_until(work, 3 * EVENTS)
    absent = {member.candidate_id for member in members(resumed(work)) if is_unloaded(member)}
    assert len(absent) > 20
    policy.shown.clear()
    assert play(work, Notes()).counters.evaluations == 120
    shown = [one for proposal in policy.shown for one in (proposal.parent, *proposal.inspirations)]
    known = {one.candidate_id: one for one in log.individuals(RUN, sorted({one.candidate_id for one in shown}))}
    assert absent & set(known)
    assert all(unloaded_in(proposal) == [] for proposal in policy.shown)
    assert all(one.program == known[one.candidate_id].program for one in shown)
    assert all(one.evaluation.feedback == known[one.candidate_id].evaluation.feedback for one in shown)


@pytest.mark.parametrize("forms", [False, True])
def test_a_deterministic_run_that_was_left_decides_as_one_that_never_was(
    log: SqlRunLog, database: Database, tmp_path: Path, forms: bool
) -> None:
    policy = FormedPolicy() if forms else ReadingPolicy()
    work = alive(log, database, deterministic=DeterministicConfig(window=3), policy=policy)
    play_until(work, 3 * EVENTS)
    assert any(map(is_unloaded, members(resumed(work))))
    play_until(work, 3 * EVENTS)
    play(work, Notes())
    another = SqlRunLog(open_database(f"sqlite:///{tmp_path / 'whole.db'}"), SystemClock())
    another.create(new_toy_run())
    unbroken = replace(work, log=another, snapshots=None)
    play(unbroken, Notes())
    assert told(work) == told(unbroken)


@pytest.mark.parametrize("forms", [False, True])
def test_a_deterministic_run_of_many_members_decides_as_one_that_holds_all(
    log: SqlRunLog, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forms: bool
) -> None:
    policy = FormedPolicy() if forms else ReadingPolicy()
    work = alive(log, database, deterministic=DeterministicConfig(window=3), policy=policy)
    another = SqlRunLog(open_database(f"sqlite:///{tmp_path / 'whole.db'}"), SystemClock())
    another.create(new_toy_run())
    play(replace(work, log=another, snapshots=None), Notes())
    monkeypatch.setattr("evolve.search.loaded_members._FITTEST", 4)
    monkeypatch.setattr("service.runner.run_loop.LoadedMembers", partial(LoadedMembers, max_characters=400))
    policy.shown.clear()
    loop = RunLoop(work, Notes(), RunOrders())
    asyncio.run(driven(loop, work))
    found = members(loop)
    absent = [member for member in found if is_unloaded(member)]
    assert len(absent) > len(found) / 2
    shown = [one for proposal in policy.shown for one in (proposal.parent, *proposal.inspirations)]
    assert {member.candidate_id for member in absent} & {one.candidate_id for one in shown[len(shown) // 2 :]}
    assert all(unloaded_in(proposal) == [] for proposal in policy.shown)
    assert told(work) == told(replace(work, log=another))
    assert differences(loop._search.state, resumed(work)._search.state) == []


def test_the_fittest_and_the_newest_members_stay_in_memory(
    log: SqlRunLog, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evolve.search.loaded_members._FITTEST", 4)
    monkeypatch.setattr("service.runner.run_loop.LoadedMembers", partial(LoadedMembers, max_characters=400))
    work = alive(log, database)
    loop = RunLoop(work, Notes(), RunOrders())
    asyncio.run(driven(loop, work))
    held = loop._search.state.islands[0].archive.members
    fittest = held.best(len(held))
    assert not any(map(is_unloaded, fittest[:4]))
    newest = sorted(fittest[4:], key=lambda member: held.ages[held.place(member.candidate_id)])
    absent = [is_unloaded(member) for member in newest]
    assert absent == sorted(absent, reverse=True)
    assert True in absent
    assert sum(one.program.size + len(one.evaluation.feedback) for one in fittest if not is_unloaded(one)) <= 400


@pytest.mark.parametrize(
    "config",
    [
        {"selection": {"lexicase": 1.0}},
        {"novelty": NoveltyConfig(kind="tokens", min_distance=0.01)},
        {"selection": {"tests.integration.runner.test_members_on_demand:oldest": 1.0}},
    ],
    ids=["cases", "novelty", "extension"],
)
def test_a_run_whose_decisions_read_members_loads_all(
    log: SqlRunLog, database: Database, config: dict[str, Any]
) -> None:
    work = alive(log, database, **config)
    play_until(work, 3 * EVENTS)
    found = members(resumed(work))
    assert len(found) > 10
    assert not any(map(is_unloaded, found))


def test_members_are_loaded_once_a_changed_selection_reads_their_cases(log: SqlRunLog, database: Database) -> None:
    work = alive(log, database)
    play_until(work, 3 * EVENTS)
    loop = resumed(work)
    change = SettingsChanged(change_id="chg_1", by="ada", settings={"migration_rate": 0.2})
    loop._search.change(RequestedChange(data=change))
    asyncio.run(loop._load_members())
    assert any(map(is_unloaded, members(loop)))
    change = SettingsChanged(change_id="chg_2", by="ada", settings={"selection": {"lexicase": 1.0}})
    loop._search.change(RequestedChange(data=change))
    asyncio.run(loop._load_members())
    found = members(loop)
    assert not any(map(is_unloaded, found))
    stored = log.individuals(RUN, [member.candidate_id for member in found])
    assert [member.evaluation.cases for member in found] == [one.evaluation.cases for one in stored]
    assert any(member.evaluation.cases for member in found)


@pytest.mark.parametrize("bound", [400, MAX_CHARACTERS], ids=["let go of", "never absent"])
def test_a_run_under_way_may_change_to_a_selection_that_reads_cases(
    log: SqlRunLog, database: Database, monkeypatch: pytest.MonkeyPatch, bound: int
) -> None:
    monkeypatch.setattr("service.runner.run_loop.LoadedMembers", partial(LoadedMembers, max_characters=bound))
    orders, heard, policy = RunOrders(), list[int](), GatedPolicy()
    change = SettingsChanged(change_id="chg_1", by="ada", settings={"selection": {"lexicase": 1.0}})

    def react(events: Sequence[LoggedEvent]) -> None:
        if not heard and events and events[-1].sequence > 3 * EVENTS:
            heard.append(events[-1].sequence)
            orders.want(Intent(changes=(RequestedChange(data=change),)))
        if EventKind.SETTINGS_CHANGED in [logged.event.kind for logged in events]:
            policy.gate.set()

    work = alive(log, database, policy=policy)
    assert play(work, Notes(react=react), orders).counters.evaluations == 120
    assert heard
    kinds = [entry.event.kind for entry in log.events(RUN, heard[0])]
    assert EventKind.SETTINGS_CHANGED in kinds


def test_the_fittest_members_of_large_programs_are_let_go_of_too(
    log: SqlRunLog, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.runner.run_loop.LoadedMembers", partial(LoadedMembers, max_characters=400))
    loop = RunLoop(alive(log, database), Notes(), RunOrders())
    asyncio.run(driven(loop, loop._job))
    held = loop._search.state.islands[0].archive.members
    assert not is_unloaded(held.best()[0])
    assert any(map(is_unloaded, held.best(len(held))))
    assert sum(one.program.size + len(one.evaluation.feedback) for one in held if not is_unloaded(one)) <= 400


def test_a_loader_keeps_the_programs_that_were_shown_last_and_waits_for_a_database_that_is_away(
    log: SqlRunLog, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = alive(log, database)
    play_until(work, 3 * EVENTS)
    ids = [member.candidate_id for member in members(resumed(work))][:4]
    read: list[list[str]] = []
    individuals, troubles = SqlRunLog.individuals, [StorageAwayError("away")]

    def watched(self: SqlRunLog, run_id: str, candidate_ids: Sequence[str]) -> list[Individual]:
        if troubles:
            raise troubles.pop()
        read.append(list(candidate_ids))
        return individuals(self, run_id, candidate_ids)

    monkeypatch.setattr(SqlRunLog, "individuals", watched)
    monkeypatch.setattr("service.runner.program_loader.MAX_KEPT", 3)

    async def scene() -> tuple[list[Individual], list[Individual]]:
        loader = ProgramLoader(log, RUN, StorageRetry(SystemClock()))
        first, second = await loader.load(ids[:3]), await loader.load(ids)
        await loader.load(ids[1:])
        await loader.load(ids[:1])
        return first, second

    first, second = asyncio.run(scene())
    assert read == [ids[:3], ids[3:], ids[:1]]
    assert {one.candidate_id for one in first} == set(ids[:3])
    assert {one.candidate_id for one in second} == set(ids)
    assert not any(map(is_unloaded, second))
