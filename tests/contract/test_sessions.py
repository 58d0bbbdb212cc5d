"""What every Sessions holds."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from service.db.account_models import EndedSessionRow
from service.db.engine import Database, open_database
from service.db.sessions import SqlSessions
from service.ports import Sessions
from tests.contract.story import START

HOURS = timedelta(hours=12)


@pytest.fixture
def sessions(database: Database) -> Sessions:
    return SqlSessions(database)


def test_a_session_that_was_ended_is_ended_for_every_process(sessions: Sessions, database_url: str) -> None:
    sessions.end("ses_1", START, START + HOURS)
    sessions.end("ses_1", START + HOURS / 2, START + HOURS)
    elsewhere = open_database(database_url)
    assert SqlSessions(elsewhere).ended("ses_1")
    elsewhere.close()


@pytest.mark.parametrize("other", ["ses_2", "SES_1", "ses_", "", "a\x00b", "\ud800"])
def test_no_other_session_ends_with_it(sessions: Sessions, other: str) -> None:
    sessions.end("ses_1", START, START + HOURS)
    assert not sessions.ended(other)


def test_what_is_past_its_time_is_forgotten_with_the_next_that_ends(sessions: Sessions, database: Database) -> None:
    sessions.end("ses_1", START, START + HOURS)
    sessions.end("ses_2", START + HOURS / 2, START + 2 * HOURS)
    sessions.end("ses_3", START + HOURS, START + 3 * HOURS)
    with database.read() as connection:
        assert sorted(connection.execute(select(EndedSessionRow.id)).scalars()) == ["ses_2", "ses_3"]
