"""Trainers take the jobs of their back ends, within the quotas of tenants, on every database."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest

from service.bootstrap.trainers import make_training_jobs
from service.config import DatabaseSettings, Settings
from service.db.accounts import SqlAccounts
from service.db.engine import Database
from service.db.policy_registry import SqlPolicyStore
from service.db.storage import SqlStorage
from service.db.training import SqlTrainingStore
from service.errors import QuotaError, RefusedError
from service.ports import Quotas, RegisteredPolicy, TrainingJob
from service.usecases.training_jobs import StoredTrainingJobs
from tests.contract.story import START, FixedClock
from tests.patience import PATIENCE_SECONDS

REQUEST = {
    "policy": "walker", "backend": "maze", "base": "", "method": "vpo", "runs": [], "problem": "", "labels": {},
    "model": "", "served": "", "hyperparameters": {}, "seed": 0, "steps": 5,
}  # fmt: skip


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def store(database: Database, clock: FixedClock) -> SqlTrainingStore:
    policy = RegisteredPolicy(
        tenant="default", name="walker", description="", shared=False, created_by="", created_at=START
    )
    SqlPolicyStore(database).add(policy)
    return SqlTrainingStore(database, clock)


@pytest.fixture
def jobs(store: SqlTrainingStore, database: Database, database_url: str, clock: FixedClock) -> StoredTrainingJobs:
    settings = Settings(database=DatabaseSettings(url=database_url))
    return make_training_jobs(settings, SqlStorage(database, database_url, clock))


def add(store: SqlTrainingStore, number: int, backend: str = "maze") -> str:
    job = TrainingJob(
        id=f"trn_{number:04}", tenant="default", policy="walker", request={"backend": backend}, runs=(),
        created_by="ci", created_at=START,
    )  # fmt: skip
    store.add(job)
    return job.id


def limit(database: Database, **limits: int) -> None:
    SqlAccounts(database).set_quotas("default", Quotas(**limits))


def test_a_trainer_takes_jobs_of_its_back_ends_alone(store: SqlTrainingStore) -> None:
    other, own = add(store, 1, "trl"), add(store, 2)
    taken = store.claim("one", 60, ["maze"])
    assert taken is not None
    assert taken[0].id == own
    assert store.claim("two", 60, ["maze"]) is None
    found = store.claim("two", 60, ["maze", "trl"])
    assert found is not None
    assert found[0].id == other


def test_a_job_that_no_trainer_takes_says_so_once(store: SqlTrainingStore) -> None:
    job, own = add(store, 1, "trl"), add(store, 2)
    for _ in range(3):
        store.pass_over(["maze"], {"trl": "torch is not installed"})
    newest = store.events(job)[-1]
    assert [event.kind for event in store.events(job)] == ["training.queued", "training.waiting"]
    assert newest.payload == {"backend": "trl", "has": ["maze"], "reason": "torch is not installed"}
    assert [event.kind for event in store.events(own)] == ["training.queued"]
    store.pass_over([], {})
    assert store.events(own)[-1].payload["reason"] == "it does not have maze"
    assert store.claim("one", 60, ["trl"]) is not None


def test_no_more_jobs_run_at_once_than_the_quota_allows(store: SqlTrainingStore, database: Database) -> None:
    for number in range(6):
        add(store, number)
    limit(database, running_training_jobs=2)
    with ThreadPoolExecutor(6) as pool:
        taken = [found for found in pool.map(lambda n: store.claim(f"one-{n}", 60, ["maze"]), range(6)) if found]
    assert len(taken) == 2
    job, fence = taken[0]
    store.record(job.id, fence, "training.started", {}, state="running")
    store.release(job.id, fence)
    # A job that a trainer left runs on, within its own place.
    again = store.claim("other", 60, ["maze"])
    assert again is not None
    assert again[0].id == job.id
    assert store.claim("another", 60, ["maze"]) is None
    store.record(job.id, again[1], "training.succeeded", {}, state="succeeded")
    following = store.claim("another", 60, ["maze"])
    assert following is not None
    assert following[0].id not in {found.id for found, _ in taken}


def test_a_tenant_has_no_more_jobs_than_its_quota_allows(jobs: StoredTrainingJobs, database: Database) -> None:
    limit(database, active_training_jobs=2)

    def submit(_: int) -> str:
        try:
            return jobs.submit("default", REQUEST, "ci").id
        except QuotaError as error:
            return str(error)

    with ThreadPoolExecutor(5) as pool:
        told = list(pool.map(submit, range(5)))
    made = [one for one in told if one.startswith("trn_")]
    assert len(made) == 2
    assert {one for one in told if one not in made} == {
        "the tenant has 2 of 2 training jobs that have not ended: wait for one, or cancel it"
    }
    jobs.cancel("default", made[0])
    another = jobs.submit("default", REQUEST, "ci")
    with pytest.raises(QuotaError, match="2 of 2 training jobs"):
        jobs.resume("default", made[0])
    assert jobs.resume("default", another.id).state == "queued"  # it has not ended, so nothing is added


def test_a_job_beyond_the_quota_registers_no_policy(jobs: StoredTrainingJobs, database: Database) -> None:
    limit(database, active_training_jobs=1)
    asked = {**REQUEST, "new_policy": True}
    registry = SqlPolicyStore(database)
    before = [policy.name for policy in registry.policies("default")]
    jobs.submit("default", {**asked, "policy": "first"}, "ci")
    with pytest.raises(QuotaError, match="1 of 1 training jobs"):
        jobs.submit("default", {**asked, "policy": "second"}, "ci")
    assert [policy.name for policy in registry.policies("default")] == sorted([*before, "first"])


def test_jobs_that_register_the_same_policy_at_once_are_all_queued(
    jobs: StoredTrainingJobs, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, together = StoredTrainingJobs._is_new, Barrier(3)

    def is_new(self: StoredTrainingJobs, tenant: str, request: Mapping[str, Any]) -> bool:
        found = looked(self, tenant, request)
        if found:
            together.wait(PATIENCE_SECONDS)
        return found

    monkeypatch.setattr(StoredTrainingJobs, "_is_new", is_new)
    asked = {**REQUEST, "policy": "another", "new_policy": True}
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda _: jobs.submit("default", asked, "ci"), range(3)))
    assert [job.policy for job in made] == ["another"] * 3
    assert [policy.name for policy in SqlPolicyStore(database).policies("default")].count("another") == 1


def test_the_time_of_trainers_in_a_day_is_limited(
    jobs: StoredTrainingJobs, store: SqlTrainingStore, database: Database, clock: FixedClock
) -> None:
    limit(database, training_seconds_per_day=100)

    def work(*moments: tuple[float, str]) -> None:
        """Events of the next job, each so many seconds after the one before."""
        jobs.submit("default", REQUEST, "ci")
        found = store.claim("one", 1e6, ["maze"])
        assert found is not None
        job, fence = found
        for seconds, kind in moments:
            clock.time += timedelta(seconds=seconds)
            changes = {"state": "succeeded"} if kind == "succeeded" else {}
            store.record(job.id, fence, f"training.{kind}", {}, **changes)

    # It waits for 500 s, works for 40 s, is killed and waits for 500 s, and works for 30 s.
    work((500, "started"), (20, "progress"), (20, "checkpoint"), (500, "started"), (30, "succeeded"))
    assert store.seconds("default", START) == pytest.approx(70)
    work((1, "started"), (31, "succeeded"))
    with pytest.raises(QuotaError, match="has used 101 of 100 seconds of training in 24 hours"):
        jobs.submit("default", REQUEST, "ci")
    clock.time += timedelta(days=1)
    assert jobs.submit("default", REQUEST, "ci").state == "queued"
    assert store.seconds("other", START) == 0


def test_only_the_operator_names_a_model_and_a_server(jobs: StoredTrainingJobs) -> None:
    for name in ("model", "served"):
        with pytest.raises(RefusedError, match=f"only the tenant default names {name}"):
            jobs.submit("lab", {**REQUEST, name: "http://127.0.0.1:1/v1"}, "ci")
