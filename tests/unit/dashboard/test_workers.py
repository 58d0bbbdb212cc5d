"""Workers, queue and policies put together for one page."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from service.dashboard.views.workers import asked_of, lately, pace_of, pools_of, rounded, silence
from service.schemas.artifacts import PolicyHealth
from service.schemas.workers import Worker, WorkerList
from tests.unit.dashboard.told_runs import AT, told_run


def worker(name: str, **changes: Any) -> Worker:
    fields: dict[str, Any] = {
        "worker_id": name,
        "pool": "cpu",
        "slots": 4,
        "busy": 1,
        "isolation": "strong",
        "state": "active",
        "version": "1",
        "started_at": AT,
        "evaluations": 3,
        "seen_at": AT,
    }
    return Worker.model_validate(fields | changes)


def health(policy: str, at: datetime) -> PolicyHealth:
    seen = {"breaker": "closed", "retry_seconds": 0.0, "reachable": True, "running": 3.0, "waiting": 12.0}
    return PolicyHealth.model_validate(seen | {"run_id": "r", "policy": policy, "at": at, "calls": 8, "in_flight": 5})


def test_a_worker_that_drains_offers_no_slots() -> None:
    workers = [worker("a"), worker("b", state="draining", busy=2)]
    (pool,) = pools_of(WorkerList(items=workers, waiting={"cpu": 5}, oldest_seconds={"cpu": 2.5}))
    assert (pool.slots, pool.busy, pool.waiting, pool.oldest_seconds) == (4, 3, 5, 2.5)


def test_a_pool_without_workers_is_told_where_tasks_wait_in_it() -> None:
    cpu, gpu = pools_of(WorkerList(items=[worker("a")], waiting={"gpu": 1}))
    assert (cpu.name, cpu.slots, gpu.name, gpu.slots, gpu.waiting) == ("cpu", 4, "gpu", 0, 1)


def test_pace_is_over_the_time_at_work() -> None:
    usage = {"tokens_input": 0, "tokens_cached": 0, "tokens_output": 0, "active_seconds": 30.0}
    progress = {"proposed": 9, "evaluated": 6, "budget": None}
    assert pace_of(told_run(usage=usage, progress=progress)).per_minute == 12
    assert pace_of(told_run()).per_minute is None


@pytest.mark.parametrize(("rate", "shown"), [(1402.7, 1403), (12.345, 12.3), (0.0, 0)])
def test_rates_have_the_digits_that_anybody_reads(rate: float, shown: float) -> None:
    assert rounded(rate) == shown


def test_policies_of_runs_stand_beside_those_of_the_operator() -> None:
    waits = {"reason": "the policy's server is away"}
    own = {"name": "own", "kind": "openai", "model": "m", "base_url": "http://gpu:8000/v1"}
    runs = [told_run("a", policies=[own], waiting=waits), told_run("b", policies=[own], waiting=waits), told_run("c")]
    found = {one.name: one for one in asked_of([{"name": "syntax", "kind": "syntax"}, {"name": "idle"}], runs)}
    assert {name: one.runs for name, one in found.items()} == {"own": 2, "syntax": 1, "idle": 0}
    assert (found["own"].where, found["own"].trouble) == ("http://gpu:8000/v1", ("the policy's server is away",))
    assert found["syntax"].trouble == ()


def test_what_runners_told_of_late_stands_beside_the_policy_the_latest_first() -> None:
    own = {"name": "own", "kind": "openai", "base_url": "http://gpu:8000/v1"}
    told = [health("own", AT - timedelta(seconds=n)) for n in (9, 1, 90)] + [health("other", AT)]
    [asked] = asked_of([], [told_run("a", policies=[own])], lately(told, AT))
    assert [(AT - one.at).total_seconds() for one in asked.health] == [1, 9]


def test_silence_is_never_negative() -> None:
    assert silence(worker("a"), AT.replace(year=2025)) == 0
    assert silence(worker("a"), AT.replace(minute=1)) == 60
    assert silence(worker("a", seen_at=None), AT) is None
