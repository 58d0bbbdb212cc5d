"""Pruning removes what has had its time and nothing else, on both databases, beside runs that go on."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from sqlalchemy import Table, func, select, update

from service.db import garbage_collection, maintenance
from service.db.account_models import (
    AuditRow,
    BatchRow,
    DeliveryRow,
    NoteRow,
    PinRow,
    ReevaluationRow,
    RequestRow,
    WebhookRow,
)
from service.db.columns import Base
from service.db.engine import Database
from service.db.leases import database_time
from service.db.maintenance import prune
from service.db.models import BundleRow, CandidateRow, CandidateViewRow, ProblemRow, RunRow
from service.db.policy_models import TrainingPermissionRow
from service.db.reader import SqlRunReader
from service.ports import RetentionPolicy
from tests.contract.story import START, FixedClock, Story
from tests.integration.maintenance.conftest import rows, store, tell

OLD, NEW = "run_0190aaaa0000000000000000000000a1", "run_0190aaaa0000000000000000000000a2"
MONTH = RetentionPolicy(runs=timedelta(days=30))


def test_a_run_past_its_time_goes_with_everything_that_is_its_own(database: Database, clock: FixedClock) -> None:
    before = rows(database)
    story = tell(database, OLD)
    store(
        database,
        NoteRow,
        id="n1",
        run_id=OLD,
        candidate_id="",
        body="b",
        author="a",
        created_at=START,
        updated_at=START,
    )
    store(database, PinRow, run_id=OLD, candidate_id=story.id(1), author="a", created_at=START)
    answer = {"allowed": True, "by": "a", "at": START}
    store(database, TrainingPermissionRow, id="tp1", tenant="default", run_id=OLD, **answer)
    view = {"media_type": "image/svg+xml", "reason": "", "content": "<svg/>"}
    store(database, CandidateViewRow, candidate_id=story.id(1), attempt=1, **view)
    removed = prune(database, clock, MONTH)
    assert {name: count for name, count in removed.items() if count} == {"runs": 1, "texts": 2, "programs": 2}
    # The newest version of a problem stays, with its folder: its name stands for it.
    # What was used was used.
    assert rows(database) == before | {"problems": 1, "bundles": 1, "usage": 1}


def test_what_another_run_refers_to_stays(database: Database, clock: FixedClock) -> None:
    tell(database, OLD, parts=("shared\n", "of the old one"))
    kept = tell(database, NEW, ended=False, parts=("shared\n", "of the new one"))
    removed = prune(database, clock, MONTH)
    # Programs are content, so that both runs have the same two.
    assert (removed["runs"], removed["texts"], removed["programs"]) == (1, 1, 0)
    reader = SqlRunReader(database)
    assert [record.id for record in reader.runs(limit=5)] == [NEW]
    assert reader.program(kept.id(1)) == kept.programs[kept.id(1)]
    with database.read() as connection:
        assert connection.execute(select(func.count()).select_from(CandidateRow)).scalar_one() == 2


@pytest.mark.parametrize("age_days", [29, 31])
def test_a_run_is_kept_until_its_time(database: Database, age_days: int) -> None:
    tell(database, OLD)
    clock = FixedClock()
    clock.advance(age_days * 86400)
    assert prune(database, clock, MONTH)["runs"] == (age_days > 30)


def test_runs_at_work_labelled_held_or_wanted_again_are_kept(database: Database, clock: FixedClock) -> None:
    tell(database, NEW, ended=False)
    with database.read() as connection:
        soon = database_time(connection, clock) + timedelta(seconds=60)
    for number, change in enumerate(
        (
            {"labels": {"keep": "yes"}},
            {"lease_owner": "r", "lease_expires_at": soon},
            None,
        )
    ):
        run_id = f"run_0190aaaa0000000000000000000000b{number}"
        story = tell(database, run_id)
        if change:
            with database.write() as connection:
                connection.execute(update(RunRow).where(RunRow.id == run_id).values(**change))
        else:
            store(
                database, ReevaluationRow, run_id=run_id, candidate_id=story.id(1), requested_by="a", created_at=START
            )
    held = rows(database)
    for keep in (("keep",), ("keep=yes", "other")):
        removed = prune(database, clock, RetentionPolicy(runs=timedelta(days=30), keep_labels=keep))
        assert not any(removed.values())
    assert rows(database) == held
    assert prune(database, clock, RetentionPolicy(runs=timedelta(days=30), keep_labels=("keep=no",)))["runs"] == 1


def test_a_dry_run_counts_what_the_real_one_removes(database: Database, clock: FixedClock) -> None:
    tell(database, OLD)
    store(database, BundleRow, hash="c" * 64, content=b"x")
    store(database, ProblemRow, id="prb_old", tenant="default", name="packing", version=0, bundle_hash="c" * 64,
          created_at=START, document={})  # fmt: skip
    store(database, BatchRow, id="bat_1", tenant="default", name="b", request={}, created_at=START)
    held = rows(database)
    counted = prune(database, clock, MONTH, dry_run=True)
    assert rows(database) == held
    assert counted == prune(database, clock, MONTH)
    assert (counted["problems"], counted["bundles"], counted["batches"]) == (1, 1, 1)


def test_a_version_of_a_problem_younger_than_the_runs_that_are_kept_stays(
    database: Database, clock: FixedClock
) -> None:
    for version in (1, 2):
        store(database, BundleRow, hash=str(version) * 64, content=b"x")
        store(database, ProblemRow, id=f"prb_{version}", tenant="default", name="packing", version=version,
              bundle_hash=str(version) * 64, created_at=clock.now(), document={})  # fmt: skip
    removed = prune(database, clock, MONTH)
    assert (removed["problems"], removed["bundles"]) == (0, 0)
    clock.advance(31 * 86400)
    removed = prune(database, clock, MONTH)
    assert (removed["problems"], removed["bundles"]) == (1, 1)
    with database.read() as connection:
        assert list(connection.execute(select(ProblemRow.id)).scalars()) == ["prb_2"]


def test_what_was_used_is_known_for_a_year_and_a_month(database: Database) -> None:
    tell(database, OLD)
    clock = FixedClock()
    clock.advance(396 * 86400)
    assert prune(database, clock, MONTH)["usage"] == 0
    clock.advance(86400)
    assert prune(database, clock, MONTH)["usage"] == 1


def test_requests_deliveries_and_audit_expire_each_in_its_own_time(database: Database, clock: FixedClock) -> None:
    now = clock.now()
    store(database, WebhookRow, id="whk_1", tenant="default", url="https://example.org", types=[], secrets=[],
          disabled="", created_at=now)  # fmt: skip
    for age, state in ((31, "delivered"), (31, "pending"), (29, "delivered"), (31, "failed")):
        store(database, DeliveryRow, id=f"dlv_{age}{state}", webhook_id="whk_1", type="t", payload={}, state=state,
              attempts=1, error="", created_at=now - timedelta(days=age))  # fmt: skip
    for hours in (23, 25):
        store(database, RequestRow, actor="a", key=str(hours), request_hash="h", headers={},
              created_at=now - timedelta(hours=hours))  # fmt: skip
    for days in (9, 11):
        store(database, AuditRow, id=f"aud_{days}", tenant="default", at=now - timedelta(days=days), actor="a",
              action="x", subject="", outcome="ok", request_id="", address="")  # fmt: skip
    removed = prune(database, clock, MONTH)
    assert (removed["idempotency_keys"], removed["webhook_deliveries"]) == (1, 2)
    assert "audit" not in removed
    assert prune(database, clock, RetentionPolicy(runs=timedelta(1), audit=timedelta(days=10)))["audit"] == 1


def test_many_rows_go_in_many_transactions(
    database: Database, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "CHUNK", 2)
    monkeypatch.setattr(garbage_collection, "CHUNK", 1)
    tell(database, OLD)
    for number in range(5):
        store(database, RequestRow, actor="a", key=str(number), request_hash="h", headers={}, created_at=START)
    removed = prune(database, clock, MONTH)
    assert (removed["idempotency_keys"], removed["programs"], removed["texts"]) == (5, 2, 2)


def test_a_text_that_a_run_refers_to_meanwhile_is_kept(
    database: Database, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking and removing, a run asks with the text that nothing referred to when it was looked for."""
    tell(database, OLD)
    looked = garbage_collection._unread_texts

    def look_and_be_slow(connection: object, runs: Sequence[str]) -> list[str]:
        found = looked(connection, runs)  # type: ignore[arg-type]  # it is passed on
        late.append(found)
        return found

    late: list[list[str]] = []
    monkeypatch.setattr(garbage_collection, "_unread_texts", look_and_be_slow)
    shut = garbage_collection._shut
    told: list[Story] = []

    def tell_before(connection: object, model: type[Base]) -> None:
        if not told and database.engine.dialect.name == "postgresql":
            told.append(tell(database, NEW, ended=False, parts=("shared\n", "another")))
        shut(connection, model)  # type: ignore[arg-type]  # it is passed on

    if database.engine.dialect.name == "sqlite":  # there the transaction of the removal is alone: it comes before
        chunks = garbage_collection._chunks

        def tell_first(ids: Sequence[str]) -> Iterator[Sequence[str]]:
            if not told:
                told.append(tell(database, NEW, ended=False, parts=("shared\n", "another")))
            return chunks(ids)

        monkeypatch.setattr(garbage_collection, "_chunks", tell_first)
    monkeypatch.setattr(garbage_collection, "_shut", tell_before)
    removed = prune(database, clock, MONTH)
    assert len(late[0]) == 2
    assert removed["texts"] == 1  # the own text of the old run; the shared one is in use again
    proposal = SqlRunReader(database).proposal(NEW, 1)
    assert proposal is not None
    assert proposal.prompt[0]["content"] == "shared\nanother"


def test_every_table_that_hangs_on_runs_is_known(database: Database) -> None:
    """A new table with rows of runs must go with its run: this fails until its removal is written and tested."""

    def hangs(table: Table) -> bool:
        return "run_id" in table.columns or any(
            key.column.table.name in ("runs", "candidates") for key in table.foreign_keys
        )

    assert {table.name for table in Base.metadata.sorted_tables if hangs(table)} == {
        "candidate_views", "candidates", "evaluations", "events", "memberships", "notes", "parents", "pins",
        "proposals", "reevaluations", "run_changes", "run_columns", "shares", "snapshots", "training_permissions",
        "usage", "view_requests", "views",
    }  # fmt: skip
