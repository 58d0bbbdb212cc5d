"""Throughput and workers, "who evaluates, and does it keep up?": workers, queue, runs at work, policies."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, go_to, render
from service.dashboard.run_page import run_title
from service.dashboard.session import Api
from service.dashboard.views.occupancy import LANE, WIDTH, strips_of
from service.errors import RefusedError, ServiceError
from service.schemas.artifacts import PolicyHealth
from service.schemas.runs import Run
from service.schemas.workers import Worker, WorkerList, WorkerTimeline

UNDER_WAY = ("queued", "running", "pausing", "cancelling")
MAX_RUNS = 100
MINUTES = 10
FRESH = timedelta(seconds=15)  # runners tell every four
router = APIRouter(prefix="/workers", route_class=PageRoute, include_in_schema=False)
WorkerId = Annotated[str, Path(max_length=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLoad:
    """What waits in one pool, and who could take it."""

    name: str
    waiting: int
    oldest_seconds: float | None
    slots: int
    busy: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRate:
    """A run under way. `per_minute`: evaluations over the time that it was at work; None: it has not been yet."""

    run: Run
    title: str
    per_minute: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLoad:
    """A policy, and how the runs under way do with it.

    Attributes:
        runs: under way that ask it.
        trouble: why some of them wait, each reason once.
        health: what their runners told of its server of late, the latest first.
    """

    name: str
    kind: str
    model: str
    where: str
    runs: int
    trouble: Sequence[str]
    health: Sequence[PolicyHealth] = ()


def pools_of(found: WorkerList) -> list[PoolLoad]:
    """Pools that have workers or tasks, by name; slots are those that take tasks."""
    names = sorted({*found.waiting, *(worker.pool for worker in found.items)})
    return [_pool(name, found, [worker for worker in found.items if worker.pool == name]) for name in names]


def _pool(name: str, found: WorkerList, workers: Sequence[Worker]) -> PoolLoad:
    return PoolLoad(
        name=name,
        waiting=found.waiting.get(name, 0),
        oldest_seconds=found.oldest_seconds.get(name),
        slots=sum(worker.slots for worker in workers if worker.state == "active"),
        busy=sum(worker.busy for worker in workers),
    )


def pace_of(run: Run) -> RunRate:
    """How fast a run evaluates."""
    active = run.usage.active_seconds
    per_minute = 60 * run.progress.evaluated / active if active > 0 and run.progress.evaluated else None
    return RunRate(run=run, title=run_title(run), per_minute=None if per_minute is None else rounded(per_minute))


def rounded(rate: float) -> float:
    """A rate with as many digits as anybody reads."""
    return round(rate) if rate >= 100 else float(f"{rate:.3g}")


def asked_of(
    policies: Sequence[Mapping[str, Any]], runs: Sequence[Run], health: Sequence[PolicyHealth] = ()
) -> list[PolicyLoad]:
    """The operator's policies, then those that only runs name."""
    named = {str(policy.get("name", "")): policy for run in runs for policy in run.policies}
    listed = {str(policy.get("name", "")): policy for policy in policies}
    return [
        _asked(name, policy, runs, [one for one in health if one.policy == name])
        for name, policy in (named | listed).items()
    ]


def lately(health: Sequence[PolicyHealth], now: datetime) -> list[PolicyHealth]:
    """What was told of late: a runner that is gone tells nothing more."""
    return [one for one in health if now - one.at <= FRESH]


def _asked(name: str, policy: Mapping[str, Any], runs: Sequence[Run], health: Sequence[PolicyHealth]) -> PolicyLoad:
    asking = [run for run in runs if any(str(one.get("name", "")) == name for one in run.policies)]
    return PolicyLoad(
        name=name,
        kind=", ".join(str(policy[key]) for key in ("kind", "role") if policy.get(key)),
        model=str(policy.get("model", "")),
        where=str(policy.get("base_url") or ""),
        runs=len(asking),
        trouble=tuple(dict.fromkeys(run.waiting.reason for run in asking if run.waiting)),
        health=sorted(health, key=lambda one: one.at, reverse=True),
    )


def silence(worker: Worker, now: datetime) -> float | None:
    """Seconds since a worker was heard; None: never by this service."""
    return max(0.0, (now - worker.seen_at).total_seconds()) if worker.seen_at else None


@router.get("")
async def show_workers(request: Request, api: Api) -> Response:
    """Show who evaluates."""
    return render(request, "workers.html", **await _standing(api))


@router.get("/standing")
async def show_standing(request: Request, api: Api) -> Response:
    """Show the figures alone, as they are now."""
    return render(request, "workers_standing.html", **await _standing(api))


@router.post("/{worker_id}/drain")
async def drain(worker_id: WorkerId, api: Api) -> Response:
    """Have a worker finish what it has and end."""
    await api.send(calls.drain_worker(worker_id))
    return go_to("/workers")


async def _standing(api: AsyncClient) -> dict[str, Any]:
    (found, refused), timeline, checks, policies, health, runs = await asyncio.gather(
        _workers(api),
        _timeline(api),
        _checks(api),
        api.send(calls.list_policies(limit=200)),
        api.send(calls.list_policy_health()),
        api.send(calls.list_runs(states=UNDER_WAY, limit=MAX_RUNS)),
    )
    now = datetime.now(UTC)
    paces = [pace_of(run) for run in runs.items]
    return {
        "workers": [(worker, silence(worker, now)) for worker in found.items],
        "timeline": timeline,
        "strips": strips_of(timeline) if timeline else [],
        "pools": pools_of(found),
        "refused": refused,
        "strip_size": (WIDTH, LANE),
        "minutes": MINUTES,
        "checks": checks,
        "policies": asked_of(policies.items, runs.items, lately(health.items, now)),
        "paces": paces,
        "more_runs": runs.next_cursor is not None,
        "per_minute": rounded(sum(pace.per_minute or 0 for pace in paces if pace.run.state == "running")),
        "wanting": any(run.state in ("queued", "running") for run in runs.items),
    }


async def _workers(api: AsyncClient) -> tuple[WorkerList, str]:
    """The workers, or why they are not told: they are the whole installation's, and not everybody's to see."""
    try:
        return await api.send(calls.list_workers()), ""
    except RefusedError as error:
        return WorkerList(items=[], waiting={}), str(error)


async def _timeline(api: AsyncClient) -> WorkerTimeline | None:
    """What workers evaluate and evaluated; None to whom `_workers` says why it is not told."""
    try:
        return await api.send(calls.list_worker_evaluations(minutes=MINUTES))
    except RefusedError:
        return None


async def _checks(api: AsyncClient) -> Mapping[str, str]:
    try:
        return (await api.send(calls.get_readiness())).checks
    except ServiceError as error:
        return {"service": str(error)}
