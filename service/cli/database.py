"""Looking after the database: its schema, what it keeps, backups."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from service.bootstrap.storage import open_existing_storage, open_maintenance
from service.cli.exit_codes import FAILED, OK
from service.cli.formatting import plural
from service.cli.records import find_run
from service.cli.terminal import Terminal, plain
from service.config import database_url, load_settings, redacted
from service.db import engine, schema_upgrade
from service.errors import RefusedError
from service.usecases.maintenance import read_retention


def upgrade(terminal: Terminal, db: str | None) -> None:
    """Bring the database to this version's schema and say so."""
    url = database_url(load_settings(), db)
    before = engine.check(url)
    schema_upgrade.upgrade(url)
    after = engine.check(url)
    shown = redacted(url)
    if terminal.as_json:
        terminal.emit({"database": shown, "from": before.current, "to": after.current})
    elif before.current == after.current:
        terminal.show(f"{shown} is up to date (revision {after.current})")
    else:
        terminal.show(f"{shown} was upgraded from {before.current or 'empty'} to revision {after.current}")


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
    found = engine.check(url)
    made = "your first run makes it" if url.startswith("sqlite:") else "make its tables with evolve db upgrade"
    if found.foreign:
        state, advice = "newer" if found.newer else "unreleased", found.refusal("it")
    elif found.current is None:
        state, advice = "absent", f"does not exist yet: {made}"
    elif found.behind:
        state, advice = "behind", "older than this version: run evolve db upgrade"
    else:
        state, advice = "current", f"up to date (revision {found.current})"
    revisions = {"revision": found.current, "needed": found.head}
    return {"database": redacted(url), **revisions, "state": state, "advice": advice}


def prune(
    terminal: Terminal, db: str | None, older_than: int | None, keep_labels: Sequence[str], *, dry_run: bool, yes: bool
) -> None:
    """Remove what has had its time, and say how much of each kind that was."""
    settings = load_settings()
    kept = read_retention(settings.retention, older_than, keep_labels)
    shown = redacted(database_url(settings, db))
    with open_maintenance(settings, db) as maintenance:
        if not (dry_run or yes):
            counts = maintenance.prune(kept, dry_run=True)
            _confirm(terminal, f"remove from {shown}: {_listed(counts)}{_released(maintenance.releasable(kept))}")
        with terminal.doing("looking" if dry_run else "removing"):
            released = maintenance.releasable(kept) if dry_run else {}
            counts = maintenance.prune(kept, dry_run=dry_run)
    if terminal.as_json:
        found = {"partitions": released} if dry_run else {}
        terminal.emit({"database": shown, "dry_run": dry_run, "removed": counts, **found})
    else:
        terminal.show(f"{'would remove' if dry_run else 'removed'}: {_listed(counts)}{_released(released)}")


def backup(terminal: Terminal, db: str | None, target: Path) -> None:
    """Write a backup and say where it is."""
    settings = load_settings()
    shown = redacted(database_url(settings, db))
    with terminal.doing("writing"), open_maintenance(settings, db, upgrade=False) as maintenance:
        revision = maintenance.back_up(target)
    size = target.stat().st_size
    if terminal.as_json:
        terminal.emit({"database": shown, "file": str(target), "revision": revision, "bytes": size})
    else:
        terminal.show(f"{shown} is backed up in {plain(str(target))} (revision {revision}, {size:,} bytes)")
        terminal.note(
            f"It holds secrets: keep it private. Restore it with: evolve db restore {plain(str(target))} --db URL"
        )


def restore(terminal: Terminal, db: str | None, path: Path, *, yes: bool) -> None:
    """Fill an empty database from a backup, and say what it holds now."""
    settings = load_settings()
    shown = redacted(database_url(settings, db))
    from service.db.backup import contents

    revision = contents(path)  # a file that is no backup is refused before a database is made for it
    if not yes:
        _confirm(terminal, f"restore {plain(str(path))} (revision {revision}) into {shown}")
    with terminal.doing("restoring"), open_maintenance(settings, db, make=True) as maintenance:
        counts = maintenance.restore(path)
    if terminal.as_json:
        terminal.emit({"database": shown, "file": str(path), "restored": counts})
    else:
        runs, candidates = plural(counts["runs"], "run"), plural(counts["candidates"], "candidate")
        terminal.show(f"{shown} has {runs} and {candidates} from {plain(str(path))}")
        if counts["api_keys"]:
            count = plural(counts["api_keys"], "API key")
            terminal.note(f"it has {count}, valid only with the api.secret of the installation that was backed up")


def snapshot(terminal: Terminal, db: str | None, run_id: str, *, remove: bool) -> int:
    """Compare the snapshot of a run with a replay, or remove it; 1 when a resume would not use it, or they differ."""
    from service.usecases.check_snapshot import check_snapshot

    settings = load_settings()
    with open_existing_storage(settings, db) as storage:
        run = find_run(storage.reader, run_id)
        if remove:
            storage.snapshots.forget(run.id)
            if terminal.as_json:
                terminal.emit({"run": run.id, "removed": True})
            else:
                terminal.show(f"removed the snapshot of {run.id}: the next resume replays its log")
            return OK
        with terminal.doing("replaying"):
            found = check_snapshot(storage, run)
    differs = ", ".join(found.differences)
    if terminal.as_json:
        terminal.emit({"run": run.id, **asdict(found)})
    elif found.ignored:
        terminal.show(f"a resume ignores the snapshot of {run.id}: {found.ignored}")
    elif differs:
        terminal.show(f"the snapshot of {run.id} differs from a replay in {differs}: remove it with --remove")
    else:
        size = f"{found.size:,} bytes"
        terminal.show(f"the snapshot of {run.id} at event {found.sequence:,} equals a replay ({size})")
    return FAILED if found.ignored or differs else OK


def _confirm(terminal: Terminal, what: str) -> None:
    """Ask whoever is at the terminal.

    Raises:
        RefusedError: nobody is, or the answer is not yes.
    """
    agreed = terminal.agreed(what)
    if agreed is None:
        raise RefusedError(f"no terminal to confirm ({what}): add --yes")
    if not agreed:
        raise RefusedError("nothing was done")


def _listed(counts: Mapping[str, int]) -> str:
    """Counts in words."""
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items() if count) or "nothing"


def _released(partitions: Mapping[str, int]) -> str:
    """Partitions whose space the disk gets back, in words."""
    if not partitions:
        return ""
    total = f"{sum(partitions.values()):,} bytes to the disk"
    return f", and return {total}: " + ", ".join(f"{name} {size:,}" for name, size in partitions.items())
