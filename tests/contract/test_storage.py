"""What use cases rely on of every Storage: the stores in memory that test them hold it as the databases do."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from evolve.events import EventKind
from service.db.engine import open_database
from service.db.storage import SqlStorage
from service.errors import ConflictError, LeaseLostError, NotFoundError, QuotaError
from service.ports import (
    CANCELLED,
    DEFAULT_TENANT,
    PAUSED,
    RUNNING,
    AuditEntry,
    BatchRecord,
    KeyRecord,
    NewProblem,
    Quotas,
    RunFilter,
    Scope,
    Storage,
)
from tests.contract.conftest import emptied_postgres
from tests.contract.story import RUN, START, FixedClock, Story, new_run
from tests.databases import sqlite_file
from tests.fakes.storage import MemoryStorage

OTHER = "run_0190aaaa000000000000000000000002"
BATCH = "bat_0190aaaa000000000000000000000001"


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, clock: FixedClock, tmp_path: Path) -> Iterator[Storage]:
    if request.param == "memory":
        yield MemoryStorage(clock)
        return
    if request.param == "postgresql":
        yield SqlStorage(emptied_postgres(request), request.getfixturevalue("postgres_with_schema"), clock)
        return
    url = sqlite_file(tmp_path / "evolve.db")
    with closing(open_database(url)) as database:
        yield SqlStorage(database, url, clock)


def paused(storage: Storage, story: Story) -> None:
    fence = storage.log.take(RUN, "somebody", 60.0)
    storage.log.append(RUN, fence, [story.tell(EventKind.RUN_PAUSED, by="somebody")])
    storage.log.release(RUN, fence)


def test_a_created_run_is_queued_under_its_problem(storage: Storage) -> None:
    storage.log.create(new_run(labels={"name": "mine"}, created_by="laptop"))
    run = storage.reader.run(RUN)
    assert (run.state, run.desired_state, run.sequence, run.labels) == ("queued", RUNNING, 1, {"name": "mine"})
    problem = storage.problems.get(DEFAULT_TENANT, run.problem_id)
    assert (problem.name, problem.version) == ("packing", 1)
    assert storage.log.bundle(RUN) == storage.problems.bundle(problem.bundle_hash) == new_run().bundle
    with pytest.raises(ConflictError):
        storage.log.create(new_run())


def test_a_run_of_another_tenant_is_not_there(storage: Storage) -> None:
    storage.log.create(new_run())
    with pytest.raises(NotFoundError):
        storage.readers.of("lab").run(RUN)
    with pytest.raises(NotFoundError):
        storage.intents("lab").want(RUN, PAUSED, "ada")
    assert [run.id for run in storage.readers.of(DEFAULT_TENANT).runs()] == [RUN]


def test_events_are_those_of_the_one_who_holds_the_lease(storage: Storage, story: Story) -> None:
    storage.log.create(new_run())
    fence = storage.log.take(RUN, "one", 60.0)
    with pytest.raises(ConflictError):
        storage.log.take(RUN, "another", 60.0)
    newer = storage.log.take(RUN, "another", 60.0, lambda owner: owner == "one")
    assert newer > fence
    with pytest.raises(LeaseLostError):
        storage.log.append(RUN, fence, [story.tell(EventKind.RUN_STARTED, by="one")])
    assert [logged.sequence for logged in storage.log.events(RUN)] == [1]


def test_what_was_appended_is_read_back(storage: Storage, story: Story) -> None:
    storage.log.create(new_run())
    fence = storage.log.take(RUN, "one", 60.0)
    candidate = story.id(0)
    told = [story.tell(EventKind.RUN_STARTED, by="one"), story.create(0), story.evaluate(candidate, 2.0)]
    storage.log.append(RUN, fence, told)
    kinds = [logged.event.kind for logged in storage.log.events(RUN, after=1)]
    assert kinds == [logged.event.kind for logged in told]
    (found,) = storage.log.candidates(RUN, [candidate])
    (individual,) = storage.log.individuals(RUN, [candidate])
    assert found.program == individual.program == storage.reader.program(candidate) == story.programs[candidate]
    run = storage.reader.run(storage.reader.candidate(candidate).run_id)
    assert (run.state, run.counters.evaluations) == ("running", 1)


def test_what_is_wanted_waits_for_whoever_drives_the_run(storage: Storage) -> None:
    storage.log.create(new_run())
    storage.intents(DEFAULT_TENANT).want(RUN, PAUSED, "ada")
    storage.intents(DEFAULT_TENANT).extend(RUN, {"evaluations": 500}, "bob")
    intent = storage.claims().wanted([RUN, "run_none"])[RUN]
    assert (intent.desired_state, dict(intent.budget), intent.by) == (PAUSED, {"evaluations": 500}, "bob")
    assert storage.reader.run(RUN).state == "queued"


def test_a_run_that_is_being_cancelled_is_final(storage: Storage) -> None:
    storage.log.create(new_run())
    storage.intents(DEFAULT_TENANT).want(RUN, CANCELLED, "ada")
    with pytest.raises(ConflictError, match="being cancelled"):
        storage.intents(DEFAULT_TENANT).want(RUN, RUNNING, "ada")
    with pytest.raises(ConflictError, match="being cancelled"):
        storage.intents(DEFAULT_TENANT).extend(RUN, {"evaluations": 500}, "ada")


def test_a_run_is_claimed_until_somebody_holds_it(storage: Storage) -> None:
    storage.log.create(new_run())
    found = storage.claims().claim("one", 12.0, [])
    assert found is not None
    assert found.id == RUN
    assert storage.claims().claim("one", 12.0, [RUN]) is None
    storage.log.take(RUN, "one", 12.0)
    assert storage.claims().claim("another", 12.0, []) is None


def test_a_reserved_batch_is_its_owners(storage: Storage) -> None:
    storage.batches.add(
        BatchRecord(id=BATCH, tenant=DEFAULT_TENANT, name="sweep", request={}, states={}, created_at=START)
    )
    storage.log.create(new_run(batch_id=BATCH))
    storage.log.create(new_run(OTHER))
    storage.claims(BATCH).reserve("mine", 12.0)
    found = storage.claims().claim("another", 12.0, [])
    assert found is not None
    assert found.id == OTHER
    own = storage.claims(BATCH).claim("mine", 12.0, [])
    assert own is not None
    assert own.id == RUN
    storage.claims(BATCH).give_back("mine")
    assert storage.claims(BATCH).claim("another", 12.0, []) is not None


def test_a_batch_has_the_states_of_its_runs(storage: Storage, story: Story) -> None:
    storage.batches.add(
        BatchRecord(id=BATCH, tenant=DEFAULT_TENANT, name="sweep", request={"a": 1}, states={}, created_at=START)
    )
    for run_id in (RUN, OTHER):
        storage.log.create(new_run(run_id, batch_id=BATCH))
    paused(storage, story)
    batch = storage.batches.get(DEFAULT_TENANT, BATCH[:14])
    assert (batch.states, batch.request) == ({"queued": 1, "paused": 1}, {"a": 1})
    assert storage.batches.batches(DEFAULT_TENANT) == [batch]
    assert len(storage.readers.of(DEFAULT_TENANT).runs(only=RunFilter(batch_id=BATCH))) == 2
    with pytest.raises(NotFoundError):
        storage.batches.get("lab", BATCH)


def test_a_unit_that_fails_leaves_nothing(storage: Storage) -> None:
    def fail() -> None:
        with storage.unit():
            storage.log.create(new_run())
            raise QuotaError("too many")

    with pytest.raises(QuotaError):
        fail()
    assert storage.reader.runs() == []


def test_a_deleted_run_is_there_for_nobody_and_is_removed_later(storage: Storage, story: Story) -> None:
    storage.log.create(new_run())
    fence = storage.log.take(RUN, "somebody", 60.0)
    with pytest.raises(ConflictError, match="held by a runner"):
        storage.intents(DEFAULT_TENANT).delete(RUN)
    storage.log.append(RUN, fence, [story.tell(EventKind.RUN_STARTED, by="somebody")])
    storage.log.release(RUN, fence)
    with pytest.raises(ConflictError, match="is running: cancel or pause it first"):
        storage.intents(DEFAULT_TENANT).delete(RUN)
    paused(storage, story)
    storage.intents(DEFAULT_TENANT).delete(RUN)
    with pytest.raises(NotFoundError):
        storage.reader.run(RUN)
    storage.deletions.remove(RUN)
    while storage.deletions.advance():
        pass
    storage.log.create(new_run())  # its id is free


def test_the_same_problem_is_the_same_version(storage: Storage) -> None:
    problem = NewProblem(
        tenant=DEFAULT_TENANT, name="p", bundle=new_run().bundle, document={"language": "python"}, created_at=START
    )
    first = storage.problems.add(problem)
    assert storage.problems.add(problem) == first
    second = storage.problems.add(replace(problem, bundle=replace(new_run().bundle, hash="c" * 64)))
    assert (first.version, second.version) == (1, 2)
    assert storage.problems.get(DEFAULT_TENANT, "p") == second
    assert storage.problems.get(DEFAULT_TENANT, "p@1") == storage.problems.get(DEFAULT_TENANT, first.id) == first


def test_quotas_count_the_runs_that_have_not_ended(storage: Storage) -> None:
    storage.accounts.set_quotas(DEFAULT_TENANT, Quotas(active_runs=2))
    storage.log.create(new_run())
    with storage.unit():
        storage.accounts.hold(DEFAULT_TENANT)
        assert storage.accounts.active_runs(DEFAULT_TENANT) == 1
    assert storage.accounts.quotas(DEFAULT_TENANT).active_runs == 2
    assert storage.accounts.usage(DEFAULT_TENANT, START, START + timedelta(hours=1)).runs == 1
    with pytest.raises(NotFoundError):
        storage.accounts.quotas("nobody")


def test_keys_are_found_by_their_hash_and_revoked_once(storage: Storage) -> None:
    key = KeyRecord(
        id="key_1", tenant=DEFAULT_TENANT, name="mine", shown="evo_abcd", scopes=[Scope.OPERATE], created_at=START,
        created_by="command line",
    )  # fmt: skip
    storage.keys.add(key, "hash")
    assert storage.keys.find("hash") == key
    assert storage.keys.find("other") is None
    assert storage.keys.revoke(DEFAULT_TENANT, "key_1", START).revoked_at == START
    with pytest.raises(NotFoundError):
        storage.keys.revoke("lab", "key_1", START)


def test_the_audit_log_tells_the_newest_first(storage: Storage) -> None:
    entries = [
        AuditEntry(
            id=f"aud_{number}", tenant=DEFAULT_TENANT, at=START, actor="ada", action="keys create", subject="",
            outcome="ok", request_id="", address="",
        )
        for number in (1, 2)
    ]  # fmt: skip
    for entry in entries:
        storage.audit.write(entry)
    assert storage.audit.entries(DEFAULT_TENANT) == entries[::-1]
