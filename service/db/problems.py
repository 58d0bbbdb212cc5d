"""Problems on a database: their versions, and the folders that they are."""

from sqlalchemy import Connection, RowMapping, and_, delete, func, insert, or_, select, update

from evolve.identity import digest
from service.db.columns import is_id
from service.db.engine import Database
from service.db.insertion import add
from service.db.models import BundleRow, ProblemRow, RunRow, Tenant
from service.db.presence import there
from service.db.row_mappers import AnySelect
from service.errors import ConflictError, NotFoundError
from service.ports import Bundle, NewProblem, ProblemRecord

_PROBLEMS: AnySelect = select(
    ProblemRow.id,
    ProblemRow.tenant,
    ProblemRow.name,
    ProblemRow.version,
    ProblemRow.bundle_hash,
    ProblemRow.document,
    ProblemRow.created_at,
)
# A fork of a run is a version of its problem too, with another seed; nobody who asks for the problem means it.
_SUBMITTED = ProblemRow.document["fork_of"].as_string().is_(None)


class SqlProblemStore:
    """The port ProblemStore on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, problem: NewProblem) -> ProblemRecord:
        """Store a version, or find the one with this content.

        Raises:
            NotFoundError: no such tenant.
        """
        with self._database.write() as connection:
            problem_id = store(connection, problem)
            return _record(connection.execute(_PROBLEMS.where(ProblemRow.id == problem_id)).mappings().one())

    def get(self, tenant: str, problem_id: str) -> ProblemRecord:
        """One version, by its id, or by name for the latest, or by `name@version`.

        Raises:
            NotFoundError: the tenant has none.
        """
        with self._database.read() as connection:
            found = _find(connection, tenant, problem_id)
        if found is None:
            raise _missing(problem_id)
        return found

    def problems(self, tenant: str, name: str = "", before: str = "", limit: int = 50) -> list[ProblemRecord]:
        """Versions, newest first (by creation, then id), from the one after `before`; of one name, or of all.

        Raises:
            NotFoundError: `before` is none of the tenant's.
        """
        query = _PROBLEMS.where(ProblemRow.tenant == tenant, _SUBMITTED)
        if name:
            query = query.where(ProblemRow.name == name)
        query = query.order_by(ProblemRow.created_at.desc(), ProblemRow.id.desc()).limit(limit)
        with self._database.read() as connection:
            if before:
                last = _one(connection, tenant, before)
                earlier = and_(ProblemRow.created_at == last.created_at, ProblemRow.id < last.id)
                query = query.where(or_(ProblemRow.created_at < last.created_at, earlier))
            return [_record(row) for row in connection.execute(query).mappings()]

    def bundle(self, bundle_hash: str) -> Bundle:
        """A problem's folder.

        Raises:
            NotFoundError: there is none.
        """
        query = select(BundleRow.hash, BundleRow.content).where(is_id(BundleRow.hash, bundle_hash))
        with self._database.read() as connection:
            found = connection.execute(query).one_or_none()
        if found is None:
            raise NotFoundError("there is no such problem folder: submit the problem again")
        return Bundle(hash=found.hash, content=found.content)

    def delete(self, tenant: str, problem_id: str) -> None:
        """Remove a version.

        Raises:
            NotFoundError: the tenant has none.
            ConflictError: it has runs.
        """
        with self._database.write() as connection:
            _lock(connection, tenant)
            found = _one(connection, tenant, problem_id)
            runs = select(RunRow.id).where(RunRow.problem_id == found.id).limit(1)
            if connection.execute(runs.where(there)).scalar() is not None:
                raise ConflictError(f"problem {found.name}@{found.version} has runs: delete them first")
            if connection.execute(runs).scalar() is not None:
                raise ConflictError(f"runs of problem {found.name}@{found.version} are being deleted: try again later")
            connection.execute(delete(ProblemRow).where(ProblemRow.id == found.id))


def store(connection: Connection, problem: NewProblem) -> str:
    """The id of the version with this content, which is made unless it is there.

    Raises:
        NotFoundError: no such tenant.
    """
    _lock(connection, problem.tenant)
    of_name = (ProblemRow.tenant == problem.tenant, ProblemRow.name == problem.name)
    query = select(ProblemRow.id, ProblemRow.document).where(*of_name, ProblemRow.bundle_hash == problem.bundle.hash)
    known = connection.execute(query).one_or_none()
    if known is not None:
        if problem.document and not known.document:  # it was made before documents were kept
            changed = update(ProblemRow).where(ProblemRow.id == known.id).values(document=dict(problem.document))
            connection.execute(changed)
        return str(known.id)
    add(connection, BundleRow, [{"hash": problem.bundle.hash, "content": problem.bundle.content}])
    latest = connection.execute(select(func.max(ProblemRow.version)).where(*of_name)).scalar()
    row = {
        "id": "prb_" + digest(f"{problem.tenant}/{problem.name}/{problem.bundle.hash}"),
        "tenant": problem.tenant,
        "name": problem.name,
        "version": (latest or 0) + 1,
        "bundle_hash": problem.bundle.hash,
        "document": dict(problem.document),
        "created_at": problem.created_at,
    }
    connection.execute(insert(ProblemRow), [row])
    return str(row["id"])


def _lock(connection: Connection, tenant: str) -> None:
    # The tenant's row is the lock under which its problems are numbered, used by new runs, and removed.
    if (
        connection.execute(select(Tenant.id).where(is_id(Tenant.id, tenant)).with_for_update(key_share=True)).scalar()
        is None
    ):
        raise NotFoundError(f"there is no tenant {tenant[:60]!r}")


def _find(connection: Connection, tenant: str, given: str) -> ProblemRecord | None:
    name, _, version = given.rpartition("@")
    choices = [is_id(ProblemRow.id, given), and_(ProblemRow.name == given, _SUBMITTED)]
    if name and version.isascii() and version.isdigit() and len(version) < 10:
        choices.append(and_(ProblemRow.name == name, ProblemRow.version == int(version)))
    for choice in choices:
        query = _PROBLEMS.where(ProblemRow.tenant == tenant, choice).order_by(ProblemRow.version.desc()).limit(1)
        row = connection.execute(query).mappings().one_or_none()
        if row is not None:
            return _record(row)
    return None


def _one(connection: Connection, tenant: str, problem_id: str) -> ProblemRecord:
    query = _PROBLEMS.where(ProblemRow.tenant == tenant, is_id(ProblemRow.id, problem_id))
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise _missing(problem_id)
    return _record(row)


def _missing(problem_id: str) -> NotFoundError:
    return NotFoundError(f"there is no problem {problem_id[:60]!r}: list the problems, or submit it")


def _record(row: RowMapping) -> ProblemRecord:
    return ProblemRecord(**row)
