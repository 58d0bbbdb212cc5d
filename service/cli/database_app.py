"""The commands `evolve db`; what a command does is imported when it is called."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.options import HELP, Db, Json, Yes, terminal_of

db_app = typer.Typer(help="Manage the database.", context_settings=HELP, no_args_is_help=True)


@db_app.command(epilog="Example: evolve db upgrade --db sqlite:///evolve.db")
def upgrade(ctx: typer.Context, db: Db = None, json: Json = False) -> None:
    """Bring the database to this version's schema."""
    from service.cli.database import upgrade

    upgrade(terminal_of(ctx, json, db), db)


@db_app.command("check", epilog="Example: evolve db check")
def check(ctx: typer.Context, db: Db = None, json: Json = False) -> None:
    """Say whether the database is there and of this version; exit 1 when it is not."""
    from service.cli.database import check

    raise typer.Exit(check(terminal_of(ctx, json, db), db))


@db_app.command(epilog="Example: evolve db prune --older-than 90 --keep-labels keep --dry-run")
def prune(
    ctx: typer.Context,
    older_than: Annotated[
        int | None,
        typer.Option(min=0, max=36500, metavar="DAYS", help="Runs that ended longer ago; else retention.days."),
    ] = None,
    keep_labels: Annotated[
        list[str] | None, typer.Option(metavar="KEY[=VALUE]", help="Keep runs with this label; may be repeated.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed.")] = False,
    yes: Yes = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove runs that ended long ago, and what nothing refers to any more."""
    from service.cli.database import prune

    prune(terminal_of(ctx, json, db), db, older_than, tuple(keep_labels or ()), dry_run=dry_run, yes=yes)


@db_app.command(epilog="Example: evolve db backup evolve-2026-03-01.backup")
def backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="New file.")],
    db: Db = None,
    json: Json = False,
) -> None:
    """Write one moment of the database to a file, while runs go on."""
    from service.cli.database import backup

    backup(terminal_of(ctx, json, db), db, file)


@db_app.command(epilog="Example: evolve db restore evolve-2026-03-01.backup --db sqlite:///restored.db")
def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="What evolve db backup wrote.")],
    yes: Yes = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Fill an empty database from a backup, wholly or not at all."""
    from service.cli.database import restore

    restore(terminal_of(ctx, json, db), db, file, yes=yes)
