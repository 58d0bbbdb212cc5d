"""Calls about runs: submit, watch, steer."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import NoneType
from typing import Literal

from service.client.call import Call, chosen, place
from service.schemas.events import EventFeed, EventPage
from service.schemas.runs import BudgetExtension, Run, RunCheck, RunCreate, RunFork, RunPage, RunPatch

RUNS, RUN = "/v1/runs", "/v1/runs/{}"


def create_run(run: RunCreate) -> Call[Run]:
    """Submit a run."""
    return Call(method="POST", path=RUNS, body=run, answer=Run)


def check_run(run: RunCreate) -> Call[RunCheck]:
    """Learn what a run would be, without submitting it."""
    return Call(method="POST", path=f"{RUNS}/check", body=run, answer=RunCheck)


def list_runs(
    *,
    states: Sequence[str] = (),
    problem: str = "",
    batch_id: str = "",
    created_by: str = "",
    labels: Mapping[str, str] | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    sort: Literal["-created_at", "created_at"] = "-created_at",
    limit: int | None = None,
    count: bool = False,
) -> Call[RunPage]:
    """List runs, newest first, or oldest first."""
    pairs = ",".join(f"{key}={value}" for key, value in (labels or {}).items())
    params = chosen(
        state=",".join(states),
        problem=problem,
        batch_id=batch_id,
        created_by=created_by,
        labels=pairs,
        created_after=created_after.isoformat() if created_after else "",
        created_before=created_before.isoformat() if created_before else "",
        sort=sort,
        limit=limit,
        include="count" if count else "",
    )
    return Call(method="GET", path=RUNS, params=params, answer=RunPage)


def get_run(run_id: str, wait_seconds: int = 0) -> Call[Run]:
    """Read a run; with `wait_seconds`, once its state has changed or so much time has passed."""
    headers = {"Prefer": f"wait={wait_seconds}"} if wait_seconds else {}
    return Call(method="GET", path=place(RUN, run_id), headers=headers, answer=Run, wait_seconds=wait_seconds)


def update_run(run_id: str, patch: RunPatch, tag: str = "") -> Call[Run]:
    """Replace a run's labels; with the tag of what was read, only if it was not changed since."""
    headers = {"If-Match": tag} if tag else {}
    return Call(method="PATCH", path=place(RUN, run_id), body=patch, headers=headers, answer=Run)


def delete_run(run_id: str, tag: str = "") -> Call[None]:
    """Delete an ended or paused run: it is not found from now on, and everything that is its own is removed later."""
    headers = {"If-Match": tag} if tag else {}
    return Call(method="DELETE", path=place(RUN, run_id), headers=headers, answer=NoneType)


def pause_run(run_id: str) -> Call[Run]:
    """Have a run stop until it is resumed."""
    return Call(method="POST", path=place(f"{RUN}/pause", run_id), answer=Run)


def resume_run(run_id: str) -> Call[Run]:
    """Have a paused run go on."""
    return Call(method="POST", path=place(f"{RUN}/resume", run_id), answer=Run)


def cancel_run(run_id: str) -> Call[Run]:
    """End a run for good."""
    return Call(method="POST", path=place(f"{RUN}/cancel", run_id), answer=Run)


def extend_run(run_id: str, extension: BudgetExtension) -> Call[Run]:
    """Give a run that has not ended another budget."""
    return Call(method="POST", path=place(f"{RUN}/extend", run_id), body=extension, answer=Run)


def fork_run(run_id: str, fork: RunFork) -> Call[Run]:
    """Submit a run that begins with a program of another."""
    return Call(method="POST", path=place(f"{RUN}/fork", run_id), body=fork, answer=Run)


def list_events(run_id: str, *, after: int = 0, kinds: Sequence[str] = (), limit: int | None = None) -> Call[EventPage]:
    """List the events of a run in order; `Client.stream` follows them."""
    params = chosen(after=after or None, kinds=",".join(kinds), limit=limit)
    return Call(method="GET", path=place(f"{RUN}/events", run_id), params=params, answer=EventPage)


def list_all_events(*, position: str = "", kinds: Sequence[str] = (), limit: int | None = None) -> Call[EventFeed]:
    """List the events of all runs from a position on, or from now; `Client.stream_all` follows them."""
    params = chosen(cursor=position, kinds=",".join(kinds), limit=limit)
    return Call(method="GET", path="/v1/events", params=params, answer=EventFeed)
