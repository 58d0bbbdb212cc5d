"""Registered policies and their versions on a database."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, and_, func, insert, or_, select, update

from service.db.columns import is_id
from service.db.engine import Database
from service.db.insertion import add
from service.db.models import BundleRow
from service.db.policy_models import PolicyRow, PolicyVersionRow
from service.errors import ConflictError, NotFoundError
from service.ports import (
    ARCHIVED,
    CANDIDATE,
    DEFAULT_TENANT,
    PROMOTED,
    NewPolicyVersion,
    PolicyVersion,
    RegisteredPolicy,
)

_OF_POLICY = and_(PolicyVersionRow.tenant == PolicyRow.tenant, PolicyVersionRow.policy == PolicyRow.name)
_PROMOTED = (
    select(PolicyVersionRow.version).where(_OF_POLICY, PolicyVersionRow.state == PROMOTED).scalar_subquery()
)  # fmt: skip
_COUNT = select(func.count()).where(_OF_POLICY).scalar_subquery()
_SHARED = and_(PolicyRow.tenant == DEFAULT_TENANT, PolicyRow.shared.is_(True))


class SqlPolicyStore:
    """The port PolicyStore on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, policy: RegisteredPolicy) -> None:
        """Store a policy without versions.

        Raises:
            ConflictError: the tenant has one of the name.
        """
        names = ("tenant", "name", "description", "shared", "created_by", "created_at")
        with self._database.write() as connection:
            if not add(connection, PolicyRow, [{name: getattr(policy, name) for name in names}]):
                raise ConflictError(f"there is a policy {policy.name} already: add a version to it, or name another")

    def get(self, tenant: str, name: str) -> RegisteredPolicy:
        """A policy of a tenant.

        Raises:
            NotFoundError: the tenant has none of the name.
        """
        return self._one(name, _policies().where(PolicyRow.tenant == tenant))

    def visible(self, tenant: str, name: str) -> RegisteredPolicy:
        """A policy that a tenant may use: its own, else a shared one.

        Raises:
            NotFoundError: there is none.
        """
        own_first = (PolicyRow.tenant == tenant).desc()
        return self._one(name, _policies().where(or_(PolicyRow.tenant == tenant, _SHARED)).order_by(own_first))

    def policies(self, tenant: str, after: str = "", limit: int = 50) -> list[RegisteredPolicy]:
        """Policies that a tenant may use, by name. Its own policy hides a shared one of the same name."""
        own = select(PolicyRow.name).where(PolicyRow.tenant == tenant)
        shared = and_(_SHARED, PolicyRow.name.not_in(own))
        query = _policies().where(or_(PolicyRow.tenant == tenant, shared), PolicyRow.name > after)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(PolicyRow.name).limit(limit)).mappings()
            return [RegisteredPolicy(**row) for row in rows]

    def add_version(self, tenant: str, name: str, new: NewPolicyVersion) -> PolicyVersion:
        """Store the next version.

        Raises:
            NotFoundError: the tenant has no such policy.
        """
        with self._database.write() as connection:
            _lock(connection, tenant, name)
            add(connection, BundleRow, [{"hash": new.files.hash, "content": new.files.content}])
            last = select(func.max(PolicyVersionRow.version)).where(*_of(tenant, name))
            number = (connection.execute(last).scalar() or 0) + 1
            row = {
                "tenant": tenant,
                "policy": name,
                "version": number,
                "state": CANDIDATE,
                "base": new.base,
                "settings": dict(new.settings),
                "bundle_hash": new.files.hash,
                "training": dict(new.training),
                "card": new.card,
                "evaluations": [],
                "promotion": {},
                "created_by": new.created_by,
                "created_at": new.created_at,
            }
            connection.execute(insert(PolicyVersionRow), [row])
            return _version(connection, tenant, name, number)

    def version(self, tenant: str, name: str, version: int) -> PolicyVersion:
        """A version of a policy of a tenant.

        Raises:
            NotFoundError: the tenant has none.
        """
        with self._database.read() as connection:
            return _version(connection, tenant, name, version)

    def versions(self, tenant: str, name: str, before: int | None = None, limit: int = 50) -> list[PolicyVersion]:
        """Versions of a policy of a tenant, newest first."""
        query = select(*PolicyVersionRow.__table__.c).where(*_of(tenant, name))
        if before is not None:
            query = query.where(PolicyVersionRow.version < before)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(PolicyVersionRow.version.desc()).limit(limit)).mappings()
            return [_record(row) for row in rows]

    def add_evaluation(self, tenant: str, name: str, version: int, evaluation: Mapping[str, Any]) -> PolicyVersion:
        """Add an evaluation to those of a version.

        Raises:
            NotFoundError: the tenant has no such version.
        """
        with self._database.write() as connection:
            _lock(connection, tenant, name)
            found = _version(connection, tenant, name, version)
            _change(connection, found, evaluations=[*found.evaluations, dict(evaluation)])
            return _version(connection, tenant, name, version)

    def promote(
        self, tenant: str, name: str, version: int, promotion: Mapping[str, Any], at: datetime
    ) -> PolicyVersion:
        """Let a policy's name stand for a version. The version that it stood for becomes a candidate.

        Raises:
            NotFoundError: the tenant has no such version.
            ConflictError: the version is archived.
        """
        with self._database.write() as connection:
            _lock(connection, tenant, name)
            found = _version(connection, tenant, name, version)
            if found.state == ARCHIVED:
                raise ConflictError(f"{found.name} is archived: promote another version, or add its files anew")
            before = update(PolicyVersionRow).where(*_of(tenant, name), PolicyVersionRow.state == PROMOTED)
            connection.execute(before.values(state=CANDIDATE))
            _change(connection, found, state=PROMOTED, promotion=dict(promotion), promoted_at=at)
            return _version(connection, tenant, name, version)

    def archive(self, tenant: str, name: str, version: int, at: datetime) -> PolicyVersion:
        """Take a version from new runs. Runs that have it keep it.

        Raises:
            NotFoundError: the tenant has no such version.
            ConflictError: the policy's name stands for it.
        """
        with self._database.write() as connection:
            _lock(connection, tenant, name)
            found = _version(connection, tenant, name, version)
            if found.state == PROMOTED:
                raise ConflictError(f"{found.name} is promoted: promote another version first")
            if found.state != ARCHIVED:
                _change(connection, found, state=ARCHIVED, archived_at=at)
            return _version(connection, tenant, name, version)

    def _one(self, name: str, query: "Select[Any]") -> RegisteredPolicy:
        with self._database.read() as connection:
            row = connection.execute(query.where(is_id(PolicyRow.name, name)).limit(1)).mappings().one_or_none()
        if row is None:
            raise _missing(name)
        return RegisteredPolicy(**row)


def _policies() -> "Select[Any]":
    return select(*PolicyRow.__table__.c, _PROMOTED.label("promoted"), _COUNT.label("versions"))


def _of(tenant: str, name: str) -> tuple[Any, Any]:
    return PolicyVersionRow.tenant == tenant, is_id(PolicyVersionRow.policy, name)


def _lock(connection: Connection, tenant: str, name: str) -> None:
    """Let others who change the same policy wait; on SQLite a transaction that writes is alone."""
    query = select(PolicyRow.name).where(PolicyRow.tenant == tenant, is_id(PolicyRow.name, name)).with_for_update()
    if connection.execute(query).one_or_none() is None:
        raise _missing(name)


def _version(connection: Connection, tenant: str, name: str, version: int) -> PolicyVersion:
    query = select(*PolicyVersionRow.__table__.c).where(*_of(tenant, name), PolicyVersionRow.version == version)
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFoundError(f"there is no version {version} of a policy {name[:64]!r}")
    return _record(row)


def _change(connection: Connection, found: PolicyVersion, **values: Any) -> None:
    mine = (*_of(found.tenant, found.policy), PolicyVersionRow.version == found.version)
    connection.execute(update(PolicyVersionRow).where(*mine).values(**values))


def _record(row: RowMapping) -> PolicyVersion:
    return PolicyVersion(**row)


def _missing(name: str) -> NotFoundError:
    return NotFoundError(f"there is no policy {name[:64]!r} in the registry: 'evolve policy list' lists them")
