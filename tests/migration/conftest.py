"""A version that comes after this one, the same code with one more revision, and a role of PostgreSQL."""

import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

import migrations

NEXT = "9000_next"
Become = Callable[[], None]
_REVISION = '''"""Runs have a title, notes are in capitals and need no author, and there is a table more."""

import sqlalchemy as sa
from alembic import op

revision = "{name}"
down_revision = "{before}"


def upgrade() -> None:
    op.add_column("runs", sa.Column("title", sa.Text(), server_default="", nullable=False))
    op.execute("UPDATE runs SET title = 'a run of ' || source")
    op.create_index("ix_runs_title", "runs", ["title"])
    with op.batch_alter_table("notes") as notes:
        notes.alter_column("author", existing_type=sa.Text(), nullable=True)
    op.execute("UPDATE notes SET body = upper(body)")
    op.create_table("upgrades", sa.Column("id", sa.Integer(), primary_key=True))
    op.execute("INSERT INTO upgrades (id) VALUES (1)")


def downgrade() -> None:
    op.drop_table("upgrades")
    op.execute("UPDATE notes SET body = lower(body)")
    with op.batch_alter_table("notes") as notes:
        notes.alter_column("author", existing_type=sa.Text(), nullable=False)
    op.drop_index("ix_runs_title", "runs")
    op.drop_column("runs", "title")
'''


@pytest.fixture
def next_package(tmp_path: Path) -> Path:
    """A folder with the package `migrations` of the next version; before all others on a path, it is imported."""
    package = tmp_path / "next" / "migrations"
    shutil.copytree(Path(migrations.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    text = (package / "__init__.py").read_text()
    (package / "__init__.py").write_text(f"{text}REVISIONS = (*REVISIONS, {NEXT!r})\nHEAD = {NEXT!r}\n")
    (package / "versions" / f"{NEXT}.py").write_text(_REVISION.format(name=NEXT, before=migrations.HEAD))
    return package.parent


@pytest.fixture
def become_next(next_package: Path, monkeypatch: pytest.MonkeyPatch) -> Become:
    """Makes this process one of the next version; `monkeypatch.undo` takes it back."""

    def become() -> None:
        monkeypatch.setattr(migrations, "__file__", str(next_package / "migrations" / "__init__.py"))
        monkeypatch.setattr(migrations, "REVISIONS", (*migrations.REVISIONS, NEXT))
        monkeypatch.setattr(migrations, "HEAD", NEXT)

    return become


@pytest.fixture
def role(postgres_url: str) -> Iterator[str]:
    """A role whose name has to be quoted."""
    name = f"Reader {secrets.token_hex(4)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(SQL("CREATE ROLE {}").format(Identifier(name)))
        yield name
        connection.execute(SQL("DROP OWNED BY {}").format(Identifier(name)))
        connection.execute(SQL("DROP ROLE {}").format(Identifier(name)))
