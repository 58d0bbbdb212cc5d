"""Keys are made and revoked over any store, and each time the audit log has an entry."""

from datetime import timedelta

import pytest

from service.errors import NotFoundError, UsageError
from service.ports import Scope
from service.signer import Signer
from service.usecases.keys import COMMAND_LINE, KeyService, read_scopes
from tests.contract.story import START
from tests.unit.usecases.conftest import TENANT, Installation


@pytest.fixture
def keys(installation: Installation) -> KeyService:
    storage = installation.storage
    return KeyService(store=storage.keys, audit=storage.audit, signer=Signer("s" * 48), clock=storage.clock)


def test_a_key_is_stored_by_its_hash_alone(installation: Installation, keys: KeyService) -> None:
    record, text = keys.create(tenant=TENANT, name="mine", scopes=[Scope.RUNS_READ], expires_days=2)
    assert text.startswith(record.shown)
    assert record.expires_at == START + timedelta(days=2)
    assert (record.created_by, record.scopes) == (COMMAND_LINE, (Scope.RUNS_READ,))
    assert installation.storage.keys.find(text) is None
    assert installation.storage.keys.keys(TENANT) == [record]


def test_a_revoked_key_is_valid_no_more(keys: KeyService) -> None:
    record, _ = keys.create(tenant=TENANT, name="mine", scopes=[Scope.OPERATE], expires_days=None)
    assert record.valid(START)
    assert not keys.revoke(TENANT, record.id).valid(START)


def test_a_key_of_another_tenant_is_not_revoked(keys: KeyService) -> None:
    record, _ = keys.create(tenant=TENANT, name="mine", scopes=[Scope.OPERATE], expires_days=None)
    with pytest.raises(NotFoundError):
        keys.revoke("lab", record.id)


def test_each_change_is_audited(installation: Installation, keys: KeyService) -> None:
    record, _ = keys.create(tenant=TENANT, name="mine", scopes=[Scope.OPERATE], expires_days=None)
    keys.revoke(TENANT, record.id)
    entries = installation.storage.audit.entries(TENANT)
    assert [(entry.action, entry.subject, entry.actor, entry.outcome) for entry in reversed(entries)] == [
        ("keys create", record.id, COMMAND_LINE, "ok"),
        ("keys revoke", record.id, COMMAND_LINE, "ok"),
    ]


def test_no_scope_means_all_of_them() -> None:
    assert read_scopes([]) == tuple(Scope)
    assert read_scopes(["operate"]) == (Scope.OPERATE,)
    with pytest.raises(UsageError, match="--scope takes one of runs:read"):
        read_scopes(["root"])
