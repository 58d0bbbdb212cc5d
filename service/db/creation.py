"""Storing a new run with its problem."""

from dataclasses import asdict
from datetime import timedelta

from sqlalchemy import Connection, insert

from evolve.event_types import RunCreated
from evolve.events import Event
from service.db.insertion import add
from service.db.leases import LeaseTime
from service.db.models import EventRow, RunRow
from service.db.problems import store
from service.db.usage import add_usage, begun
from service.errors import ConflictError
from service.ports import Clock, Counters, NewProblem, NewRun

# For whoever begins to drive a run in the moment after it was stored.
FIRST_LEASE = timedelta(seconds=15)


def create(connection: Connection, run: NewRun, clock: Clock, lease_time: LeaseTime) -> None:
    """Store a run, its problem and the event `run.created`; a run with an owner is leased to it for a moment.

    Raises:
        ConflictError: a run of this id exists.
        NotFoundError: no such tenant.
    """
    problem = NewProblem(
        tenant=run.tenant,
        name=run.problem_name,
        bundle=run.bundle,
        document=run.document,
        created_at=run.created_at,
    )
    row = _row(run, store(connection, problem))
    if run.owner:
        row |= {"lease_owner": run.owner, "lease_expires_at": lease_time(connection, clock) + FIRST_LEASE}
    if not add(connection, RunRow, [row]):
        raise ConflictError(f"a run {run.id} exists already")
    created = Event(RunCreated(by=run.tenant, limits={key: dict(entry) for key, entry in run.limits.items()}))
    row = {"run_id": run.id, "sequence": 1, "kind": str(created.kind), "at": run.created_at}
    connection.execute(insert(EventRow), [row | {"payload": created.payload}])
    add_usage(connection, run.tenant, run.id, begun(run.created_at))


def _row(run: NewRun, problem_id: str) -> dict[str, object]:
    return (
        {
            "id": run.id,
            "tenant": run.tenant,
            "problem_id": problem_id,
            "config": dict(run.config),
            "policies": [dict(policy) for policy in run.policies],
            "objectives": [dict(objective) for objective in run.objectives],
            "measures": [dict(measure) for measure in run.measures],
            "labels": dict(run.labels),
            "batch_id": run.batch_id or None,
            "fork_of": run.fork_of or None,
            "seed": run.seed,
            "known_best": run.known_best,
            "integrity": run.integrity,
            "isolation": run.isolation,
            "source": run.source,
            "desired_state": "running",
            "lease_owner": None,
            "lease_expires_at": None,
            "fence": 0,
            "created_at": run.created_at,
            "created_by": run.created_by,
            "sequence": 1,
            "last_at": run.created_at,
            "state": "queued",
            "reason": "",
            "active_seconds": 0.0,
        }
        | dict.fromkeys(_NOTHING_YET)
        | asdict(Counters())
    )


_NOTHING_YET = ("waiting", "started_at", "finished_at", "best_candidate_id", "best_fitness")
