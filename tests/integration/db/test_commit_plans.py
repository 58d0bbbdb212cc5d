"""What a commit costs PostgreSQL does not grow with the tables, although they are empty when plans are made."""

import time

import psycopg

from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.db.schema_upgrade import upgrade
from tests.contract.story import FixedClock, Story, new_run
from tests.patience import PATIENCE_SECONDS

BATCHES, CANDIDATES = 12, 20
SCANNED = """
SELECT relname, seq_tup_read FROM pg_stat_user_tables
WHERE relname IN ('candidates', 'programs', 'proposals', 'evaluations', 'parents')
"""
STORED = "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'candidates'"


def scanned(url: str, candidates: int) -> dict[str, int]:
    """Rows of each table that sequential scans have read, once the server has counted so many candidates."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    with psycopg.connect(url, autocommit=True) as connection:
        while True:
            (stored,) = connection.execute(STORED).fetchone() or (0,)
            if stored >= candidates:
                return dict(connection.execute(SCANNED).fetchall())
            assert time.monotonic() < deadline, stored


def test_no_statement_of_a_commit_reads_whole_tables(postgres_url: str) -> None:
    upgrade(postgres_url)
    database, story = open_database(postgres_url), Story()
    log = SqlRunLog(database, FixedClock())
    log.create(new_run(story.run_id))
    fence = log.take(story.run_id, "runner-1", 3600.0)
    log.append(story.run_id, fence, story.seed())
    for first in range(1, BATCHES * CANDIDATES, CANDIDATES):
        numbers = range(first, first + CANDIDATES)
        told = [story.propose(number, story.id(0)) for number in numbers]
        told += [story.create(number, parents=[(story.id(0), "parent")]) for number in numbers]
        log.append(story.run_id, fence, told)
        told = [story.answer(number) for number in numbers]  # the rows of earlier commits change
        log.append(story.run_id, fence, told + [story.evaluate(story.id(number), 2.0) for number in numbers])
    database.close()  # its session hands in its counts
    tables = ("candidates", "programs", "proposals", "evaluations", "parents")
    assert scanned(postgres_url, 1 + BATCHES * CANDIDATES) == dict.fromkeys(tables, 0)
