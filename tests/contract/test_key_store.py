"""What every KeyStore holds."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from service.db.account_models import ApiKeyRow
from service.db.engine import Database, open_database
from service.db.keys import SqlKeyStore
from service.db.models import Tenant
from service.errors import NotFoundError, UsageError
from service.ports import KeyRecord, KeyStore, Scope
from tests.contract.story import START


@pytest.fixture
def keys(database: Database) -> KeyStore:
    return SqlKeyStore(database)


def key(number: int = 1, **changes: Any) -> KeyRecord:
    fields: dict[str, Any] = {
        "id": f"key_{number:04}",
        "tenant": "lab",
        "name": "laptop \x00",
        "shown": "evo_abcd",
        "scopes": (Scope.RUNS_READ, Scope.OPERATE),
        "created_at": START,
        "created_by": "key_0000",
        "expires_at": START + timedelta(days=30),
    }
    return KeyRecord(**(fields | changes))


def test_a_key_is_found_by_its_hash_alone(keys: KeyStore) -> None:
    keys.add(key(), "hash-1")
    found = keys.find("hash-1")
    assert found is not None
    assert set(found.scopes) == {Scope.RUNS_READ, Scope.OPERATE}
    assert (found.name, found.shown, found.created_at, found.expires_at) == (
        "laptop \x00",
        "evo_abcd",
        START,
        START + timedelta(days=30),
    )
    assert (found.last_used_at, found.revoked_at) == (None, None)
    assert [keys.find(other) for other in ("hash", "key_0001", "HASH-1", "", "a\x00b", "\ud800")] == [None] * 6


def test_a_key_is_known_by_its_whole_beginning(keys: KeyStore) -> None:
    keys.add(key(), "hash-1")
    keys.revoke("lab", "key_0001", START)
    shown = ("evo_abcd", "evo_abc", "evo_abcde", "EVO_ABCD", "", "a\x00b", "\ud800")
    assert [keys.has_beginning(text) for text in shown] == [True] + [False] * 6


def test_a_key_brings_its_tenant(keys: KeyStore, database: Database) -> None:
    keys.add(key(1), "hash-1")
    keys.add(key(2), "hash-2")
    with database.read() as connection:
        tenants = connection.execute(select(Tenant.id, Tenant.quotas).where(Tenant.id == "lab")).all()
    assert [tuple(row) for row in tenants] == [("lab", {})]


@pytest.mark.parametrize("name", ["", "a/b", "A", "-a", "a" * 64, "a\n", "\x00", "é"])
def test_a_tenant_has_a_plain_name(keys: KeyStore, name: str) -> None:
    with pytest.raises(UsageError, match="tenant's name"):
        keys.add(key(tenant=name), "hash-1")
    assert keys.find("hash-1") is None


def test_keys_of_a_tenant_come_by_age_a_page_at_a_time(keys: KeyStore) -> None:
    for number in (3, 1, 2):
        keys.add(key(number), f"hash-{number}")
    keys.add(key(4, tenant="other"), "hash-4")
    assert [record.id for record in keys.keys("lab", limit=2)] == ["key_0001", "key_0002"]
    assert [record.id for record in keys.keys("lab", after="key_0002")] == ["key_0003"]
    assert keys.keys("nobody") == []


def test_a_revoked_key_stays_revoked_since_the_first_time(keys: KeyStore) -> None:
    keys.add(key(), "hash-1")
    first = keys.revoke("lab", "key_0001", START)
    again = keys.revoke("lab", "key_0001", START + timedelta(days=1))
    assert first.revoked_at == again.revoked_at == START
    found = keys.find("hash-1")
    assert found is not None
    assert not found.valid(START)


def test_a_key_of_any_tenant_is_revoked_for_none(keys: KeyStore) -> None:
    keys.add(key(), "hash-1")
    assert keys.revoke(None, "key_0001", START).revoked_at == START
    with pytest.raises(NotFoundError):
        keys.revoke(None, "key_0002", START)


@pytest.mark.parametrize(("tenant", "key_id"), [("other", "key_0001"), ("lab", "key_0002"), ("lab", "\x00")])
def test_a_key_of_another_is_not_there_to_be_revoked(keys: KeyStore, tenant: str, key_id: str) -> None:
    keys.add(key(), "hash-1")
    with pytest.raises(NotFoundError):
        keys.revoke(tenant, key_id, START)
    found = keys.find("hash-1")
    assert found is not None
    assert found.revoked_at is None


def test_use_is_noted_at_most_once_a_minute(keys: KeyStore) -> None:
    keys.add(key(), "hash-1")
    found = keys.find("hash-1")
    assert found is not None
    assert not found.used_lately(START)
    noted = []
    for seconds in (0, 59, 60, 61):
        keys.used("key_0001", START + timedelta(seconds=seconds))
        found = keys.find("hash-1")
        assert found is not None
        assert found.last_used_at is not None
        noted.append((found.last_used_at - START).total_seconds())
        assert found.used_lately(START + timedelta(seconds=seconds))
        assert not found.used_lately(found.last_used_at + timedelta(seconds=60))
    assert noted == [0, 0, 60, 60]
    keys.used("key_9999", START)  # removed meanwhile: nothing to note


def test_a_scope_of_a_newer_version_opens_nothing(keys: KeyStore, database: Database) -> None:
    keys.add(key(), "hash-1")
    with database.write() as connection:
        connection.execute(update(ApiKeyRow).values(scopes=["runs:read", "moon:land"]))
    found = keys.find("hash-1")
    assert found is not None
    assert list(found.scopes) == [Scope.RUNS_READ]


def test_a_tenant_that_is_there_keeps_what_it_has(keys: KeyStore, database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(Tenant), [{"id": "lab", "created_at": START, "quotas": {"active_runs": 3}}])
    keys.add(key(), "hash-1")
    with database.read() as connection:
        assert connection.execute(select(Tenant.quotas).where(Tenant.id == "lab")).scalar() == {"active_runs": 3}


def test_a_use_that_cannot_be_noted_now_is_left_to_the_next(keys: KeyStore, database_url: str) -> None:
    keys.add(key(), "hash-1")
    hurried = open_database(database_url, lock_seconds=0.05)
    other = open_database(database_url)
    try:
        with other.write() as connection:  # the writer of SQLite, and of PostgreSQL the row
            connection.execute(update(ApiKeyRow).values(name="held"))
            SqlKeyStore(hurried).used("key_0001", START)
        SqlKeyStore(hurried).used("key_0001", START)
    finally:
        hurried.close()
        other.close()
    found = keys.find("hash-1")
    assert found is not None
    assert (found.name, found.last_used_at) == ("held", START)
