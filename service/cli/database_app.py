"""The commands `evolve db`; what a command does is imported when it is called."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.options import HELP, Db, Json, RunId, Yes, terminal_of

db_app = typer.Typer(help="Manage the database.", context_settings=HELP, no_args_is_help=True)


@db_app.command(epilog="Example: evolve db upgrade --db sqlite:///evolve.db")
def upgrade(ctx: typer.Context, db: Db = None, json: Json = False) -> None:
    """Bring the database to this version's schema."""
    from service.cli.database import upgrade

    upgrade(terminal_of(ctx, json, db), db)


@db_app.command("check", epilog="Example: evolve db check")
def check(ctx: typer.Context, db: Db = None, json: Json = False) -> None:
    """Check that the database exists and has this version's schema. Exit 1 if not."""
    from service.cli.database import check

    raise typer.Exit(check(terminal_of(ctx, json, db), db))


@db_app.command(epilog="Example: evolve db prune --older-than 90 --keep-labels keep --dry-run")
def prune(
    ctx: typer.Context,
    older_than: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=36500,
            metavar="DAYS",
            help="Remove runs that ended more than this many days ago. Without it: retention.days.",
        ),
    ] = None,
    keep_labels: Annotated[
        list[str] | None, typer.Option(metavar="KEY[=VALUE]", help="Keep runs with this label. May be repeated.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    yes: Yes = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove runs that ended long ago, and data that no run refers to."""
    from service.cli.database import prune

    prune(terminal_of(ctx, json, db), db, older_than, tuple(keep_labels or ()), dry_run=dry_run, yes=yes)


@db_app.command("snapshot", epilog="Example: evolve db snapshot last")
def snapshot(
    ctx: typer.Context,
    run: RunId,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the snapshot. The next resume replays the log.")
    ] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Compare the snapshot of a run with a replay of its log. Exit 1 if they differ."""
    from service.cli.database import snapshot

    raise typer.Exit(snapshot(terminal_of(ctx, json, db), db, run, remove=remove))


@db_app.command(epilog="Example: evolve db backup evolve-2026-03-01.backup")
def backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="New file to write.")],
    db: Db = None,
    json: Json = False,
) -> None:
    """Write a consistent backup of the database to a file. Runs may continue."""
    from service.cli.database import backup

    backup(terminal_of(ctx, json, db), db, file)


@db_app.command(epilog="Example: evolve db restore evolve-2026-03-01.backup --db sqlite:///restored.db")
def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="File written by evolve db backup.")],
    yes: Yes = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Fill an empty database from a backup, completely or not at all."""
    from service.cli.database import restore

    restore(terminal_of(ctx, json, db), db, file, yes=yes)
