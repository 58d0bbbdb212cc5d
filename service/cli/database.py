"""The database's schema: how it stands, and bringing it up to date."""

from service.bootstrap.storage import check_database, database_url, upgrade_database
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
    url = database_url(load_settings(), db)
    found = check_database(url)
    state = "newer" if found.newer else "absent" if found.current is None else "behind" if found.behind else "current"
    shown = redacted(url)
    if terminal.as_json:
        terminal.emit({"database": shown, "revision": found.current, "needed": found.head, "state": state})
    else:
        advice = {
            "newer": "a newer version of evolve wrote it: install that version, or name another with --db",
            "absent": "it is not there yet: evolve run makes a SQLite file, evolve db upgrade any database",
            "behind": "it is older than this version: evolve db upgrade",
            "current": f"up to date (revision {found.current})",
        }[state]
        terminal.show(f"{shown}: {advice}")
    return 0 if state == "current" else 1
