"""The commands that watch, pause, resume, cancel and extend runs, of a database or of a service."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.options import (
    HELP,
    Db,
    Json,
    KeyFile,
    RunId,
    RunName,
    Server,
    place_of,
    site_of,
    terminal_of,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from service.client.service_choice import SourceOptions
    from service.usecases.control_runs import RunController

PANEL = "Runs"
BATCH = "bat_"
control_app = typer.Typer(context_settings=HELP)

Named = Annotated[str, typer.Argument(metavar="RUN", help="Run id, a prefix of it, or last (the newest).")]
Steered = Annotated[
    str, typer.Argument(metavar="ID", help="Id of a run or a batch, a prefix of it, or last (the newest run).")
]
Evaluations = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Budget: candidates evaluated.", show_default="as before")
]
Sets = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a configuration key. May be repeated.")
]


def controller_of(where: "SourceOptions") -> "AbstractContextManager[RunController]":
    """What steers the runs of a place."""
    from service.bootstrap.sites import open_controller
    from service.config import load_settings

    return open_controller(load_settings(), where)


def _want(ctx: typer.Context, named: str, state: str, where: "SourceOptions", *, json: bool) -> None:
    terminal = terminal_of(ctx, json, where.db, where)
    if named.startswith(BATCH):
        from service.cli.batches import want_batch

        want_batch(terminal, where, named, state)
        return
    from service.cli.control import want

    with controller_of(where) as controller:
        want(terminal, controller, named, state)


@control_app.command(epilog="Example: evolve watch last", rich_help_panel=PANEL)
def watch(
    ctx: typer.Context,
    run_id: RunId = "last",
    after: Annotated[
        int, typer.Option(min=0, metavar="N", help="With --json: only events after this sequence number.")
    ] = 0,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Watch a run of another process until it ends or pauses."""
    where = place_of(ctx, json, db, server, api_key_file)
    terminal = terminal_of(ctx, json, db, where)
    with site_of(where) as site:
        from service.cli.watch import watch

        code = watch(terminal, site, run_id, after)
    raise typer.Exit(code)


@control_app.command(
    epilog="Example: evolve observe my_loop --metric loss --minimize, or: my_loop | evolve observe - --metric loss",
    rich_help_panel=PANEL,
)
def observe(
    ctx: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="Folder of versions, git repository, or - for JSON lines on standard input."
        ),
    ],
    metric: Annotated[str, typer.Option(metavar="NAME", help="Score that decides.")],
    *,
    minimize: Annotated[bool, typer.Option("--minimize/--maximize", help="Whether lower or higher is better.")] = False,
    path: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="File or folder of the program in a git repository. May be repeated."),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="JSON file with the scores of each version by its name."),
    ] = None,
    name: RunName = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Record the loop of another program as a run with lineage. Nothing of it is run."""
    from service.cli.observe import ObserveOptions, observe_loop

    options = ObserveOptions(
        source=source, metric=metric, minimize=minimize, name=name or "", paths=tuple(path or ()), scores=scores
    )
    observe_loop(terminal_of(ctx, json, db), options, db)


@control_app.command(epilog="Example: evolve pause last", rich_help_panel=PANEL)
def pause(
    ctx: typer.Context,
    id_: Steered,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Pause a run, or all runs of a batch."""
    _want(ctx, id_, "paused", place_of(ctx, json, db, server, api_key_file), json=json)


@control_app.command(epilog="Example: evolve resume last", rich_help_panel=PANEL)
def resume(
    ctx: typer.Context,
    id_: Steered,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Resume a paused run, or the paused runs of a batch."""
    _want(ctx, id_, "running", place_of(ctx, json, db, server, api_key_file), json=json)


@control_app.command(epilog="Example: evolve cancel run_01a2b3c4", rich_help_panel=PANEL)
def cancel(
    ctx: typer.Context,
    id_: Steered,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """End a run, or all runs of a batch. Results so far are kept."""
    _want(ctx, id_, "cancelled", place_of(ctx, json, db, server, api_key_file), json=json)


@control_app.command(epilog="Example: evolve extend last --evaluations 1000", rich_help_panel=PANEL)
def extend(
    ctx: typer.Context,
    run_id: Named,
    *,
    evaluations: Evaluations = None,
    answers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Budget: answers.", show_default="as before")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Budget: tokens.", show_default="as before")
    ] = None,
    money: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="Budget: cost of the policies, such as 2.50.", show_default="as before"),
    ] = None,
    wall_seconds: Annotated[
        float | None,
        typer.Option(metavar="S", help="Budget: active seconds of the run.", show_default="as before"),
    ] = None,
    target: Annotated[
        float | None, typer.Option(metavar="F", help="End the run at this fitness.", show_default="as before")
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="End the run after N evaluations without improvement.", show_default="as before"
        ),
    ] = None,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Change the budget of a run. A run that has ended continues with it."""
    from service.cli.control import extend

    where = place_of(ctx, json, db, server, api_key_file)
    budget = {
        "evaluations": evaluations,
        "answers": answers,
        "tokens": tokens,
        "money": money,
        "wall_seconds": wall_seconds,
        "target": target,
        "patience": patience,
    }
    with controller_of(where) as controller:
        extend(terminal_of(ctx, json, db, where), controller, run_id, budget)
