"""What another tenant has is not there: for every method of every RunReader."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import insert

from evolve.identity import proposal_id
from service.db.engine import Database
from service.db.models import ParentRow, Tenant
from service.db.reader import SqlRunReader
from service.db.readers import SqlReaders
from service.errors import NotFoundError, UsageError
from service.ports import DEFAULT_TENANT, Readers, RunFilter, RunLog, RunReader
from tests.contract.story import RUN, START, Story, new_run
from tests.contract.test_run_log import begin

OTHER = "other"
THEIRS = "run_0190aaaa000000000000000000000002"  # begins as ours does


@pytest.fixture
def readers(database: Database) -> Iterator[Readers]:
    with database.write() as connection:
        connection.execute(insert(Tenant), [{"id": OTHER, "created_at": START}])
    yield SqlReaders(database)
    # The tenants of a PostgreSQL outlive a test.
    with database.write() as connection:
        for table in ("memberships", "evaluations", "parents", "events", "candidates", "proposals", "runs", "problems"):
            connection.exec_driver_sql(f"DELETE FROM {table}")
        connection.execute(Tenant.__table__.delete().where(Tenant.__table__.c.id == OTHER))  # type: ignore[attr-defined]  # a Table


@pytest.fixture
def theirs(log: RunLog, readers: Readers, database: Database) -> Story:
    """A run of each tenant; a candidate of theirs stands, by a mistake, between two of ours."""
    del readers
    ours = Story()
    fence = ours_fence = begin(log, ours)
    log.append(RUN, fence, ours.child(1, ours.id(0), 2.0))
    log.append(RUN, fence, ours.child(2, ours.id(1), 3.0))
    story = Story(THEIRS)
    log.create(new_run(THEIRS, tenant=OTHER, labels={"team": "theirs"}))
    fence = log.take(THEIRS, "runner-1", 60)
    seen = {"breaker": "closed", "retry_seconds": 0.0, "reachable": True, "running": 1.0, "waiting": 0.0}
    for run_id, token in ((RUN, ours_fence), (THEIRS, fence)):
        log.renew(run_id, token, 60, {"syntax": seen | {"calls": 4, "in_flight": 1}})
    log.append(THEIRS, fence, [*story.seed(), *story.child(1, story.id(0), 9.0)])
    wrong = [(story.id(1), ours.id(0)), (ours.id(2), story.id(1))]
    with database.write() as connection:
        rows = [{"candidate_id": child, "place": 7, "parent_id": parent, "role": "parent"} for child, parent in wrong]
        connection.execute(insert(ParentRow), rows)
    return story


NOT_FOUND: dict[str, Callable[[RunReader, Story], object]] = {
    "run": lambda reader, _: reader.run(THEIRS),
    "candidate": lambda reader, story: reader.candidate(story.id(1)),
    "candidates": lambda reader, _: reader.candidates(THEIRS),
    "count_candidates": lambda reader, _: reader.count_candidates(THEIRS),
    "best": lambda reader, _: reader.best(THEIRS),
    "search": lambda reader, _: reader.search(THEIRS, "x"),
    "best after": lambda reader, _: reader.best(THEIRS, 5, (10.0, 0, 0)),
    "front": lambda reader, _: reader.front(THEIRS),
    "poll": lambda reader, _: reader.poll(THEIRS),
    "outcomes": lambda reader, _: reader.outcomes(THEIRS),
    "ancestors": lambda reader, story: reader.ancestors(story.id(1)),
    "children": lambda reader, story: reader.children(story.id(0)),
    "descendants": lambda reader, story: reader.descendants(story.id(0)),
    "path": lambda reader, story: reader.path(story.id(0), story.id(1)),
    "path from ours": lambda reader, story: reader.path(Story().id(0), story.id(1)),
    "path to ours": lambda reader, story: reader.path(story.id(1), Story().id(2)),
    "program": lambda reader, story: reader.program(story.id(1)),
    "view": lambda reader, story: reader.view(story.id(1)),
    "proposal": lambda reader, _: reader.proposal(THEIRS, 1),
    "proposal_named": lambda reader, _: reader.proposal_named(proposal_id(THEIRS, 1)),
    "proposals": lambda reader, _: reader.proposals(THEIRS),
    "finish_reasons": lambda reader, _: reader.finish_reasons(THEIRS),
    "evaluations": lambda reader, story: reader.evaluations(story.id(1)),
    "memberships": lambda reader, _: reader.memberships(THEIRS),
    "scored": lambda reader, _: reader.scored(THEIRS),
    "events": lambda reader, _: reader.events(THEIRS),
}
LEFT_OUT: dict[str, Callable[[RunReader, Story], object]] = {
    "runs": lambda reader, _: [run.id for run in reader.runs(only=RunFilter(states=("running",)))],
    "runs by label": lambda reader, _: [run.id for run in reader.runs(only=RunFilter(labels={"team": "theirs"}))],
    "count_runs": lambda reader, _: reader.count_runs(),
    "count_runs by label": lambda reader, _: reader.count_runs(RunFilter(labels={"team": "theirs"})),
    "named": lambda reader, story: [found.id for found in reader.named([story.id(1), Story().id(1)])],
    "proposal_numbers": lambda reader, story: set(reader.proposal_numbers([story.id(1), Story().id(1)])),
    "programs": lambda reader, story: set(reader.programs([story.id(1), Story().id(1)])),
    "sequences": lambda reader, _: set(reader.sequences([RUN, THEIRS])),
    "active": lambda reader, _: set(reader.active()),
    "policy_health": lambda reader, _: [told.run_id for told in reader.policy_health()],
}
SEEN = {
    "runs": [RUN],
    "runs by label": [],
    "count_runs": 1,
    "count_runs by label": 0,
    "named": [Story().id(1)],
    "proposal_numbers": {Story().id(1)},
    "programs": {Story().id(1)},
    "sequences": {RUN},
    "active": {RUN},
    "policy_health": [RUN],
}


def methods() -> set[str]:
    return {name for name in dir(RunReader) if not name.startswith("_")}


def test_every_method_is_tried() -> None:
    assert {name.split()[0] for name in (*NOT_FOUND, *LEFT_OUT)} == methods()


@pytest.mark.parametrize("name", NOT_FOUND)
def test_what_another_tenant_has_is_not_found(readers: Readers, theirs: Story, name: str) -> None:
    with pytest.raises(NotFoundError, match="there is no"):
        NOT_FOUND[name](readers.of(DEFAULT_TENANT), theirs)
    if "ours" not in name:
        NOT_FOUND[name](readers.of(OTHER), theirs)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_another_tenant_has_is_left_out(readers: Readers, theirs: Story, name: str) -> None:
    assert LEFT_OUT[name](readers.of(DEFAULT_TENANT), theirs) == SEEN[name]


def test_a_reader_without_a_tenant_reads_all(database: Database, theirs: Story) -> None:
    reader = SqlRunReader(database)
    assert {run.id for run in reader.runs()} == set(reader.active()) == {RUN, THEIRS}
    assert [found.id for found in reader.named([theirs.id(1)])] == [theirs.id(1)]
    assert reader.count_runs() == 2


@pytest.mark.usefixtures("theirs")
def test_a_beginning_is_ambiguous_only_among_ones_own(database: Database, readers: Readers) -> None:
    common = RUN[:20]
    assert readers.of(DEFAULT_TENANT).run(common).id == RUN
    assert readers.of(OTHER).run(common).id == THEIRS
    with pytest.raises(UsageError, match="several"):
        SqlRunReader(database).run(common)


def test_lineage_stops_where_another_tenant_begins(readers: Readers, theirs: Story) -> None:
    reader, ours = readers.of(DEFAULT_TENANT), Story()
    assert [edge.candidate_id for edge in reader.candidate(ours.id(2)).parents] == [ours.id(1)]
    assert [found.id for found in reader.children(ours.id(0))] == [ours.id(1)]
    assert {found.id for found in reader.descendants(ours.id(0))} == {ours.id(1), ours.id(2)}
    assert [found.id for found in reader.path(ours.id(0), ours.id(2))] == [ours.id(n) for n in range(3)]
    other = readers.of(OTHER)
    assert [edge.candidate_id for edge in other.candidate(theirs.id(1)).parents] == [theirs.id(0)]
    assert [found.id for found in other.ancestors(theirs.id(1))] == [theirs.id(1), theirs.id(0)]
    assert other.descendants(theirs.id(1)) == []


def test_a_tenant_that_is_not_known_has_nothing(readers: Readers, theirs: Story) -> None:
    nobody = readers.of("nobody")
    assert (nobody.runs(), nobody.active(), nobody.named([theirs.id(1)])) == ([], {}, [])
