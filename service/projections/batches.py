"""Batches: the runs that one asks for, and how it stands, for every front door."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import product
from typing import Any

from service.errors import UsageError
from service.ports import BatchRecord, NewRun, RunRecord, RunRequest
from service.schemas.batches import MAX_RUNS, Batch, BatchCreate, Sweep

GROUPING = ("strategy", "policy", "variant")


def run_requests(body: BatchCreate, batch_id: str) -> list[RunRequest]:
    """The runs that a batch asks for, in the order of its list or of the sweep.

    Raises:
        UsageError: it has both a list and a sweep or neither, or too many runs.
    """
    if bool(body.runs) == (body.sweep is not None):
        raise UsageError("a batch has either runs or a sweep: give one of them")
    if body.sweep is not None:
        return _swept(body.sweep, batch_id)
    return [
        RunRequest(problem=run.problem, config=run.config, policy=run.policy, labels=run.labels, batch_id=batch_id)
        for run in body.runs
    ]


def refuse_repeated_problem(sweep: Sweep | None, runs: Sequence[NewRun]) -> None:
    """Refuse a sweep of which two problems are one, by whatever names: its runs would count twice.

    Raises:
        UsageError: it names one version of a problem twice.
    """
    if sweep is None or not sweep.problems:
        return
    seen: set[tuple[str, str]] = set()
    for run in runs[:: len(runs) // len(sweep.problems)]:
        version = (run.problem_name, run.bundle.hash)
        if version in seen:
            raise UsageError(f"problems has {run.problem_name[:60]!r} twice in one version: name it once")
        seen.add(version)


def new_batch(batch_id: str, tenant: str, body: BatchCreate, created_at: datetime) -> BatchRecord:
    """What is stored of a batch beside its runs."""
    request = body.model_dump(mode="json")
    return BatchRecord(id=batch_id, tenant=tenant, name=body.name, request=request, states={}, created_at=created_at)


def batch_reply(batch: BatchRecord) -> Batch:
    """A stored batch as front doors show it."""
    return Batch(
        id=batch.id,
        name=batch.name,
        state=batch.state,
        states=dict(batch.states),
        request=batch.request,
        created_at=batch.created_at,
    )


def group_name(run: RunRecord) -> str:
    """The labels by which a run of a sweep belongs to a group; empty: it has none."""
    return ", ".join(f"{key}={run.labels[key]}" for key in GROUPING if key in run.labels)


def _swept(sweep: Sweep, batch_id: str) -> list[RunRequest]:
    if bool(sweep.problems) == (sweep.problem is not None):
        raise UsageError("a sweep has either problem or problems: give one of them")
    problems = sweep.problems if sweep.problem is None else [sweep.problem]
    strategies: Sequence[str | None] = sweep.strategies or [None]
    variants: list[tuple[str, dict[str, Any]]] = list(sweep.variants.items()) or [("", {})]
    count = len(problems) * len(sweep.seeds) * len(sweep.policies) * len(strategies) * len(variants)
    if count > MAX_RUNS:
        raise UsageError(f"the sweep has {count} runs: {MAX_RUNS} are the most of one batch")
    requests, names = [], _policy_labels(sweep.policies)
    for problem, (number, policy) in product(problems, enumerate(sweep.policies)):
        for strategy, (variant, changes), seed in product(strategies, variants, sweep.seeds):
            config = _over(_over(sweep.config, changes), {"seed": seed} | ({"strategy": strategy} if strategy else {}))
            named = names[number]
            labels = {"strategy": strategy or "", "policy": named, "variant": variant}
            labels = {**sweep.labels, **{key: value[:200] for key, value in labels.items() if value}}
            requests.append(RunRequest(problem=problem, config=config, policy=policy, labels=labels, batch_id=batch_id))
    return requests


def _policy_labels(policies: Sequence[Any]) -> list[str]:
    """What the policies of a sweep are called: by their names, or by their places where names are missing or equal."""
    names = [_policy_name(policy) for policy in policies]
    return [
        "" if not policy else name if name and names.count(name) == 1 else f"policy-{number}"
        for number, (name, policy) in enumerate(zip(names, policies, strict=True))
    ]


def _policy_name(policy: Any) -> str:
    """The name of a policy, the model of a description without a name, or those of several; empty: it has none."""
    if isinstance(policy, str):
        return policy
    if isinstance(policy, Mapping):
        return str(policy.get("name") or policy.get("model") or "")
    names = [_policy_name(one) for one in policy or ()]
    return ", ".join(names) if all(names) else ""


def _over(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with single keys of another in it, those of its tables too."""
    merged = dict(base)
    for key, value in changes.items():
        below = merged.get(key)
        merged[key] = _over(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
