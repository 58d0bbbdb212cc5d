"""The commands `evolve vpo`; what a command does is imported when it is called."""

from typing import Annotated

import typer

from service.cli.options import HELP, Json, terminal_of

vpo_app = typer.Typer(
    help="The mathematics of Vector Policy Optimization.", context_settings=HELP, no_args_is_help=True
)


@vpo_app.callback()
def common() -> None:
    """The mathematics of Vector Policy Optimization."""


@vpo_app.command(epilog="Example: evolve vpo check --json")
def check(
    ctx: typer.Context,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the sampled weights.")] = 0,
    json: Json = False,
) -> None:
    """Check this installation against test vectors of the set reward and of every estimator. Exit 1 on a mismatch."""
    from service.cli.vpo import check_vpo

    raise typer.Exit(check_vpo(terminal_of(ctx, json), seed))
