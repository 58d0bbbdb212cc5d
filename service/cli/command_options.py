"""Words of `evolve run` that name a command instead of a problem."""

from pathlib import Path
from typing import Annotated

import typer

_PANEL = "A command instead of a problem"


Sources = Annotated[
    list[Path] | None,
    typer.Option(
        "--source",
        metavar="FILE",
        readable=False,
        help="File that may change. May be repeated.",
        rich_help_panel=_PANEL,
    ),
]
Command = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Command that prints the score of the sources.", rich_help_panel=_PANEL),
]
Metric = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Label or JSON key of the score.",
        show_default="the last line's only number",
        rich_help_panel=_PANEL,
    ),
]
Pattern = Annotated[
    str | None,
    typer.Option(metavar="REGEX", help="Regular expression whose first group is the score.", rich_help_panel=_PANEL),
]
Minimize = Annotated[
    bool | None,
    typer.Option(
        "--minimize/--maximize",
        help="Whether lower is better.",
        show_default="by the name and unit of the score",
        rich_help_panel=_PANEL,
    ),
]
Goal = Annotated[float | None, typer.Option(metavar="X", help="Score that ends the run.", rich_help_panel=_PANEL)]
Reads = Annotated[
    list[Path] | None,
    typer.Option(
        "--read",
        metavar="PATH",
        readable=False,
        help="File or folder that the command may read. May be repeated.",
        rich_help_panel=_PANEL,
    ),
]
Paths = Annotated[
    list[Path] | None,
    typer.Option(
        "--path",
        metavar="DIR",
        readable=False,
        help="Folder of programs that the command may start. May be repeated.",
        rich_help_panel=_PANEL,
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", readable=False, help="Write the problem into this new folder.", rich_help_panel=_PANEL
    ),
]
TrustScore = Annotated[
    bool,
    typer.Option(
        "--trust-score", help="Accept the score of a script that nothing else can check.", rich_help_panel=_PANEL
    ),
]
