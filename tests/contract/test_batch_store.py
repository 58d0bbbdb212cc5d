"""What every BatchStore holds."""

from typing import Any

import pytest

from evolve.events import EventKind
from service.db.batches import SqlBatchStore
from service.db.engine import Database
from service.db.keys import SqlKeyStore
from service.errors import AmbiguousIdError, NotFoundError
from service.ports import BatchRecord, BatchStore, KeyRecord, RunLog
from tests.contract.story import START, Story, new_run


@pytest.fixture
def batches(database: Database) -> BatchStore:
    SqlKeyStore(database).add(
        KeyRecord(id="key_1", tenant="lab", name="", shown="", scopes=(), created_at=START, created_by=""), "hash"
    )
    return SqlBatchStore(database)


def batch(number: int = 1, **changes: Any) -> BatchRecord:
    fields: dict[str, Any] = {
        "id": f"bat_{number}",
        "tenant": "lab",
        "name": "seeds \x00",
        "request": {"sweep": {"seed": [1, 2, 3]}},
        "states": {},
        "created_at": START,
    }
    return BatchRecord(**(fields | changes))


def run(log: RunLog, number: int, ends: EventKind | None = None, **changes: Any) -> None:
    run_id = f"run_0190cccc{number:024}"
    log.create(new_run(run_id, **({"tenant": "lab", "batch_id": "bat_1"} | changes)))
    if ends is not None:
        log.append(run_id, log.take(run_id, "runner-1", 60), [Story(run_id).tell(ends, reason="evaluations")])


def test_a_batch_comes_back_as_it_went_in(batches: BatchStore) -> None:
    batches.add(batch())
    assert batches.get("lab", "bat_1") == batch()


def test_its_states_are_those_of_its_runs(batches: BatchStore, log: RunLog) -> None:
    batches.add(batch(1))
    batches.add(batch(2))
    for number, ends in enumerate((None, None, EventKind.RUN_FINISHED, EventKind.RUN_CANCELLED, EventKind.RUN_PAUSED)):
        run(log, number, ends)
    run(log, 8, batch_id="bat_2")
    run(log, 9, batch_id="")
    expected = {"queued": 2, "succeeded": 1, "cancelled": 1, "paused": 1}
    assert batches.get("lab", "bat_1").states == expected
    assert [found.states for found in batches.batches("lab")] == [{"queued": 1}, expected]


def test_a_run_of_another_tenant_counts_nowhere(batches: BatchStore, log: RunLog) -> None:
    batches.add(batch())
    run(log, 1, tenant="default")
    assert batches.get("lab", "bat_1").states == {}


def test_batches_come_newest_first_a_page_at_a_time(batches: BatchStore) -> None:
    for number in (2, 1, 3):
        batches.add(batch(number))
    batches.add(batch(9, tenant="default"))
    assert [found.id for found in batches.batches("lab", limit=2)] == ["bat_3", "bat_2"]
    assert [found.id for found in batches.batches("lab", before="bat_2")] == ["bat_1"]
    assert batches.batches("nobody") == []


@pytest.mark.parametrize(
    ("tenant", "batch_id"),
    [("default", "bat_100"), ("default", "bat_10"), ("lab", "bat_200"), ("lab", ""), ("lab", "\x00"), ("lab", "%")],
)
def test_a_batch_of_another_tenant_is_not_there(batches: BatchStore, tenant: str, batch_id: str) -> None:
    batches.add(batch(100))
    with pytest.raises(NotFoundError):
        batches.get(tenant, batch_id)


def test_a_beginning_names_the_one_batch_of_the_tenant_that_begins_so(batches: BatchStore) -> None:
    for number in (100, 101, 200):
        batches.add(batch(number))
    batches.add(batch(201, tenant="default"))
    assert batches.get("lab", "bat_20").id == "bat_200"
    assert batches.get("lab", "bat_101").id == "bat_101"
    for several in ("bat_10", "bat_", "b"):
        with pytest.raises(AmbiguousIdError):
            batches.get("lab", several)


@pytest.mark.parametrize(
    ("states", "whole"),
    [
        ((), "queued"),
        (("queued",), "queued"),
        (("queued", "succeeded"), "running"),
        (("running", "paused", "failed"), "running"),
        (("cancelling", "succeeded"), "running"),
        (("paused", "succeeded"), "paused"),
        (("succeeded", "failed", "cancelled"), "succeeded"),
        (("failed", "cancelled"), "failed"),
        (("cancelled",), "cancelled"),
    ],
)
def test_the_state_of_the_whole(states: tuple[str, ...], whole: str) -> None:
    assert batch(states=dict.fromkeys(states, 1) | {"pausing": 0}).state == whole
