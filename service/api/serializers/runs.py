"""Runs as the API shows them."""

from dataclasses import replace
from typing import get_args

from service.ports import ENDED, Caller, RunRecord
from service.ports.shared_fields import for_schema
from service.schemas.runs import Progress, Run, RunFailure, RunUrls, State, Stats, TokenUsage, Waiting

_TRANSIENT: dict[str, State] = {"cancelled": "cancelling", "paused": "pausing"}


def shown_state(run: RunRecord) -> State:
    """The state of a run, with what is wanted of it and has not happened yet."""
    state: State = run.state  # type: ignore[assignment] # the states of the log are those of the schema
    if run.state in ENDED or run.desired_state in {run.state, "running"}:
        return state
    return _TRANSIENT.get(run.desired_state, state)


def shown_alike(run: RunRecord) -> frozenset[State]:
    """The states in which a run is shown as it is now, while the same is wanted of it."""
    states: tuple[State, ...] = get_args(State)
    return frozenset(state for state in states if shown_state(replace(run, state=state)) == shown_state(run))


def shown(run: RunRecord, caller: Caller) -> Run:
    """A run as it goes over the wire; names of people not to the bearers of shares."""
    counters, at, base = run.counters, run.finished_at, f"/v1/runs/{run.id}"
    return Run(
        **for_schema(
            run,
            Run,
            state=shown_state(run),
            reason=run.reason if run.state in ENDED else "",
            waiting=Waiting(**run.waiting) if run.waiting and run.state not in ENDED else None,
            policies=[_open(policy) for policy in run.policies],
            batch_id=run.batch_id or None,
            fork_of=run.fork_of or None,
            created_by="" if caller.run_id else run.created_by,
        ),
        error=_failure(run),
        problem=run.problem_name,
        progress=Progress(
            proposed=counters.proposals,
            evaluated=counters.evaluations,
            budget=run.config.get("budget", {}).get("evaluations"),
        ),
        stats=Stats(**for_schema(counters, Stats)),
        usage=TokenUsage(**for_schema(counters, TokenUsage, active_seconds=run.active_seconds)),
        cancelled_at=at if run.state == "cancelled" else None,
        succeeded_at=at if run.state == "succeeded" else None,
        failed_at=at if run.state == "failed" else None,
        urls=RunUrls(
            self=base,
            events=f"{base}/events",
            stream=f"{base}/events",
            candidates=f"{base}/candidates",
        ),
    )


def _open(policy: object) -> dict[str, object]:
    """A policy without where its key lies: that is the operator's."""
    assert isinstance(policy, dict)
    return {key: value for key, value in policy.items() if key not in ("api_key_env", "api_key_file")}


def _failure(run: RunRecord) -> RunFailure | None:
    if run.state != "failed":
        return None
    detail = run.failure or "no seed could be scored: read the feedback of candidate 0.0"
    return RunFailure(code=run.reason or "error", detail=detail)
