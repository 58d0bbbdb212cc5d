"""The commands `evolve flywheel`; what a command does is imported when it is called."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.options import (
    HELP,
    Db,
    Isolation,
    Json,
    KeyFile,
    Server,
    Unsandboxed,
    named_folder,
    place_of,
    required_isolation,
    terminal_of,
)
from service.cli.training_app import AdaptedModel, AdapterServer, Hyperparameters

flywheel_app = typer.Typer(
    help="Search problems of a family in rounds, and train the policy on them after each round.",
    context_settings=HELP,
    no_args_is_help=True,
)

FlywheelName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the flywheel.")]
Family = Annotated[
    Path,
    typer.Argument(
        metavar="PROBLEM",
        parser=named_folder,
        help="Problem whose [domain] has a number, from which each round takes the next, or a folder of problems.",
    ),
]
Trained = Annotated[
    str, typer.Option("--policy", metavar="POLICY", help="Registered policy that searches and is trained.")
]
Rounds = Annotated[int, typer.Option(min=1, max=1000, metavar="R", help="Number of rounds.")]
Problems = Annotated[int, typer.Option(min=1, max=200, metavar="N", help="Problems of a round.")]
OfEachRun = Annotated[int, typer.Option("--evaluations", min=2, metavar="N", help="Evaluations of each run.")]
Seed = Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the runs and trainings.")]
Method = Annotated[str, typer.Option(metavar="NAME", help="Training method.")]
Backend = Annotated[str, typer.Option(metavar="NAME", help="Back end of the trainer.")]
SetSize = Annotated[int | None, typer.Option("--k", metavar="K", help="Size of the sets whose best counts.")]
Steps = Annotated[int | None, typer.Option(metavar="N", help="Updates of each training.")]
TestProblems = Annotated[int, typer.Option(min=6, metavar="N", help="Held-out problems of the evaluation gate.")]
TestKinds = Annotated[
    str, typer.Option(metavar="LIST", help="Kinds of the held-out mazes. Without it: as the runs' mazes.")
]
HeldOut = Annotated[
    Path | None,
    typer.Option(
        "--held-out",
        metavar="FOLDER",
        parser=named_folder,
        help="Folder of problems that are never trained on, for the gate of trl. Without it: parents of the runs.",
    ),
]
AllowTraining = Annotated[bool, typer.Option("--allow-training", help="Allow training on the runs of this flywheel.")]
Parallel = Annotated[
    int | None,
    typer.Option(min=1, max=256, metavar="N", help="Maximum number of runs at once.", show_default="one per core"),
]
TrainingFolder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="FOLDER",
        readable=False,
        help="Folder of the trainings.",
        show_default="the user's data folder",
    ),
]
Threads = Annotated[int, typer.Option(min=0, metavar="N", help="Threads of a training (0: one per core).")]
SaveEvery = Annotated[int, typer.Option(min=1, metavar="N", help="Steps between two checkpoints.")]


@flywheel_app.command(
    epilog="Example: evolve flywheel run mazes examples/maze --policy walker --problems 24 --allow-training"
)
def run(
    ctx: typer.Context,
    name: FlywheelName,
    family: Family,
    *,
    policy: Trained,
    rounds: Rounds = 4,
    problems: Problems = 24,
    evaluations: OfEachRun = 512,
    seed: Seed = 0,
    method: Method = "vector_max_at_k",
    backend: Backend = "maze",
    k: SetSize = None,
    steps: Steps = None,
    test_problems: TestProblems = 64,
    test_kinds: TestKinds = "",
    held_out: HeldOut = None,
    model: AdaptedModel = "",
    served: AdapterServer = "",
    set_: Hyperparameters = None,
    allow_training: AllowTraining = False,
    parallel: Parallel = None,
    folder: TrainingFolder = None,
    threads: Threads = 0,
    save_every: SaveEvery = 50,
    require_isolation: Isolation = None,
    allow_unsandboxed: Unsandboxed = False,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Run the rounds of a flywheel, or continue them. Each searches, trains, asks the gate and promotes."""
    where = place_of(ctx, json, db, server, api_key_file)
    terminal = terminal_of(ctx, json, db, where)
    with terminal.doing("starting"):
        from service.cli.flywheel import FlywheelOptions, run_flywheel
        from service.cli.training_jobs import read_hyperparameters, split_words
        from service.problems.family import read_family, read_held_out
        from service.usecases.flywheel import FlywheelOrder

    training = {
        "method": method, "backend": backend, "k": k, "steps": steps, "test_problems": test_problems,
        "test_kinds": split_words(test_kinds), "model": model, "served": served,
        "hyperparameters": read_hyperparameters(set_ or ()),
    }  # fmt: skip
    order = FlywheelOrder(
        name=name, policy=policy, family=read_family(family), problems=problems, evaluations=evaluations, seed=seed,
        held_out=[] if held_out is None else read_held_out(held_out), training=training,
    )  # fmt: skip
    options = FlywheelOptions(
        order=order, rounds=rounds, allowed=allow_training, parallel=parallel, folder=folder, threads=threads,
        save_every=save_every, require_isolation=required_isolation(require_isolation, allow_unsandboxed),
    )  # fmt: skip
    raise typer.Exit(run_flywheel(terminal, where, options))


@flywheel_app.command(epilog="Example: evolve flywheel show mazes")
def show(
    ctx: typer.Context,
    name: FlywheelName,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Show the rounds of a flywheel: problems solved, trained versions, and what the gate decided."""
    from service.cli.flywheel_report import show_flywheel

    where = place_of(ctx, json, db, server, api_key_file)
    show_flywheel(terminal_of(ctx, json, db, where), where, name)


@flywheel_app.command("list", epilog="Example: evolve flywheel list")
def list_(
    ctx: typer.Context, db: Db = None, server: Server = None, api_key_file: KeyFile = None, json: Json = False
) -> None:
    """List flywheels with their rounds."""
    from service.cli.flywheel_report import list_flywheels

    where = place_of(ctx, json, db, server, api_key_file)
    list_flywheels(terminal_of(ctx, json, db, where), where)
