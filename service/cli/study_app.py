"""The command that compares trained policies."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.options import HELP, Json, terminal_of

study_app = typer.Typer(context_settings=HELP)


@study_app.command(epilog="Example: evolve study trained -o results", rich_help_panel="Training")
def study(
    ctx: typer.Context,
    models: Annotated[
        Path, typer.Argument(metavar="MODELS", readable=False, help="Folder of models, each METHOD-sSEED.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", readable=False, help="Goes on there if it was stopped.")
    ],
    *,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", readable=False, help="The report; else study.md in FOLDER.")
    ] = None,
    stage: Annotated[str | None, typer.Option(metavar="NAME", help="Only sampling, search or report.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few mazes and one seed, to see that all works.")] = False,
    mazes: Annotated[int | None, typer.Option(min=1, metavar="N", help="At most so many mazes of each kind.")] = None,
    search_seeds: Annotated[int | None, typer.Option(min=1, metavar="N", help="Searches on each maze.")] = None,
    plain_searches: Annotated[bool, typer.Option("--plain-searches", help="Searches at temperature 1 only.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, metavar="W", help="Processes; else one a core.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare trained maze policies in sampling and in searches, and write one report."""
    terminal = terminal_of(ctx, json)
    with terminal.doing("starting"):
        from service.cli.study import StudyOptions
        from service.cli.study import study as compare

    options = StudyOptions(
        models=models,
        output=output,
        report=report,
        stage=stage,
        quick=quick,
        mazes=mazes,
        search_seeds=search_seeds,
        own_temperatures=not plain_searches,
        workers=workers,
    )
    compare(terminal, options)
