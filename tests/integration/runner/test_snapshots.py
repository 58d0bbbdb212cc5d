"""A run that is taken up again goes on from its snapshot, and from its whole log wherever that does not fit."""

import json
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from evolve.configuration import ArchiveConfig, BudgetConfig, DeterministicConfig, NoveltyConfig
from evolve.events import EventKind
from evolve.search import snapshot_codec
from evolve.search.snapshot import differences
from evolve.search.state import SearchState
from service.db.engine import Database
from service.db.log import SqlRunLog
from service.db.snapshots import SqlSnapshotStore
from service.ports import StoredSnapshot
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.runner.run_loop import RunLoop
from tests.contract.story import RUN
from tests.integration.runner.scene import Notes, job, play, play_until

EVENTS = 60


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.runner.run_snapshots.MIN_EVENTS", EVENTS)


@pytest.fixture
def store(database: Database) -> SqlSnapshotStore:
    return SqlSnapshotStore(database)


def snapped(log: SqlRunLog, store: SqlSnapshotStore, evaluations: int = 60, **config: Any) -> RunJob:
    return replace(job(log, evaluations=evaluations, **config), snapshots=store)


def state_of(work: RunJob) -> tuple[SearchState, list[Any], Any]:
    """What a runner that takes a run up knows, with what it logs of snapshots, and the status."""
    loop = RunLoop(work, Notes(), RunOrders())
    with capture_logs() as logs:
        loop._replay()
    return loop._search.state, [entry for entry in logs if entry["event"].startswith("snapshot")], loop._fold.saved()


def whole(work: RunJob) -> RunJob:
    return replace(work, snapshots=None)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"deterministic": DeterministicConfig(window=3)},
        {"archive": ArchiveConfig(kind="dominated_novelty", size=8), "islands": 3},
        {"archive": ArchiveConfig(kind="top", size=500), "novelty": NoveltyConfig(kind="tokens", min_distance=0.1)},
    ],
    ids=["plain", "deterministic", "dominated_novelty", "all_alive"],
)
def test_a_run_is_taken_up_from_its_snapshot_as_from_its_log(
    log: SqlRunLog, store: SqlSnapshotStore, config: dict[str, Any]
) -> None:
    work = snapped(log, store, evaluations=150, **config)
    play_until(work, 3 * EVENTS)
    stored = store.load(RUN)
    assert stored is not None
    assert stored.sequence >= EVENTS
    quick, logs, status = state_of(work)
    full, none, whole_status = state_of(whole(work))
    assert (logs, none) == ([], [])
    assert differences(quick, full) == []
    assert status == whole_status
    ended = play(work, Notes())
    assert ended.state == "succeeded"
    assert ended.counters.evaluations == 150
    after, _, _ = state_of(whole(work))
    assert after.account.evaluations == 150


def test_only_the_events_behind_a_snapshot_are_read(
    log: SqlRunLog, store: SqlSnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = snapped(log, store)
    play_until(work, 2 * EVENTS)
    stored = store.load(RUN)
    assert stored is not None
    read: list[int] = []
    events = SqlRunLog.events

    def watched(self: SqlRunLog, run_id: str, after: int = 0, limit: int | None = None) -> Any:
        for entry in events(self, run_id, after, limit):
            read.append(entry.sequence)
            yield entry

    monkeypatch.setattr(SqlRunLog, "events", watched)
    state_of(work)
    assert read[0] == stored.sequence  # which the snapshot is compared with
    assert min(read[1:], default=stored.sequence + 1) == stored.sequence + 1


def damaged(stored: StoredSnapshot) -> StoredSnapshot:
    return replace(stored, content=stored.content[:-3] + b"xyz")


def headless(stored: StoredSnapshot) -> StoredSnapshot:
    return replace(stored, content=b"nothing\n" + stored.content)


def elsewhere(stored: StoredSnapshot) -> StoredSnapshot:
    return replace(stored, sequence=stored.sequence - 1)


def beyond(stored: StoredSnapshot) -> StoredSnapshot:
    return replace(stored, sequence=stored.sequence + 100_000)


def older(stored: StoredSnapshot) -> StoredSnapshot:
    head, _, content = stored.content.partition(b"\n")
    return replace(stored, content=json.dumps({**json.loads(head), "code": "0"}).encode() + b"\n" + content)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (damaged, "its content is damaged"),
        (headless, "its head cannot be read"),
        (elsewhere, "the last event in it is another now"),
        (beyond, "the run has no such event"),
        (older, "another version of Evolve made it"),
    ],
)
def test_a_snapshot_that_does_not_fit_is_passed_over_with_its_reason(
    log: SqlRunLog, store: SqlSnapshotStore, spoil: Any, reason: str
) -> None:
    work = snapped(log, store)
    play_until(work, 2 * EVENTS)
    stored = store.load(RUN)
    assert stored is not None
    store.forget(RUN)
    store.save(RUN, spoil(stored))
    quick, logs, status = state_of(work)
    full, _, whole_status = state_of(whole(work))
    assert [entry["event"] for entry in logs] == ["snapshot.ignored"]
    assert logs[0]["reason"].startswith(reason)
    assert differences(quick, full) == []
    assert status == whole_status
    assert play(work, Notes()).counters.evaluations == 60
    again = store.load(RUN)
    assert again is not None


def test_a_snapshot_of_another_configuration_is_passed_over_and_one_of_another_budget_is_not(
    log: SqlRunLog, store: SqlSnapshotStore
) -> None:
    work = snapped(log, store)
    play_until(work, 2 * EVENTS)
    larger = replace(work, config=replace(work.config, budget=BudgetConfig(evaluations=70)))
    quick, logs, _ = state_of(larger)
    assert logs == []
    assert quick.budget.evaluations == 70
    _, logs, _ = state_of(replace(work, config=replace(work.config, seed=9)))
    assert [entry["reason"] for entry in logs] == ["the problem or the configuration of the run is another now"]


def test_a_snapshot_whose_content_does_not_fit_the_search_leaves_no_trace(
    log: SqlRunLog, store: SqlSnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = snapped(log, store)
    play_until(work, 2 * EVENTS)
    full, _, whole_status = state_of(whole(work))

    def broken(packed: object) -> Any:
        raise KeyError("wrong")

    monkeypatch.setattr(snapshot_codec.Unpacker, "unpack", broken)
    quick, logs, status = state_of(work)
    assert [entry["event"] for entry in logs] == ["snapshot.ignored"]
    assert differences(quick, full) == []
    assert status == whole_status


def test_no_more_than_its_share_of_the_time_goes_into_snapshots(
    log: SqlRunLog, store: SqlSnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.runner.run_snapshots.MAX_SHARE", 1e-9)
    with capture_logs() as logs:
        play(snapped(log, store, evaluations=300), Notes())
    assert [entry["event"] for entry in logs].count("snapshot.stored") == 1


def test_a_run_without_a_store_keeps_nothing(log: SqlRunLog, store: SqlSnapshotStore) -> None:
    notes = Notes()
    play(whole(snapped(log, store)), notes)
    assert EventKind.RUN_FINISHED in notes.kinds()
    assert store.load(RUN) is None
