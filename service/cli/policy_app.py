"""The commands `evolve policy`; what a command does is imported when it is called."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.options import HELP, Json, Model, Params, PolicyNames, named_folder, terminal_of

policy_app = typer.Typer(help="Check a policy before a run.", context_settings=HELP, no_args_is_help=True)


@policy_app.command(epilog="Example: evolve policy check --policy http://localhost:8000/v1 -o policy.toml")
def check(
    ctx: typer.Context,
    problem: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PROBLEM]",
            parser=named_folder,
            help="Problem to try the policy on. Without it: a small built-in problem.",
        ),
    ] = None,
    *,
    policy: PolicyNames = None,
    model: Model = None,
    param: Params = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", readable=False, help="Write the recommended policy file."),
    ] = None,
    json: Json = False,
) -> None:
    """Ask a model for a few answers. Show which parameters its server accepts and how many answers a run could use."""
    terminal = terminal_of(ctx, json)
    with terminal.doing("starting"):
        from service.cli.policy_check import PolicyCheckOptions, check_policy

    options = PolicyCheckOptions(
        problem=problem, policies=tuple(policy or ()), model=model, params=tuple(param or ()), output=output
    )
    raise typer.Exit(check_policy(terminal, options))
