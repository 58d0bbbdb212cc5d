"""The command that completes words in a shell, by the mechanism of the library that reads them."""

import os
from enum import StrEnum
from typing import Annotated

import typer

from service.cli.options import HELP, Json, terminal_of

VARIABLE = "_EVOLVE_COMPLETE"
completion_app = typer.Typer(context_settings=HELP)


class Shell(StrEnum):
    """A shell that words can be completed in."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def prepare() -> bool:
    """Whether a shell asks for completions. If so, the library is made ready to answer it."""
    if VARIABLE not in os.environ:
        return False
    from typer.completion import completion_init  # type: ignore[attr-defined]  # documented, not in its __all__

    completion_init()
    return True


@completion_app.command(
    epilog='Example: eval "$(evolve completion bash)", or with fish: evolve completion fish | source',
    rich_help_panel="Installation",
)
def completion(
    ctx: typer.Context,
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
    json: Json = False,
) -> None:
    """Print the shell completion script."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # as above

    script = get_completion_script(prog_name="evolve", complete_var=VARIABLE, shell=shell.value)
    terminal = terminal_of(ctx, json)
    if terminal.as_json:
        terminal.emit({"shell": shell.value, "script": script})
    else:
        terminal.write(f"{script}\n")
