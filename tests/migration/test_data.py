"""Rows that a version of each revision wrote are there after an upgrade, and this version goes on with them."""

import base64
import json
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command

import migrations
from evolve.events import Event, EventKind
from service.db import schema
from service.db.accounts import SqlAccounts
from service.db.annotations import SqlAnnotations, SqlShares
from service.db.batches import SqlBatchStore
from service.db.compact_ids import CompactId, decode_id
from service.db.engine import Database, connect
from service.db.frequent_words import FrequentWord, read_word
from service.db.keys import SqlKeyStore
from service.db.log import SqlRunLog
from service.db.packed import PackedJson, PackedText, unpack, unpack_json
from service.db.problems import SqlProblemStore
from service.db.reader import SqlRunReader
from service.db.tables import all_tables
from service.db.webhooks import SqlWebhooks
from service.ports import DEFAULT_TENANT, CandidateRecord, LoggedEvent, RunReader
from tests.contract.story import FixedClock
from tests.e2e.evolving import EvolveHere
from tests.migration.rows import DATA, Rows, dump, fill

FAR = datetime(2100, 1, 1, tzinfo=UTC)


def kept(revision: str) -> str:
    """The newest revision up to this one whose rows were kept; `rows.py` says how to keep those of another."""
    found = [name for name in migrations.REVISIONS if name <= revision and (DATA / f"{name}.json").exists()]
    return found[-1]


@contextmanager
def taken_back(database: Database) -> Iterator[None]:
    """Take back what is written in the block."""
    with suppress(_TakenBackError), database.unit():
        yield
        raise _TakenBackError


class _TakenBackError(Exception):
    pass


def written(revision: str) -> Rows:
    """The rows that a version with this revision wrote, or one before it."""
    rows: Rows = json.loads((DATA / f"{kept(revision)}.json").read_text())
    return rows


def upgraded(database: Database, revision: str) -> None:
    """Put rows into a new database at the revision of their time, bring it to this one, and then to the last."""
    with database.write() as connection:
        command.upgrade(schema.configuration(connection), kept(revision))
        fill(connection, written(revision))
        command.upgrade(schema.configuration(connection), revision)
    with database.write() as connection:
        schema.upgrade(connection, database.name)


@pytest.fixture(scope="module", params=migrations.REVISIONS)
def revision(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def rows(revision: str) -> Rows:
    return written(revision)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(
    request: pytest.FixtureRequest, revision: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """An upgraded database, which the tests read; what is written to it is taken back."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('migration')}/evolve.db"
    else:
        url = request.getfixturevalue("postgres_server").create_database(f"migration_{secrets.token_hex(8)}")
    opened = connect(url)
    try:
        upgraded(opened, revision)
        yield opened
    finally:
        opened.close()


@pytest.fixture
def reader(database: Database) -> RunReader:
    return SqlRunReader(database)


def test_rows_are_kept_from_the_first_revision_on() -> None:
    assert kept(migrations.REVISIONS[0]) == migrations.REVISIONS[0]
    assert {path.stem for path in DATA.glob("*.json")} <= set(migrations.REVISIONS)


def test_no_row_is_lost_or_changed(database: Database, rows: Rows) -> None:
    with database.read() as connection:
        after = dump(connection)
    for table, before in rows.items():
        known = {name for row in before for name in row}
        left = [
            {name: before_packing(table, name, value) for name, value in row.items() if name in known}
            for row in after[table]
        ]
        assert sorted(left, key=ordered) == sorted(before, key=ordered)


def before_packing(table: str, name: str, value: Any) -> Any:
    """A value of a row as it was before ids, texts and JSON were stored in bytes."""
    kind = all_columns()[table][name].type
    if isinstance(kind, FrequentWord):
        return read_word(value)
    if isinstance(kind, CompactId):
        return decode_id(base64.b64decode(value))
    if isinstance(kind, PackedJson):
        return unpack_json(base64.b64decode(value))
    if (table, name) == ("proposals", "completions"):
        return unpack_json(base64.b64decode(value))
    if (table, name) == ("programs", "files"):
        return json.loads(unpack(base64.b64decode(value)))
    return unpack(base64.b64decode(value)).decode() if isinstance(kind, PackedText) else value


def all_columns() -> dict[str, Any]:
    return {table.name: table.c for table in all_tables()}


def ordered(row: Any) -> str:
    return json.dumps(row, sort_keys=True)


def test_runs_are_read_as_they_were(reader: RunReader, rows: Rows) -> None:
    found = {run.id: run for run in reader.runs()}
    assert set(found) == {row["id"] for row in rows["runs"]}
    for row in rows["runs"]:
        run = found[row["id"]]
        for name in ("state", "config", "policies", "objectives", "seed", "sequence", "best_fitness", "source"):
            assert getattr(run, name) == row[name]
        assert run.counters.evaluations == row["evaluations"]
        assert run.created_at == datetime.fromisoformat(row["created_at"])


def test_events_are_read_as_they_were(database: Database, rows: Rows) -> None:
    log = SqlRunLog(database, FixedClock())
    for run in rows["runs"]:
        events = list(log.events(run["id"]))
        assert [logged.sequence for logged in events] == list(range(1, run["sequence"] + 1))
        told = {row["sequence"]: row for row in rows["events"] if row["run_id"] == run["id"]}
        for logged in events:
            row = told[logged.sequence]
            assert (str(logged.event.kind), logged.event.payload) == (row["kind"], row["payload"])


def test_candidates_are_read_as_they_were(reader: RunReader, rows: Rows) -> None:
    scores = {(row["candidate_id"], row["attempt"]): row["scores"] for row in rows["evaluations"]}
    programs = {row["id"]: row["files"] for row in rows["programs"]}
    found = candidates(reader, rows)
    assert set(found) == {row["id"] for row in rows["candidates"]}
    for row in rows["candidates"]:
        candidate = found[row["id"]]
        assert (candidate.status, candidate.fitness) == (row["status"], row.get("fitness"))
        assert candidate.scores == scores.get((row["id"], row.get("attempt")), {})
        if "program_id" in row:
            files = [list(file) for file in reader.program(row["id"]).files]
            assert files == programs[row["program_id"]]


def candidates(reader: RunReader, rows: Rows) -> dict[str, CandidateRecord]:
    return {one.id: one for run in rows["runs"] for one in reader.candidates(run["id"], limit=1000)}


def test_lineage_is_read_as_it_was(reader: RunReader, rows: Rows) -> None:
    edges = Counter((row["candidate_id"], row["parent_id"], row["role"]) for row in rows["parents"])
    found = candidates(reader, rows).values()
    assert Counter((one.id, edge.candidate_id, edge.role) for one in found for edge in one.parents) == edges
    for one in found:
        if one.parents:
            assert reader.ancestors(one.id)[-1].proposal_number == 0


def test_prompts_and_completions_are_read_as_they_were(reader: RunReader, rows: Rows) -> None:
    texts = {row["hash"]: row["body"] for row in rows["texts"]}
    for row in rows["proposals"]:
        proposal = reader.proposal(row["run_id"], row["number"])
        assert (proposal.id, proposal.completions, proposal.weights) == (row["id"], row["completions"], row["weights"])
        said = ["".join(texts[part] for part in message["parts"]) for message in row["prompt"]]
        assert [message["content"] for message in proposal.prompt] == said


def test_problems_and_usage_are_there(database: Database, rows: Rows) -> None:
    problems = SqlProblemStore(database)
    for row in rows["problems"]:
        found = problems.get(row["tenant"], row["id"])
        assert (found.name, found.version, found.bundle_hash) == (row["name"], row["version"], row["bundle_hash"])
        assert problems.bundle(row["bundle_hash"]).hash == row["bundle_hash"]
    usage = SqlAccounts(database).usage(DEFAULT_TENANT, datetime(2000, 1, 1, tzinfo=UTC), FAR)
    assert (usage.runs, usage.proposals) == (len(rows["runs"]), len(rows["proposals"]))
    assert usage.tokens_input == sum(row["tokens_input"] for row in rows["proposals"])


def test_what_people_put_beside_runs_is_there(database: Database, rows: Rows) -> None:
    keys, webhooks = SqlKeyStore(database), SqlWebhooks(database)
    batches, shares = SqlBatchStore(database), SqlShares(database)
    for row in rows.get("api_keys", []):
        assert keys.find(row["hash"]) in keys.keys(row["tenant"])
    for row in rows.get("webhooks", []):
        assert webhooks.get(row["tenant"], row["id"]).secrets == row["secrets"]
        held = sorted(held["id"] for held in rows["webhook_deliveries"] if held["webhook_id"] == row["id"])
        assert [one.id for one in webhooks.deliveries(row["tenant"], row["id"])] == held[::-1]
    for row in rows.get("batches", []):
        assert batches.get(row["tenant"], row["id"]).request == row["request"]
    for row in rows.get("shares", []):
        share = shares.find(row["hash"])
        assert share is not None
        assert share in SqlAnnotations(database, row["tenant"]).shares(row["run_id"])
    for row in rows.get("notes", []):
        [note] = SqlAnnotations(database, DEFAULT_TENANT).notes(row["run_id"])
        assert (note.id, note.body) == (row["id"], row["body"])


def test_a_run_that_was_at_work_is_taken_up(database: Database, rows: Rows) -> None:
    log = SqlRunLog(database, FixedClock(FAR))
    at_work = [row for row in rows["runs"] if row["state"] == "running"]
    assert at_work, "keep a run that was killed among the rows of a version"
    for row in at_work:
        started = Event.stored(EventKind.RUN_STARTED, payload={"by": "test"})
        told = LoggedEvent(run_id=row["id"], sequence=row["sequence"] + 1, at=FAR, event=started)
        with taken_back(database):
            log.append(row["id"], log.take(row["id"], "another runner", 60), [told])
            assert SqlRunReader(database).run(row["id"]).sequence == told.sequence


def test_a_run_that_was_killed_goes_on_to_its_end(revision: str, rows: Rows, tmp_path: Path) -> None:
    evolve = EvolveHere(tmp_path)
    evolve.url = evolve.environment["EVOLVE_DATABASE__URL"] = f"sqlite:///{tmp_path / 'old.db'}"
    database = connect(evolve.url)
    upgraded(database, revision)
    database.close()
    [killed] = [row for row in rows["runs"] if row["state"] == "running"]
    evolve.call("run", "--resume", killed["id"])
    ended = evolve.json("show", killed["id"])
    assert ended["state"] == "succeeded"
    assert ended["counters"]["evaluations"] == killed["config"]["budget"]["evaluations"]
