"""What callers are told when the database or the queue is away: that, and not where they lie."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog

from service.errors import StorageAwayError, StorageError, UnreachableError
from service.queue import connection
from tests.api.told import open_told

WHERE = "postgresql://db-7.internal:5432/evolve"


async def test_a_database_that_is_away_is_told_without_its_place(tmp_path: Path) -> None:
    def fail(*_: object) -> list[Any]:
        raise StorageAwayError(f"{WHERE} does not answer: check that it runs")

    away = type("Away", (), {"batches": staticmethod(fail)})()
    async with open_told(tmp_path, lambda parts: replace(parts, batches=away)) as told, told.client() as client:
        with structlog.testing.capture_logs() as logs:
            answer = await client.get("/v1/batches")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert answer.json()["detail"] == "the database does not answer now: try again as Retry-After says"
    (entry,) = [one for one in logs if one["event"] == "request.away"]
    assert (WHERE in entry["reason"], entry["request_id"]) == (True, answer.json()["trace_id"])


@pytest.mark.parametrize(
    ("error", "told_as"),
    [
        (StorageAwayError(f"{WHERE} does not answer"), "it does not answer"),
        (UnreachableError("the queue does not answer: Name or service not known"), "it does not answer"),
        (StorageError(f"{WHERE} lacks tables"), "it cannot be served from: the log of the service says why"),
    ],
)
async def test_readiness_names_no_place(tmp_path: Path, error: Exception, told_as: str) -> None:
    async def check() -> None:
        raise error

    async with (
        open_told(tmp_path, lambda parts: replace(parts, checks={"database": check})) as told,
        told.client() as client,
    ):
        with structlog.testing.capture_logs() as logs:
            answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]) == (503, {"database": told_as})
    assert str(error) in [entry.get("reason") for entry in logs]


@pytest.mark.parametrize("url", ["redis://127.0.0.1:9/0", "redis://queue-7.invalid:6379/0", "unix:///nowhere/q.sock"])
async def test_a_queue_that_is_away_is_told_without_its_address(url: str) -> None:
    with pytest.raises(UnreachableError, match=r"the queue does not answer: .") as caught:
        async with connection.connect(url) as client, connection.reaching():
            await client.ping()
    for part in ("127.0.0.1", ":9", "queue-7", "6379", "nowhere", "q.sock"):
        assert part not in str(caught.value)
