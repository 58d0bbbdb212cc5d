"""The database's schema: how it stands, and bringing it up to date."""

from typing import Any

from service.bootstrap.storage import check_database, database_url, upgrade_database
from service.cli.main import FAILED, OK
from service.cli.terminal import Terminal
from service.config import load_settings, redacted


def upgrade(terminal: Terminal, db: str | None) -> None:
    """Bring the database to this version's schema and say so."""
    url = database_url(load_settings(), db)
    before = check_database(url)
    upgrade_database(url)
    after = check_database(url)
    shown = redacted(url)
    if terminal.as_json:
        terminal.emit({"database": shown, "from": before.current, "to": after.current})
    elif before.current == after.current:
        terminal.show(f"{shown} is up to date (revision {after.current})")
    else:
        terminal.show(f"{shown} was brought from {before.current or 'empty'} to revision {after.current}")


def check(terminal: Terminal, db: str | None) -> int:
    """Say how the database stands; 1 when this version cannot work on it as it is."""
    found = standing(database_url(load_settings(), db))
    if terminal.as_json:
        terminal.emit(found)
    else:
        terminal.show(f"{found['database']}: {found['advice']}")
    return OK if found["state"] == "current" else FAILED


def standing(url: str) -> dict[str, Any]:
    """How a database stands, and what to do about it; its password is not told.

    Raises:
        UsageError: the URL is none.
        StorageError: the database is away, locked or none.
    """
    found = check_database(url)
    state = "newer" if found.newer else "absent" if found.current is None else "behind" if found.behind else "current"
    made = "the first run makes it" if url.startswith("sqlite:") else "evolve db upgrade makes its tables"
    advice = {
        "newer": "a newer version of evolve wrote it: install that version, or name another with --db",
        "absent": f"not there yet: {made}",
        "behind": "older than this version: evolve db upgrade",
        "current": f"up to date (revision {found.current})",
    }[state]
    revisions = {"revision": found.current, "needed": found.head}
    return {"database": redacted(url), **revisions, "state": state, "advice": advice}
