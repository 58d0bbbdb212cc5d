"""API keys on a database."""

import re
from contextlib import suppress
from datetime import datetime

from sqlalchemy import RowMapping, bindparam, func, insert, inspect, or_, select, update

from service.db.account_models import ApiKeyRow
from service.db.columns import ExactText, is_id
from service.db.engine import Database
from service.db.insertion import add
from service.db.models import Tenant
from service.db.row_mappers import AnySelect
from service.errors import NotFoundError, StorageAwayError, UsageError
from service.ports import USED_AFTER, KeyRecord, Scope

_TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
_SCOPES = frozenset(str(scope) for scope in Scope)
_KEYS: AnySelect = select(
    ApiKeyRow.id,
    ApiKeyRow.tenant,
    ApiKeyRow.name,
    ApiKeyRow.shown,
    ApiKeyRow.scopes,
    ApiKeyRow.created_at,
    ApiKeyRow.created_by,
    ApiKeyRow.expires_at,
    ApiKeyRow.last_used_at,
    ApiKeyRow.revoked_at,
)
# Every request asks for one; to build a statement takes longer than to run it.
_OF_HASH = _KEYS.where(ApiKeyRow.hash == bindparam("of_hash", type_=ExactText()))


class SqlKeyStore:
    """The port KeyStore on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, record: KeyRecord, key_hash: str) -> None:
        """Store a key; its tenant is made when there is none of the name.

        Raises:
            UsageError: the tenant's name is none.
        """
        if not _TENANT.fullmatch(record.tenant):
            raise UsageError("a tenant's name is 1 to 63 of a-z, 0-9, - and _, and begins with a letter or a digit")
        row = {name: getattr(record, name) for name in KeyRecord.__slots__}
        row |= {"hash": key_hash, "scopes": sorted(str(scope) for scope in record.scopes)}
        with self._database.write() as connection:
            add(connection, Tenant, [{"id": record.tenant, "created_at": record.created_at}])
            connection.execute(insert(ApiKeyRow), [row])

    def find(self, key_hash: str) -> KeyRecord | None:
        """The key of a hash, revoked and expired ones too."""
        with self._database.read() as connection:
            row = connection.execute(_OF_HASH, {"of_hash": key_hash}).mappings().one_or_none()
        return None if row is None else _record(row)

    def has_beginning(self, shown: str) -> bool:
        """Whether what is shown of some key is this, revoked and expired ones too."""
        query = select(ApiKeyRow.id).where(is_id(ApiKeyRow.shown, shown)).limit(1)
        with self._database.read() as connection:
            return connection.execute(query).first() is not None

    def keys(self, tenant: str, after: str = "", limit: int = 50) -> list[KeyRecord]:
        """Keys of a tenant in order of their ids, which is that of age."""
        query = _KEYS.where(ApiKeyRow.tenant == tenant, ApiKeyRow.id > after).order_by(ApiKeyRow.id).limit(limit)
        with self._database.read() as connection:
            return [_record(row) for row in connection.execute(query).mappings()]

    def revoke(self, tenant: str | None, key_id: str, at: datetime) -> KeyRecord:
        """Close a key of a tenant, None: of any tenant, for good; repeating changes nothing.

        Raises:
            NotFoundError: the tenant has no such key.
        """
        mine = [is_id(ApiKeyRow.id, key_id), *([] if tenant is None else [ApiKeyRow.tenant == tenant])]
        with self._database.write() as connection:
            connection.execute(
                update(ApiKeyRow).where(*mine).values(revoked_at=func.coalesce(ApiKeyRow.revoked_at, at))
            )
            row = connection.execute(_KEYS.where(*mine)).mappings().one_or_none()
        if row is None:
            raise NotFoundError(f"there is no key {key_id[:60]!r}: list the tenant's keys")
        return _record(row)

    def used(self, key_id: str, at: datetime) -> None:
        """Note the time of use; at most once a minute, so that reading stays reading.

        Where the database has no room for a writer now, it is left to the next use: whoever reads need not fail for it.
        """
        stale = or_(ApiKeyRow.last_used_at.is_(None), ApiKeyRow.last_used_at <= at - USED_AFTER)
        mine = (is_id(ApiKeyRow.id, key_id), stale)
        with self._database.read() as connection:
            if connection.execute(select(ApiKeyRow.id).where(*mine)).scalar() is None:
                return
        with suppress(StorageAwayError), self._database.write() as connection:
            connection.execute(update(ApiKeyRow).where(*mine).values(last_used_at=at))


def count_keys(database: Database) -> int:
    """How many keys are not revoked; 0 in a database that has no table for them."""
    with database.read() as connection:
        if not inspect(connection).has_table(ApiKeyRow.__tablename__):
            return 0
        query = select(func.count()).select_from(ApiKeyRow).where(ApiKeyRow.revoked_at.is_(None))
        return int(connection.execute(query).scalar_one())


def _record(row: RowMapping) -> KeyRecord:
    # A scope of a newer version opens nothing here.
    known = [Scope(scope) for scope in row["scopes"] if scope in _SCOPES]
    return KeyRecord(**{**row, "scopes": known})
