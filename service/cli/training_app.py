"""The commands `evolve training`; what a command does is imported when it is called."""

from typing import Annotated

import typer

from service.cli.options import HELP, Db, Json, KeyFile, Server, place_of, terminal_of

training_app = typer.Typer(
    help="Submit and follow training jobs, which a trainer takes.", context_settings=HELP, no_args_is_help=True
)

JobId = Annotated[
    str, typer.Argument(metavar="JOB", help="Id of a training job, a prefix of it, or last (the newest).")
]
AllowedRun = Annotated[str, typer.Argument(metavar="[RUN]", help="Run id, a prefix of it, or last (the newest).")]
AllRuns = Annotated[bool, typer.Option("--all", help="All runs without an answer of their own, later ones included.")]

AdaptedModel = Annotated[
    str, typer.Option(metavar="MODEL", help="Chat model that an adapter is trained for. Without it: the base's.")
]
AdapterServer = Annotated[
    str, typer.Option(metavar="URL", help="vLLM that serves the adapter. Without it: that of the base.")
]
Hyperparameters = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=NUMBER", help="Hyperparameter, such as rank=8. May be repeated."),
]
LearntRuns = Annotated[
    list[str] | None,
    typer.Option("--run", metavar="RUN", help="Run to learn from: an id, a prefix of it, or last. May be repeated."),
]
TestRuns = Annotated[
    list[str] | None,
    typer.Option(metavar="RUN", help="Run of another problem, whose prompts compare versions. May be repeated."),
]
LearntLabels = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="Learn from runs with this label too. May be repeated."),
]


@training_app.command(epilog="Example: evolve training submit walker --base walker --promote")
def submit(
    ctx: typer.Context,
    policy: Annotated[str, typer.Argument(metavar="POLICY", help="Registered policy that gets the version.")],
    *,
    base: Annotated[
        str, typer.Option(metavar="NAME[@VERSION]", help="Version to start from. Without it: from scratch.")
    ] = "",
    method: Annotated[
        str, typer.Option(metavar="NAME", help="Training method, such as vector_max_at_k.")
    ] = "vpo_marginal",
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="Back end of the trainer, such as maze or trl.")
    ] = "maze",
    model: AdaptedModel = "",
    served: AdapterServer = "",
    set_: Hyperparameters = None,
    k: Annotated[int | None, typer.Option(metavar="K", help="Size of the sets whose best counts.")] = None,
    steps: Annotated[int | None, typer.Option(metavar="N", help="Updates of reinforcement learning.")] = None,
    warm_steps: Annotated[int | None, typer.Option(metavar="N", help="Updates of the warm start.")] = None,
    kinds: Annotated[str, typer.Option(metavar="LIST", help="Kinds of mazes: small, hard, nine.")] = "",
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of every random draw.")] = 0,
    run: LearntRuns = None,
    problem: Annotated[str, typer.Option(metavar="NAME", help="Learn from runs of this problem too.")] = "",
    label: LearntLabels = None,
    max_seconds: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit of each attempt (0: none).")] = 0,
    test_problems: Annotated[
        int, typer.Option(metavar="N", help="Held-out problems for the comparison with the promoted version.")
    ] = 64,
    test_kinds: Annotated[
        str, typer.Option(metavar="LIST", help="Kinds of the held-out mazes. Without it: as the job learns from.")
    ] = "",
    test_run: TestRuns = None,
    promote: Annotated[bool, typer.Option("--promote", help="Promote the version if the gate allows it.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Register POLICY if the registry has none of this name.")] = False,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Queue a training job. It makes a version of a policy."""
    from service.cli.training_jobs import read_hyperparameters, split_words, submit_job
    from service.usecases.labels import read_labels

    where = place_of(ctx, json, db, server, api_key_file)
    words = {
        "policy": policy, "backend": backend, "model": model, "served": served,
        "hyperparameters": read_hyperparameters(set_ or ()), "base": base, "method": method, "k": k, "steps": steps,
        "warm_steps": warm_steps, "kinds": split_words(kinds), "test_kinds": split_words(test_kinds), "seed": seed,
        "runs": run or [], "problem": problem, "labels": read_labels(None, label or ()), "max_seconds": max_seconds,
        "test_problems": test_problems, "test_runs": test_run or [], "promote": promote,
        "new_policy": new,
    }  # fmt: skip
    submit_job(terminal_of(ctx, json, db, where), where, words)


@training_app.command("list", epilog="Example: evolve training list --limit 5")
def list_(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Maximum number of jobs.")] = 20,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """List training jobs, newest first."""
    from service.cli.training_jobs import list_jobs

    where = place_of(ctx, json, db, server, api_key_file)
    list_jobs(terminal_of(ctx, json, db, where), where, limit)


@training_app.command(epilog="Example: evolve training show last")
def show(
    ctx: typer.Context,
    job: JobId = "last",
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Show a training job: its settings, newest step, checkpoint and end."""
    from service.cli.training_jobs import show_job

    where = place_of(ctx, json, db, server, api_key_file)
    show_job(terminal_of(ctx, json, db, where), where, job)


@training_app.command(epilog="Example: evolve training watch last")
def watch(
    ctx: typer.Context,
    job: JobId = "last",
    after: Annotated[int, typer.Option(min=0, metavar="N", help="Only events after this sequence number.")] = 0,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Print the events of a training job with its figures, until it ends."""
    from service.cli.training_jobs import watch_job

    where = place_of(ctx, json, db, server, api_key_file)
    raise typer.Exit(watch_job(terminal_of(ctx, json, db, where), where, job, after))


@training_app.command(epilog="Example: evolve training cancel last")
def cancel(
    ctx: typer.Context,
    job: JobId,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """End a training job within seconds. Its checkpoint stays."""
    from service.cli.training_jobs import change_job

    where = place_of(ctx, json, db, server, api_key_file)
    change_job(terminal_of(ctx, json, db, where), where, job, "cancel")


@training_app.command(epilog="Example: evolve training resume last")
def resume(
    ctx: typer.Context,
    job: JobId,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Queue a cancelled or failed training job again. It continues from its checkpoint."""
    from service.cli.training_jobs import change_job

    where = place_of(ctx, json, db, server, api_key_file)
    change_job(terminal_of(ctx, json, db, where), where, job, "resume")


@training_app.command(epilog="Example: evolve training allow last, or: evolve training allow --all")
def allow(
    ctx: typer.Context,
    run: AllowedRun = "",
    *,
    all_runs: AllRuns = False,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Allow training on a run, or on all runs. Each answer is recorded."""
    from service.cli.training_jobs import permit

    where = place_of(ctx, json, db, server, api_key_file)
    permit(terminal_of(ctx, json, db, where), where, run, all_runs=all_runs, allowed=True)


@training_app.command(epilog="Example: evolve training forbid last, or: evolve training forbid --all")
def forbid(
    ctx: typer.Context,
    run: AllowedRun = "",
    *,
    all_runs: AllRuns = False,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Forbid training on a run, or on all runs. Jobs that learn from it fail."""
    from service.cli.training_jobs import permit

    where = place_of(ctx, json, db, server, api_key_file)
    permit(terminal_of(ctx, json, db, where), where, run, all_runs=all_runs, allowed=False)


@training_app.command(epilog="Example: evolve training permissions")
def permissions(
    ctx: typer.Context, db: Db = None, server: Server = None, api_key_file: KeyFile = None, json: Json = False
) -> None:
    """List what may be trained on."""
    from service.cli.training_jobs import list_permissions

    where = place_of(ctx, json, db, server, api_key_file)
    list_permissions(terminal_of(ctx, json, db, where), where)
