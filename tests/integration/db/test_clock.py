"""What is written into a PostgreSQL has its times, however wrong the clock of the machine is that writes."""

import json
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import psycopg
import pytest

from service.db.compact_ids import encode_id
from tests.e2e.evolving import EvolveHere, make_problem

WRONG = timedelta(hours=1)


class _Ahead(datetime):
    """The time of a machine whose clock is an hour ahead."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "_Ahead":
        return super().now(tz) + WRONG


@pytest.fixture(scope="module")
def postgres_template(postgres_schema: str) -> str:
    return postgres_schema


def time_of(url: str) -> datetime:
    with psycopg.connect(url) as connection:
        [now] = connection.execute("select clock_timestamp()").fetchone() or ()
        assert isinstance(now, datetime)
        return now.astimezone(UTC)


def test_a_run_on_a_machine_whose_clock_is_wrong_has_the_times_of_the_database(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("service.timestamps", "service.db.clock"):
        monkeypatch.setattr(f"{module}.datetime", _Ahead)
    evolve = EvolveHere(tmp_path)
    evolve.environment["EVOLVE_DATABASE__URL"] = postgres_url
    began = time_of(postgres_url)
    run_id = evolve.lines("run", str(make_problem(tmp_path / "problem", evaluations=4)), "--json")[-1]["run_id"]
    ended = time_of(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        stored = [encode_id(run_id)]
        rows = connection.execute("select at from events where run_id = %s", stored).fetchall()
        [active] = connection.execute("select active_seconds from runs where id = %s", stored).fetchone() or ()
    assert len(rows) > 5
    assert all(began <= at <= ended for (at,) in rows), json.dumps([str(at) for (at,) in rows])
    assert active <= (ended - began).total_seconds()
