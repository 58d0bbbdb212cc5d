"""The commands of batches, of a database or of a service."""

from typing import Annotated

import typer

from service.cli.options import (
    HELP,
    Db,
    Isolation,
    Json,
    KeyFile,
    Limit,
    Server,
    Unsandboxed,
    place_of,
    required_isolation,
    terminal_of,
)

PANEL = "Runs"
MAX_PARALLEL = 256
batch_app = typer.Typer(context_settings=HELP)


@batch_app.command(epilog="Example: evolve batches --limit 5", rich_help_panel=PANEL)
def batches(
    ctx: typer.Context,
    limit: Limit = 20,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """List batches, newest first."""
    from service.cli.batches import list_batches

    where = place_of(ctx, json, db, server, api_key_file)
    list_batches(terminal_of(ctx, json, db, where), where, limit)


@batch_app.command(epilog="Example: evolve batch sweep.toml --parallel 4", rich_help_panel=PANEL)
def batch(
    ctx: typer.Context,
    named: Annotated[
        str,
        typer.Argument(
            metavar="BATCH",
            help="TOML file with runs or a sweep, or a batch's id, a prefix of it, or last (the newest).",
        ),
    ],
    *,
    parallel: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_PARALLEL, metavar="N", help="Maximum number of concurrent runs.", show_default="one per core"
        ),
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Return at once: submit to a service, or show how far a batch is.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of a new batch.", show_default="name in FILE")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Label of every run of a new batch. May be repeated.",
            show_default="labels in FILE",
        ),
    ] = None,
    require_isolation: Isolation = None,
    allow_unsandboxed: Unsandboxed = False,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Run many runs as a batch, or continue a batch, and show its summary."""
    where = place_of(ctx, json, db, server, api_key_file)
    terminal = terminal_of(ctx, json, db, where)
    with terminal.doing("starting"):
        from service.cli.batch import BatchOptions, run_batch
        from service.usecases.labels import read_labels

    options = BatchOptions(
        named=named,
        detach=detach,
        name=name,
        labels=read_labels(None, label or ()),
        parallel=parallel,
        require_isolation=required_isolation(require_isolation, allow_unsandboxed),
    )
    raise typer.Exit(run_batch(terminal, where, options))
