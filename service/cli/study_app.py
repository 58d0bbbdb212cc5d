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
        Path,
        typer.Argument(metavar="MODELS", readable=False, help="Folder with trained models, each named METHOD-sSEED."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            readable=False,
            help="Folder for the measurements. An interrupted study continues there.",
        ),
    ],
    *,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", readable=False, help="Report file. Without it: study.md in FOLDER.")
    ] = None,
    stage: Annotated[
        str | None, typer.Option(metavar="NAME", help="Run only this stage: sampling, search or report.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Use few mazes and a single seed, as a quick test.")] = False,
    mazes: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of mazes of each kind.")] = None,
    search_seeds: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of searches on each maze.")
    ] = None,
    plain_searches: Annotated[bool, typer.Option("--plain-searches", help="Search only at temperature 1.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, metavar="W", help="Number of processes. Without it: one per core.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare trained maze policies in sampling and in searches, and write a report."""
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
