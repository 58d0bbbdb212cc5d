"""Words that many commands share."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from service.cli.terminal import Terminal

HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

Json = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
Db = Annotated[str | None, typer.Option("--db", metavar="URL", help="Database, such as sqlite:///evolve.db.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def terminal_of(ctx: typer.Context, as_json: bool, db: str | None = None) -> "Terminal":
    """The terminal that the program was called with, for a command with these words."""
    from service.cli.terminal import Terminal

    assert isinstance(ctx.obj, Terminal)
    place = ""
    if db is not None:
        from service.config import redacted

        place = f" --db {redacted(db)}"
    return replace(ctx.obj, as_json=as_json, place=place)
