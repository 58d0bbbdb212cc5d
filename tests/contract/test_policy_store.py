"""What every PolicyStore holds."""

from typing import Any

import pytest

from service.db.engine import Database
from service.db.garbage_collection import remove
from service.db.keys import SqlKeyStore
from service.db.policy_registry import SqlPolicyStore
from service.errors import ConflictError, NotFoundError
from service.ports import Bundle, KeyRecord, NewPolicyVersion, PolicyStore, RegisteredPolicy
from tests.contract.story import START

TENANTS = ("lab", "other")


@pytest.fixture
def policies(database: Database) -> PolicyStore:
    for number, tenant in enumerate(TENANTS):
        key = KeyRecord(
            id=f"key_{number}", tenant=tenant, name="", shown="", scopes=(), created_at=START, created_by=""
        )
        SqlKeyStore(database).add(key, f"hash {number}")
    return SqlPolicyStore(database)


def policy(name: str = "walker", tenant: str = "lab", **changes: Any) -> RegisteredPolicy:
    fields = {"description": "walks \x00", "shared": False, "created_by": "ci", "created_at": START}
    return RegisteredPolicy(**{"tenant": tenant, "name": name, **fields, **changes})


def new(content: bytes = b"weights", **changes: Any) -> NewPolicyVersion:
    fields: dict[str, Any] = {
        "files": Bundle(hash=f"hash of {content.decode()}", content=content),
        "base": "walker@1",
        "settings": {"kind": "bundled"},
        "training": {"method": "vpo", "problems": ["maze 1"]},
        "card": "# A card",
        "created_by": "ci",
        "created_at": START,
    }
    return NewPolicyVersion(**(fields | changes))


def test_a_policy_comes_back_as_it_went_in(policies: PolicyStore) -> None:
    policies.add(policy())
    assert policies.get("lab", "walker") == policy()
    with pytest.raises(ConflictError, match="already"):
        policies.add(policy())


def test_versions_are_numbered_and_come_back_as_they_went_in(policies: PolicyStore) -> None:
    policies.add(policy())
    first = policies.add_version("lab", "walker", new())
    second = policies.add_version("lab", "walker", new(b"other"))
    assert (first.name, second.name, first.state) == ("walker@1", "walker@2", "candidate")
    assert (second.bundle_hash, second.training, second.card) == (
        "hash of other",
        {"method": "vpo", "problems": ["maze 1"]},
        "# A card",
    )
    assert policies.versions("lab", "walker") == [second, first]
    assert policies.versions("lab", "walker", before=2, limit=1) == [first]
    assert policies.get("lab", "walker").versions == 2


def test_a_name_stands_for_one_version_at_a_time(policies: PolicyStore) -> None:
    policies.add(policy())
    for content in (b"1", b"2"):
        policies.add_version("lab", "walker", new(content))
    policies.promote("lab", "walker", 1, {"by": "ci"}, START)
    assert policies.get("lab", "walker").promoted == 1
    found = policies.promote("lab", "walker", 2, {"by": "ci", "forced": True}, START)
    assert (found.state, found.promotion, found.promoted_at) == ("promoted", {"by": "ci", "forced": True}, START)
    assert policies.version("lab", "walker", 1).state == "candidate"
    assert policies.get("lab", "walker").promoted == 2


def test_an_archived_version_is_not_promoted_and_a_promoted_one_not_archived(policies: PolicyStore) -> None:
    policies.add(policy())
    for content in (b"1", b"2"):
        policies.add_version("lab", "walker", new(content))
    policies.promote("lab", "walker", 1, {}, START)
    with pytest.raises(ConflictError, match="promote another version first"):
        policies.archive("lab", "walker", 1, START)
    assert policies.archive("lab", "walker", 2, START).state == "archived"
    with pytest.raises(ConflictError, match="walker@2 is archived"):
        policies.promote("lab", "walker", 2, {}, START)


def test_evaluations_are_added(policies: PolicyStore) -> None:
    policies.add(policy())
    policies.add_version("lab", "walker", new())
    policies.add_evaluation("lab", "walker", 1, {"against": 0, "low": 0.5})
    found = policies.add_evaluation("lab", "walker", 1, {"against": 0, "low": 0.7})
    assert found.evaluations == [{"against": 0, "low": 0.5}, {"against": 0, "low": 0.7}]


def test_a_tenant_sees_its_own_policies_and_shared_ones(policies: PolicyStore) -> None:
    policies.add(policy("mine"))
    policies.add(policy("walker", tenant="default", shared=True))
    policies.add(policy("private", tenant="default"))
    assert [(one.tenant, one.name) for one in policies.policies("lab")] == [("lab", "mine"), ("default", "walker")]
    assert [one.name for one in policies.policies("other")] == ["walker"]
    assert [one.name for one in policies.policies("default")] == ["private", "walker"]
    assert [one.name for one in policies.policies("lab", after="mine", limit=1)] == ["walker"]
    for hidden in ("mine", "private", "absent", "\x00"):
        with pytest.raises(NotFoundError):
            policies.visible("other", hidden)
    with pytest.raises(NotFoundError):
        policies.get("lab", "walker")


def test_an_own_policy_hides_a_shared_one_of_its_name(policies: PolicyStore) -> None:
    policies.add(policy("walker", tenant="default", shared=True))
    policies.add(policy("walker", description="own"))
    assert policies.visible("lab", "walker").tenant == "lab"
    assert policies.visible("other", "walker").tenant == "default"
    assert [(one.tenant, one.description) for one in policies.policies("lab")] == [("lab", "own")]


def test_the_folders_of_versions_are_no_garbage(policies: PolicyStore, database: Database) -> None:
    policies.add(policy())
    found = policies.add_version("lab", "walker", new())
    with database.read() as connection:
        assert connection.exec_driver_sql("select count(*) from bundles").scalar() == 1
    remove(database, START)
    with database.read() as connection:
        held = connection.exec_driver_sql("select hash from bundles").scalars().all()
    assert held == [found.bundle_hash]
