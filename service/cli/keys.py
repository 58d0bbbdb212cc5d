"""The commands `evolve keys`: the keys that open the API."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from service.bootstrap.storage import open_keys
from service.cli.listing import plain_table
from service.cli.terminal import Terminal, plain
from service.config import load_settings
from service.errors import ConflictError, RefusedError
from service.ports import KeyRecord
from service.timestamps import rfc3339
from service.usecases.keys import read_scopes

PAGE = 200


def create(
    terminal: Terminal,
    db: str | None,
    *,
    tenant: str,
    name: str,
    scopes: Sequence[str],
    expires_days: int | None,
    output: Path | None,
    if_none: bool,
) -> None:
    """Make a key and show it, once, or write it to a file of its owner alone."""
    wanted = read_scopes(scopes)
    with open_keys(load_settings(), db) as key_service:
        if if_none and key_service.store.keys(tenant, limit=1):
            terminal.note(f"the tenant {plain(tenant)} has a key already, so no key was made")
            return
        file = None if output is None else _new_file(output)
        record, text = key_service.create(tenant=tenant, name=name, scopes=wanted, expires_days=expires_days)
    if file is not None:
        with open(file, "w", encoding="ascii") as stream:
            stream.write(text + "\n")
    if terminal.as_json:
        terminal.emit({**key_json(record), "key": None if output else text})
        return
    terminal.show(text if output is None else f"{output}")
    place = "copy it now" if output is None else f"it is in {output}"
    terminal.note(f"key {record.id} of tenant {plain(tenant)}: {place}. It cannot be shown again", style="dim")


def list_keys(terminal: Terminal, db: str | None, tenant: str) -> None:
    """Print the keys of a tenant, the oldest first."""
    with open_keys(load_settings(), db) as key_service:
        rows: list[KeyRecord] = []
        while page := key_service.store.keys(tenant, rows[-1].id if rows else "", PAGE):
            rows += page
    if terminal.as_json:
        for record in rows:
            terminal.emit(key_json(record))
        return
    if not rows:
        terminal.note(f"the tenant {plain(tenant)} has no key: make one with evolve keys create")
        return
    table = plain_table("key", "name~", "begins with", "scopes~", "created", "last used", "state")
    for record in rows:
        used = f"{record.last_used_at.astimezone():%Y-%m-%d}" if record.last_used_at else "never"
        created = f"{record.created_at.astimezone():%Y-%m-%d}"
        state = "revoked" if record.revoked_at else "expires" if record.expires_at else "valid"
        table.add_row(record.id, plain(record.name), record.shown, " ".join(record.scopes), created, used, state)
    terminal.show(table)


def revoke(terminal: Terminal, db: str | None, tenant: str, key_id: str) -> None:
    """Close a key for good."""
    with open_keys(load_settings(), db) as key_service:
        record = key_service.revoke(tenant, key_id)
    if terminal.as_json:
        terminal.emit(key_json(record))
    else:
        terminal.show(f"{record.id} is revoked")


def key_json(record: KeyRecord) -> dict[str, Any]:
    """A key as the commands print it: never the key itself."""
    times = {
        name: None if (at := getattr(record, name)) is None else rfc3339(at)
        for name in ("created_at", "expires_at", "last_used_at", "revoked_at")
    }
    scopes = [str(scope) for scope in record.scopes]
    shown = {"id": record.id, "tenant": record.tenant, "name": record.name, "shown": record.shown, "scopes": scopes}
    return {**shown, "created_by": record.created_by, **times}


def _new_file(path: Path) -> int:
    """A file that was not there, which its owner alone may read."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise ConflictError(f"{path} exists already: name a new file") from None
    except OSError as error:
        raise RefusedError(
            f"{path} cannot be written ({error.strerror}): name a file in a folder that you can write to"
        ) from error
