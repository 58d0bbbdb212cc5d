"""Storing a new run with its problem."""

from sqlalchemy import Connection, func, insert, select

from evolve.events import Kind
from evolve.identity import digest
from service.db.models import BundleRow, EventRow, ProblemRow, RunRow, Tenant
from service.db.statements import add
from service.db.totals import COUNTERS
from service.errors import ConflictError, NotFoundError
from service.ports import NewRun


def create(connection: Connection, run: NewRun) -> None:
    """Store a run, its problem and the event `run.created`.

    Raises:
        ConflictError: a run of this id exists.
        NotFoundError: no such tenant.
    """
    # The tenant's row is the lock under which its problems are numbered.
    tenant = select(Tenant.id).where(Tenant.id == run.tenant).with_for_update()
    if connection.execute(tenant).scalar() is None:
        raise NotFoundError(f"there is no tenant {run.tenant}")
    add(connection, BundleRow, [{"hash": run.bundle.hash, "content": run.bundle.content}])
    if not add(connection, RunRow, [_row(run, _problem(connection, run))]):
        raise ConflictError(f"a run {run.id} exists already")
    event = {"run_id": run.id, "sequence": 1, "kind": str(Kind.RUN_CREATED), "at": run.created_at}
    connection.execute(insert(EventRow), [event | {"payload": {"by": run.tenant}}])


def _problem(connection: Connection, run: NewRun) -> str:
    """The id of the problem's version with this content, which is made unless it is there."""
    known = connection.execute(
        select(ProblemRow.id).where(
            ProblemRow.tenant == run.tenant,
            ProblemRow.name == run.problem_name,
            ProblemRow.bundle_hash == run.bundle.hash,
        )
    ).scalar()
    if known is not None:
        return known
    latest = connection.execute(
        select(func.max(ProblemRow.version)).where(ProblemRow.tenant == run.tenant, ProblemRow.name == run.problem_name)
    ).scalar()
    problem_id = "prb_" + digest(f"{run.tenant}/{run.problem_name}/{run.bundle.hash}")
    row = {
        "id": problem_id,
        "tenant": run.tenant,
        "name": run.problem_name,
        "version": (latest or 0) + 1,
        "bundle_hash": run.bundle.hash,
        "created_at": run.created_at,
    }
    connection.execute(insert(ProblemRow), [row])
    return problem_id


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
            "sequence": 1,
            "last_at": run.created_at,
            "state": "queued",
            "reason": "",
            "active_seconds": 0.0,
        }
        | dict.fromkeys(_NOTHING_YET)
        | dict.fromkeys(COUNTERS, 0)
    )


_NOTHING_YET = ("waiting", "started_at", "finished_at", "best_candidate_id", "best_fitness")
