"""The secret of an installation: made once, and not made anew where keys of a database would be void by that."""

import sqlite3
import threading
from pathlib import Path

import pytest

from service.bootstrap.storage import open_keys
from service.config import load_settings
from service.db.secret import open_seal
from service.errors import RefusedError, UsageError
from service.ports import DEFAULT_TENANT, Scope
from service.signer import Signer


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("EVOLVE_API__SECRET", raising=False)
    return tmp_path / "evolve.db"


def digest(db: Path) -> str:
    return open_seal(load_settings(), str(db)).digest("key", "evo_x")


def make_key(db: Path) -> str:
    """Make a key, and give its id."""
    with open_keys(load_settings(), str(db)) as key_service:
        record, _ = key_service.create(tenant=DEFAULT_TENANT, name="mine", scopes=tuple(Scope), expires_days=None)
    return record.id


def test_a_secret_is_made_once(db: Path) -> None:
    assert digest(db) == digest(db)
    assert db.with_suffix(".secret").stat().st_mode & 0o777 == 0o600


def test_a_secret_that_another_process_is_writing_is_waited_for(db: Path) -> None:
    secret = db.with_suffix(".secret")
    secret.touch(mode=0o600)
    writing = threading.Timer(0.3, secret.write_text, ["s" * 40])
    writing.start()
    assert digest(db) == Signer("s" * 40).digest("key", "evo_x")
    writing.join()


def test_a_secret_that_nobody_writes_is_too_short(db: Path) -> None:
    db.with_suffix(".secret").touch(mode=0o600)
    with pytest.raises(UsageError, match="too short"):
        digest(db)


def test_a_secret_that_keys_were_made_with_is_not_replaced(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_key(db)
    before, secret = digest(db), db.with_suffix(".secret")
    kept = secret.read_text()
    secret.unlink()
    with pytest.raises(
        RefusedError, match=r"evolve\.secret, the secret that they were made with, is missing"
    ) as caught:
        digest(db)
    assert "\n" not in str(caught.value)
    assert not secret.exists()
    monkeypatch.setenv("EVOLVE_API__SECRET", kept)
    assert digest(db) == before


def test_without_a_valid_key_there_is_nothing_to_lose(db: Path) -> None:
    made = make_key(db)
    with open_keys(load_settings(), str(db)) as key_service:
        key_service.revoke(DEFAULT_TENANT, made)
    before = digest(db)
    db.with_suffix(".secret").unlink()
    assert digest(db) != before


def test_a_database_without_tables_has_no_keys(db: Path) -> None:
    sqlite3.connect(db).close()
    assert digest(db) == digest(db)
