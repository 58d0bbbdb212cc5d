"""The commands that watch and steer runs, of a database or of a service."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.options import (
    HELP,
    Db,
    InsertedFiles,
    InsertionParent,
    Json,
    KeyFile,
    RemovedPaths,
    RunId,
    RunLabels,
    RunName,
    Server,
    place_of,
    site_of,
    terminal_of,
)
from service.errors import UsageError

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


def _helm_of(where: "SourceOptions") -> "AbstractContextManager[RunController]":
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

    with _helm_of(where) as controller:
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
        typer.Option(min=0, metavar="S", help="Budget: active seconds of the run.", show_default="as before"),
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
    with _helm_of(where) as controller:
        extend(terminal_of(ctx, json, db, where), controller, run_id, budget)


@control_app.command(epilog="Example: evolve hint last 'try a ring around the centre'", rich_help_panel=PANEL)
def hint(
    ctx: typer.Context,
    run_id: Named,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The suggestion. Empty: end the standing hint.")],
    *,
    proposals: Annotated[
        int, typer.Option(min=1, max=10_000, metavar="N", help="Keep the hint in the prompts of N proposals.")
    ] = 10,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Suggest the next idea to an active run."""
    from service.cli.control import hint

    where = place_of(ctx, json, db, server, api_key_file)
    with _helm_of(where) as controller:
        hint(terminal_of(ctx, json, db, where), controller, run_id, text, proposals)


@control_app.command(epilog="Example: evolve insert last solution.py --parent 28.0", rich_help_panel=PANEL)
def insert(
    ctx: typer.Context,
    run_id: Named,
    files: InsertedFiles = None,
    *,
    remove: RemovedPaths = None,
    parent: InsertionParent = "",
    island: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Island of the program.", show_default="the parent's")
    ] = None,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Insert a program that you wrote into an active run."""
    from service.cli.insert import insert

    where = place_of(ctx, json, db, server, api_key_file)
    with _helm_of(where) as controller:
        insert(terminal_of(ctx, json, db, where), controller, run_id, files or [], remove or [], parent, island)


@control_app.command(epilog="Example: evolve ban last 28.0 --descendants", rich_help_panel=PANEL)
def ban(
    ctx: typer.Context,
    run_id: Named,
    candidate_id: Annotated[str, typer.Argument(metavar="CANDIDATE", help="Candidate of the run, by name or id.")],
    *,
    descendants: Annotated[
        bool, typer.Option("--descendants", help="Ban its descendants too, also those to come.")
    ] = False,
    lift: Annotated[bool, typer.Option("--lift", help="Lift the ban of the candidate.")] = False,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Keep an active run from building upon a candidate."""
    from service.cli.control import ban, lift_ban

    if lift and descendants:
        raise UsageError("--lift takes no --descendants: lifting a ban lifts all of it")
    where = place_of(ctx, json, db, server, api_key_file)
    terminal = terminal_of(ctx, json, db, where)
    with _helm_of(where) as controller:
        if not lift:
            ban(terminal, controller, run_id, candidate_id, descendants=descendants)
            return
        lift_ban(terminal, controller, run_id, candidate_id)


@control_app.command(epilog="Example: evolve change last selection_options.exploration=2", rich_help_panel=PANEL)
def change(
    ctx: typer.Context,
    run_id: Named,
    settings: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE...", help="Settings with their new values. policies.NAME=0: off.")
    ],
    *,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Change settings of an active run."""
    from service.cli.control import change

    where = place_of(ctx, json, db, server, api_key_file)
    with _helm_of(where) as controller:
        change(terminal_of(ctx, json, db, where), controller, run_id, settings)


@control_app.command(epilog="Example: evolve insights last --versions", rich_help_panel=PANEL)
def insights(
    ctx: typer.Context,
    run_id: RunId = "last",
    proposals: Annotated[
        int | None,
        typer.Option(
            "--hint", min=1, max=10_000, metavar="N", help="Give the facts to the run as a hint for N proposals."
        ),
    ] = None,
    versions: Annotated[
        bool, typer.Option("--versions", help="Show the versions of its insights, each with its differences.")
    ] = False,
    edit: Annotated[
        str | None,
        typer.Option("--edit", metavar="FILE", help="Write the next version of its insights. -: read it from stdin."),
    ] = None,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Show facts of a run in a few lines, or the insights that it keeps in its prompts."""
    from service.cli.insights import edit_insights, hint_facts, show_facts, show_versions

    if sum((proposals is not None, versions, edit is not None)) > 1:
        raise UsageError("--hint, --versions and --edit exclude each other: give one of them")
    where = place_of(ctx, json, db, server, api_key_file)
    terminal = terminal_of(ctx, json, db, where)
    if edit is not None or proposals is not None:
        with _helm_of(where) as controller:
            if edit is not None:
                edit_insights(terminal, controller, run_id, edit)
            elif proposals is not None:
                hint_facts(terminal, controller, run_id, proposals)
        return
    with site_of(where) as site:
        (show_versions if versions else show_facts)(terminal, site, run_id)


@control_app.command(epilog="Example: evolve fork last.28.0 --seed 2", rich_help_panel=PANEL)
def fork(
    ctx: typer.Context,
    candidate_id: Annotated[
        str,
        typer.Argument(
            metavar="CANDIDATE", help="Candidate id or a prefix of it. A run id, or last, means its best candidate."
        ),
    ],
    *,
    evaluations: Evaluations = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="S", help="Seed of every random draw.")] = None,
    set_: Sets = None,
    name: RunName = None,
    label: RunLabels = None,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Start a run from a candidate of another run, with its configuration."""
    from service.cli.control import fork
    from service.usecases.labels import read_labels

    where = place_of(ctx, json, db, server, api_key_file)
    flags = {"budget.evaluations": evaluations, "seed": seed}
    labels = read_labels(name, label or ())
    with _helm_of(where) as controller:
        fork(terminal_of(ctx, json, db, where), controller, candidate_id, set_ or (), flags, labels)


@control_app.command(epilog="Example: evolve delete run_01a1f897-4a4c-7aee-856d-3db05e91e42e", rich_help_panel=PANEL)
def delete(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Full run id.")],
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Delete an ended or paused run and all its data."""
    from service.cli.control import delete

    where = place_of(ctx, json, db, server, api_key_file)
    with _helm_of(where) as controller:
        delete(terminal_of(ctx, json, db, where), controller, run_id)
