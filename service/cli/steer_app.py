"""The commands by which people change active runs, fork and delete runs, of a database or of a service."""

from typing import Annotated

import typer

from service.cli.control_app import PANEL, Evaluations, Named, Sets, controller_of
from service.cli.options import (
    HELP,
    Db,
    Json,
    KeyFile,
    RunId,
    RunLabels,
    RunName,
    Server,
    place_of,
    site_of,
    terminal_of,
)
from service.errors import UsageError

steer_app = typer.Typer(context_settings=HELP)
DECISION_SECONDS = 10.0
Wait = Annotated[
    float,
    typer.Option(
        "--wait", min=0, max=60, metavar="SECONDS", help="Wait so long for the search to accept or refuse. 0: do not."
    ),
]


@steer_app.command(epilog="Example: evolve hint last 'try a ring around the centre'", rich_help_panel=PANEL)
def hint(
    ctx: typer.Context,
    run_id: Named,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The suggestion. Empty: end the standing hint.")],
    *,
    proposals: Annotated[
        int, typer.Option(min=1, max=10_000, metavar="N", help="Keep the hint in the prompts of N proposals.")
    ] = 10,
    island: Annotated[
        int | None,
        typer.Option(min=0, metavar="K", help="Give it to the proposals of one island.", show_default="all islands"),
    ] = None,
    wait: Wait = DECISION_SECONDS,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Suggest the next idea to an active run."""
    from service.cli.steer import hint, steering_command

    where = place_of(ctx, json, db, server, api_key_file)
    with controller_of(where) as controller:
        hint(steering_command(terminal_of(ctx, json, db, where), controller, run_id, wait), text, proposals, island)


@steer_app.command(epilog="Example: evolve insert last solution.py --parent 28.0", rich_help_panel=PANEL)
def insert(
    ctx: typer.Context,
    run_id: Named,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="Files of the program. The others stay as in its parent."),
    ] = None,
    *,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="File of the parent that the program does not have, over a git repository."),
    ] = None,
    parent: Annotated[
        str,
        typer.Option(
            metavar="CANDIDATE", help="Candidate that the program descends from.", show_default="the first seed"
        ),
    ] = "",
    island: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Island of the program.", show_default="the parent's")
    ] = None,
    wait: Wait = DECISION_SECONDS,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Insert a program that you wrote into an active run."""
    from service.cli.insert import insert
    from service.cli.steer import steering_command

    where = place_of(ctx, json, db, server, api_key_file)
    with controller_of(where) as controller:
        steered = steering_command(terminal_of(ctx, json, db, where), controller, run_id, wait)
        insert(steered, files or [], remove or [], parent, island)


@steer_app.command(epilog="Example: evolve ban last 28.0 --descendants", rich_help_panel=PANEL)
def ban(
    ctx: typer.Context,
    run_id: Named,
    candidate_id: Annotated[str, typer.Argument(metavar="CANDIDATE", help="Candidate of the run, by name or id.")],
    *,
    descendants: Annotated[
        bool, typer.Option("--descendants", help="Ban its descendants too, also those to come.")
    ] = False,
    lift: Annotated[bool, typer.Option("--lift", help="Lift the ban of the candidate.")] = False,
    wait: Wait = DECISION_SECONDS,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Keep an active run from building upon a candidate."""
    from service.cli.steer import ban, lift_ban, steering_command

    if lift and descendants:
        raise UsageError("--lift takes no --descendants: lifting a ban lifts all of it")
    where = place_of(ctx, json, db, server, api_key_file)
    terminal = terminal_of(ctx, json, db, where)
    with controller_of(where) as controller:
        steered = steering_command(terminal, controller, run_id, wait)
        if not lift:
            ban(steered, candidate_id, descendants=descendants)
            return
        lift_ban(steered, candidate_id)


@steer_app.command(epilog="Example: evolve priority last 28.0 --proposals 20", rich_help_panel=PANEL)
def priority(
    ctx: typer.Context,
    run_id: Named,
    candidate_id: Annotated[str, typer.Argument(metavar="CANDIDATE", help="Candidate of the run, by name or id.")],
    *,
    proposals: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, metavar="N", help="Start N proposals from it.", show_default="10"),
    ] = None,
    lift: Annotated[bool, typer.Option("--lift", help="Lift the priority of the candidate.")] = False,
    wait: Wait = DECISION_SECONDS,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Start the next proposals of an active run from a candidate."""
    from service.cli.steer import lift_priority, prioritize, steering_command

    if lift and proposals is not None:
        raise UsageError("--lift takes no --proposals: lifting a priority ends it")
    where = place_of(ctx, json, db, server, api_key_file)
    terminal = terminal_of(ctx, json, db, where)
    with controller_of(where) as controller:
        steered = steering_command(terminal, controller, run_id, wait)
        if not lift:
            prioritize(steered, candidate_id, proposals or 10)
            return
        lift_priority(steered, candidate_id)


@steer_app.command(epilog="Example: evolve change last selection_options.exploration=2", rich_help_panel=PANEL)
def change(
    ctx: typer.Context,
    run_id: Named,
    settings: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE...", help="Settings with their new values. policies.NAME=0: off.")
    ],
    *,
    wait: Wait = DECISION_SECONDS,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Change settings of an active run."""
    from service.cli.steer import change, steering_command

    where = place_of(ctx, json, db, server, api_key_file)
    with controller_of(where) as controller:
        change(steering_command(terminal_of(ctx, json, db, where), controller, run_id, wait), settings)


@steer_app.command(epilog="Example: evolve changes last", rich_help_panel=PANEL)
def changes(
    ctx: typer.Context,
    run_id: RunId = "last",
    *,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """List the changes of a run by people, each with its effect."""
    from service.cli.changes import show_changes

    where = place_of(ctx, json, db, server, api_key_file)
    with controller_of(where) as controller:
        show_changes(terminal_of(ctx, json, db, where), controller, run_id)


@steer_app.command(epilog="Example: evolve insights last --versions", rich_help_panel=PANEL)
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
    wait: Wait = DECISION_SECONDS,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Show facts of a run in a few lines, or the insights that it keeps in its prompts."""
    from service.cli.insights import edit_insights, hint_facts, show_facts, show_versions
    from service.cli.steer import steering_command

    if sum((proposals is not None, versions, edit is not None)) > 1:
        raise UsageError("--hint, --versions and --edit exclude each other: give one of them")
    where = place_of(ctx, json, db, server, api_key_file)
    terminal = terminal_of(ctx, json, db, where)
    if edit is not None or proposals is not None:
        with controller_of(where) as controller:
            steered = steering_command(terminal, controller, run_id, wait)
            if edit is not None:
                edit_insights(steered, edit)
            elif proposals is not None:
                hint_facts(steered, proposals)
        return
    with site_of(where) as site:
        (show_versions if versions else show_facts)(terminal, site, run_id)


@steer_app.command(epilog="Example: evolve fork last.28.0 --seed 2", rich_help_panel=PANEL)
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
    with controller_of(where) as controller:
        fork(terminal_of(ctx, json, db, where), controller, candidate_id, set_ or (), flags, labels)


@steer_app.command(epilog="Example: evolve delete run_01a1f897-4a4c-7aee-856d-3db05e91e42e", rich_help_panel=PANEL)
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
    with controller_of(where) as controller:
        delete(terminal_of(ctx, json, db, where), controller, run_id)
