"""The commands that train policies."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.words import HELP, Json, terminal_of

train_app = typer.Typer(help="Train small policies.", context_settings=HELP, no_args_is_help=True)


@train_app.command(epilog="Example: evolve train maze --method vpo -o trained/vpo", rich_help_panel="Training")
def maze(
    ctx: typer.Context,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", readable=False, help="Goes on there if it was stopped.")
    ],
    *,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="vpo, grpo, multi_rlvr_best, max_at_k, ...; base: the warm start alone.")
    ] = "vpo",
    base: Annotated[
        Path | None, typer.Option(metavar="MODEL", readable=False, help="Start from this model folder.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of every random draw.")] = 0,
    warm_steps: Annotated[int | None, typer.Option(min=1, metavar="N", help="Updates of the warm start.")] = None,
    steps: Annotated[int | None, typer.Option(min=2, metavar="N", help="Steps of reinforcement learning.")] = None,
    kinds: Annotated[str, typer.Option(metavar="LIST", help="Mazes: small, hard, nine.")] = "small,hard",
    validated: Annotated[int, typer.Option(min=1, metavar="N", help="Validation mazes for the model card.")] = 100,
    device: Annotated[str, typer.Option(metavar="NAME", help="cpu or cuda; auto: cuda if there is one.")] = "auto",
    threads: Annotated[int, typer.Option(min=0, metavar="N", help="Processor threads; 0: as many as there are.")] = 0,
    json: Json = False,
) -> None:
    """Train a policy that walks through mazes, from scratch, in minutes on two processor cores."""
    from service.cli.train import TrainWish, train_maze

    wish = TrainWish(
        output=output,
        method=method,
        base=base,
        seed=seed,
        warm_steps=warm_steps,
        steps=steps,
        kinds=kinds,
        validated=validated,
        device=device,
        threads=threads,
    )
    train_maze(terminal_of(ctx, json), wish)
