"""What every AuditLog holds."""

from dataclasses import replace

import pytest

from service.db.audit import SqlAuditLog
from service.db.engine import Database
from service.ports import AuditEntry, AuditLog
from tests.contract.story import START

ENTRY = AuditEntry(
    id="aud_1",
    tenant="lab",
    at=START,
    actor="key_1",
    action="create_run",
    subject="",
    outcome="403",
    request_id="req_\x00\ud800",
    address="::1",
)


@pytest.fixture
def audit(database: Database) -> AuditLog:
    return SqlAuditLog(database)


def test_an_entry_comes_back_as_it_went_in(audit: AuditLog) -> None:
    audit.write(ENTRY)
    assert audit.entries("lab") == [ENTRY]


def test_entries_of_a_tenant_come_newest_first_a_page_at_a_time(audit: AuditLog) -> None:
    for number in range(5):
        audit.write(replace(ENTRY, id=f"aud_{number}"))
    audit.write(replace(ENTRY, id="aud_9", tenant="other"))
    assert [entry.id for entry in audit.entries("lab", limit=3)] == ["aud_4", "aud_3", "aud_2"]
    assert [entry.id for entry in audit.entries("lab", before="aud_2")] == ["aud_1", "aud_0"]
    assert audit.entries("nobody") == []
