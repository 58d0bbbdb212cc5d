"""Leases go by the time of PostgreSQL: a runner whose clock is wrong neither takes runs away nor loses its own."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from service.db.engine import Database, open_database
from service.db.intents import SqlRunClaims, SqlRunIntents
from service.db.log import SqlRunLog
from service.errors import ConflictError
from service.timestamps import SystemClock
from tests.contract.story import RUN, FixedClock, new_run

LEASE_SECONDS = 600.0
WRONG = [timedelta(hours=1), timedelta(hours=-1)]
# A runner of another machine, whose clock is off by so many seconds, looks for a run and tries to take this one.
RUNNER = """
import sys
from datetime import UTC, datetime, timedelta
from service.db.engine import open_database
from service.db.intents import SqlRunClaims
from service.db.log import SqlRunLog
from service.errors import ConflictError
class Wrong:
    def now(self):
        return datetime.now(UTC) + timedelta(seconds=float(sys.argv[2]))
database = open_database(sys.argv[1])
print(SqlRunClaims(database, Wrong()).claim("runner-2", 600.0, []))
try:
    print(SqlRunLog(database, Wrong()).take(sys.argv[3], "runner-2", 600.0))
except ConflictError:
    print("refused")
"""


@pytest.fixture(scope="session")
def postgres_template(postgres_schema: str) -> str:
    return postgres_schema


@pytest.fixture
def shared(postgres_url: str) -> Iterator[Database]:
    database = open_database(postgres_url)
    yield database
    database.close()


def off(by: timedelta) -> FixedClock:
    return FixedClock(datetime.now(UTC) + by)


def test_a_runner_whose_clock_is_ahead_leaves_the_runs_of_others_alone(shared: Database, postgres_url: str) -> None:
    log = SqlRunLog(shared, SystemClock())
    log.create(new_run())
    log.take(RUN, "runner-1", LEASE_SECONDS)
    given = [sys.executable, "-c", RUNNER, postgres_url, str(2 * LEASE_SECONDS), RUN]
    found = subprocess.run(given, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["None", "refused"]


@pytest.mark.parametrize("by", WRONG)
def test_a_lease_lasts_as_long_whatever_the_clock_of_who_took_it(shared: Database, by: timedelta) -> None:
    log = SqlRunLog(shared, off(by))
    log.create(new_run())
    fence = log.take(RUN, "runner-1", LEASE_SECONDS)
    for other in (SystemClock(), off(timedelta(hours=1))):
        assert SqlRunClaims(shared, other).claim("runner-2", LEASE_SECONDS, []) is None
        with pytest.raises(ConflictError):
            SqlRunIntents(shared, "default", other).delete(RUN)
    log.renew(RUN, fence, 0.0)
    found = SqlRunClaims(shared, off(timedelta(hours=-1))).claim("runner-2", LEASE_SECONDS, [])
    assert found is not None
    assert log.take(RUN, "runner-2", LEASE_SECONDS) == fence + 1


@pytest.mark.parametrize("by", WRONG)
def test_who_stores_a_run_in_order_to_drive_it_has_it_for_a_moment(shared: Database, by: timedelta) -> None:
    SqlRunLog(shared, off(by)).create(new_run(owner="here", created_at=datetime.now(UTC) + by))
    assert SqlRunClaims(shared, SystemClock()).claim("runner-2", LEASE_SECONDS, []) is None
