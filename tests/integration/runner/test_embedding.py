"""A stored run that compares children by embeddings: it waits, goes on after a cut, and repeats exactly in order."""

import asyncio
import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from evolve.configuration import DeterministicConfig, NoveltyConfig
from evolve.errors import ConfigurationError
from evolve.events import EventKind
from evolve.proposal import Proposal, Reply
from evolve.search.ensemble import EnsembleMember
from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.ports import LoggedEvent
from service.projections.costs import Costs
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.timestamps import SystemClock
from tests.contract.story import RUN, new_toy_run
from tests.databases import sqlite_file
from tests.fakes.vectors import ToyEmbedder
from tests.integration.runner.scene import Notes, ToyPolicy, job, play

NOVELTY = NoveltyConfig(kind="embedding", min_distance=1 - math.cos(0.03))
STORIES = (
    EventKind.PROPOSAL_CREATED,
    EventKind.CANDIDATE_CREATED,
    EventKind.CANDIDATE_REJECTED,
    EventKind.INDIVIDUAL_INSERTED,
)


def work(log: SqlRunLog, embedder: ToyEmbedder, **config: Any) -> RunJob:
    return replace(job(log, evaluations=30, islands=2, novelty=NOVELTY, **config), embedder=embedder)


def told(log: SqlRunLog) -> list[tuple[EventKind, dict[str, Any]]]:
    return [(entry.event.kind, dict(entry.event.payload)) for entry in log.events(RUN) if entry.event.kind in STORIES]


@dataclass
class LeavingPolicy(ToyPolicy):
    """Has its run left instead of answering the proposal `last`."""

    last: int = 0
    orders: RunOrders = field(default_factory=RunOrders)

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        if proposal.number >= self.last:
            self.orders.leave()
            await asyncio.Event().wait()
        async for reply in super().propose(proposal):
            yield reply


@pytest.mark.parametrize("last", [2, 5, 9])
def test_in_order_a_run_that_was_cut_goes_on_as_one_that_was_not(log: SqlRunLog, tmp_path: Path, last: int) -> None:
    order = {"deterministic": DeterministicConfig(window=3)}
    play(work(log, ToyEmbedder(), **order), Notes())
    other = open_database(sqlite_file(tmp_path / "cut.db"))
    try:
        cut = SqlRunLog(other, SystemClock())
        cut.create(new_toy_run())
        leaving = LeavingPolicy(last=last)
        first = replace(work(cut, ToyEmbedder(), **order), policies=[EnsembleMember(policy=leaving)])
        assert play(first, Notes(), leaving.orders).state == "running"
        kept = members(told(cut))
        embedder = ToyEmbedder(turns=30)
        status = play(work(cut, embedder, **order), Notes())
        assert (status.state, status.reason) == ("succeeded", "evaluations")
        assert told(cut) == told(log)
        # Vectors are not stored: those of the members, and of what waited, are asked for again before anything else.
        programs = {one["candidate_id"]: one["program_id"] for kind, one in told(cut) if "program_id" in one}
        assert {programs[name] for name in kept} <= {program.id for program in embedder.calls[0]}
    finally:
        other.close()


def members(story: Sequence[tuple[EventKind, Mapping[str, Any]]]) -> set[str]:
    """Whoever is in an archive in the end."""
    found: set[tuple[int, str]] = set()
    for kind, payload in story:
        if kind is EventKind.INDIVIDUAL_INSERTED and payload["status"] in ("new_cell", "improved", "added"):
            found |= {(payload["island"], payload["candidate_id"])}
            found -= {(payload["island"], name) for name in payload["displaced"]}
    return {name for _, name in found}


def test_a_run_says_why_it_waits_for_its_embedder_and_goes_on(log: SqlRunLog, database: Database) -> None:
    embedder = ToyEmbedder()
    embedder.away = "the model is loading"
    waited: list[dict[str, Any]] = []

    def react(events: Sequence[LoggedEvent]) -> None:
        for entry in events:
            if entry.event.kind is EventKind.RUN_WAITING:
                waited.append(dict(SqlRunReader(database).run(RUN).waiting or {}))
                embedder.away = ""

    status = play(work(log, embedder), Notes(react=react))
    assert status.state == "succeeded"
    (waiting,) = waited
    assert waiting["reason"] == "the embedder eye cannot be asked: the model is loading"
    assert waiting["retry_at"] is not None
    assert SqlRunReader(database).run(RUN).waiting is None


def test_what_vectors_cost_is_told_of_the_embedder(log: SqlRunLog) -> None:
    embedder, costs = ToyEmbedder(), Costs()
    play(work(log, embedder), Notes())
    for entry in log.events(RUN):
        costs.take(entry)
    embedded = sum(len(call) for call in embedder.calls)
    assert costs.by_policy()["eye"].tokens_input == embedded


def test_a_run_that_needs_an_embedder_is_not_driven_without(log: SqlRunLog) -> None:
    with pytest.raises(ConfigurationError, match="needs an embedder"):
        play(job(log, novelty=NOVELTY), Notes())
