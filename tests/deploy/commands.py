"""Whether words are a command line of evolve: parsed by the program's own parser, and not run."""

from collections.abc import Sequence
from typing import Any

import typer

from service.cli.app import app


def parsed(words: Sequence[str]) -> dict[str, Any]:
    """The values that a command line gives.

    Raises:
        typer.exceptions.TyperException: it is none.
    """
    node: Any = typer.main.get_command(app)
    context, rest = node.make_context("evolve", list(words)), list(words)
    while hasattr(node, "commands"):
        name, node, rest = node.resolve_command(context, rest)
        assert node is not None, f"there is no command {name}"
        context = node.make_context(name, rest, parent=context)
        rest = [*context._protected_args, *context.args]
    return dict(context.params)
