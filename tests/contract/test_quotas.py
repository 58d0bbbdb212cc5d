"""Quotas hold on every database, also for those who come at once."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event

from service.bootstrap.submissions import make_submissions
from service.config import DatabaseSettings, Settings
from service.db.accounts import SqlAccounts
from service.db.engine import Database
from service.db.problems import SqlProblemStore
from service.db.readers import SqlReaders
from service.db.storage import SqlStorage
from service.errors import QuotaError
from service.ports import NewRun, Quotas, RunLog, RunRequest, Upload
from service.usecases.submit_run import BundledSubmissions
from tests.contract.story import RUN, FixedClock, Story, new_run
from tests.unit.problems.folders import NATIVE, SCORE, SEED

FILES = {"problem.toml": NATIVE.encode(), "seed.py": SEED.encode(), "evaluator.py": SCORE.encode()}


def submissions_to(database: Database, url: str, clock: FixedClock) -> BundledSubmissions:
    return make_submissions(Settings(database=DatabaseSettings(url=url)), SqlStorage(database, url, clock))


def test_of_many_runs_at_once_no_more_are_stored_than_may_be_active(database: Database, database_url: str) -> None:
    submissions = submissions_to(database, database_url, FixedClock())
    SqlProblemStore(database).add(submissions.read_problem(Upload(name="p", files=FILES)))
    SqlAccounts(database).set_quotas("default", Quotas(active_runs=2))
    runs = submissions.prepare("default", [RunRequest(problem="p")] * 8)

    def store(run: NewRun) -> bool:
        try:
            with database.unit():
                submissions.store(run)
        except QuotaError:
            return False
        return True

    with ThreadPoolExecutor(len(runs)) as pool:
        assert sum(pool.map(store, runs)) == 2
    assert SqlReaders(database).of("default").count_runs() == 2


def test_no_row_of_a_run_is_read_for_a_quota(database: Database, database_url: str) -> None:
    submissions = submissions_to(database, database_url, FixedClock())
    SqlProblemStore(database).add(submissions.read_problem(Upload(name="p", files=FILES)))
    SqlAccounts(database).set_quotas("default", Quotas(active_runs=9, evaluations_per_day=9, tokens_per_day=9))
    (run,) = submissions.prepare("default", [RunRequest(problem="p")])
    asked: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    submissions.store_all([run])
    tables = {table for statement in asked for table in re.findall(r"(?:FROM|JOIN) (\w+)", statement)}
    assert "usage" in tables
    assert not tables & {"evaluations", "candidates", "proposals", "events"}


@pytest.mark.parametrize(
    ("quotas", "words"),
    [
        (Quotas(evaluations_per_day=3), "3 of 3 evaluations in 24 hours"),
        (Quotas(tokens_per_day=280), "280 of 280 tokens in 24 hours"),
    ],
)
def test_a_quota_of_a_day_holds_until_the_hour_is_a_day_old(
    database: Database, database_url: str, log: RunLog, quotas: Quotas, words: str
) -> None:
    clock = FixedClock()
    submissions = submissions_to(database, database_url, clock)
    SqlProblemStore(database).add(submissions.read_problem(Upload(name="p", files=FILES)))
    log.create(new_run())
    story, fence = Story(), log.take(RUN, "runner-1", 60)
    log.append(RUN, fence, story.seed())
    log.append(RUN, fence, story.child(1, story.id(0)) + story.child(2, story.id(0)))
    SqlAccounts(database).set_quotas("default", quotas)
    runs = submissions.prepare("default", [RunRequest(problem="p")] * 2)
    clock.advance(24 * 3600 + 3599)
    with pytest.raises(QuotaError, match=words):
        submissions.store(runs[0])
    clock.advance(1)
    submissions.store(runs[1])


def test_runs_of_a_batch_count_together(database: Database, database_url: str) -> None:
    submissions = submissions_to(database, database_url, FixedClock())
    SqlProblemStore(database).add(submissions.read_problem(Upload(name="p", files=FILES)))
    SqlAccounts(database).set_quotas("default", Quotas(active_runs=7))
    runs = submissions.prepare("default", [RunRequest(problem="p")] * 8)
    with pytest.raises(QuotaError, match="0 of 7 runs at once and asks for 8 more"):
        submissions.store_all(runs)
    assert SqlReaders(database).of("default").count_runs() == 0
    submissions.store_all(runs[:6])
    submissions.store(runs[6])
    with pytest.raises(QuotaError, match="7 of 7 runs at once:"):
        submissions.store(runs[7])
    assert SqlReaders(database).of("default").count_runs() == 7
