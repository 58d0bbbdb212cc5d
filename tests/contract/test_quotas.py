"""Quotas hold on every database, also for those who come at once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from service.bootstrap.submissions import BundledSubmissions
from service.config import DatabaseSettings, Settings
from service.db.accounts import SqlAccounts
from service.db.engine import Database
from service.db.problems import SqlProblemStore
from service.db.readers import SqlReaders
from service.errors import QuotaError
from service.ports import NewRun, Quotas, RunRequest, Upload, UsageRecord
from tests.contract.story import FixedClock
from tests.unit.problems.folders import NATIVE, SCORE, SEED

FILES = {"problem.toml": NATIVE.encode(), "seed.py": SEED.encode(), "evaluator.py": SCORE.encode()}


def test_of_many_runs_at_once_no_more_are_stored_than_may_be_active(database: Database, database_url: str) -> None:
    settings = Settings(database=DatabaseSettings(url=database_url))
    submissions = BundledSubmissions(settings, database, FixedClock())
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


def test_usage_is_counted_once_for_all_runs_of_a_batch(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    submissions = BundledSubmissions(Settings(database=DatabaseSettings(url=database_url)), database, FixedClock())
    SqlProblemStore(database).add(submissions.read_problem(Upload(name="p", files=FILES)))
    SqlAccounts(database).set_quotas("default", Quotas(active_runs=7))
    counted, usage = 0, SqlAccounts.usage

    def counting(*given: Any) -> UsageRecord:
        nonlocal counted
        counted += 1
        return usage(*given)

    monkeypatch.setattr(SqlAccounts, "usage", counting)
    runs = submissions.prepare("default", [RunRequest(problem="p")] * 8)
    with pytest.raises(QuotaError, match="0 of 7 runs at once and asks for 8 more"):
        submissions.store_all(runs)
    assert SqlReaders(database).of("default").count_runs() == 0
    submissions.store_all(runs[:6])
    assert counted == 2
    submissions.store(runs[6])
    with pytest.raises(QuotaError, match="7 of 7 runs at once:"):
        submissions.store(runs[7])
    assert SqlReaders(database).of("default").count_runs() == 7
