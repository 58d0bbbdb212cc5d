"""The commands and their words; what a command does is imported when it is called."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evolve import __version__
from service.cli.database_app import db_app
from service.cli.keys_app import keys_app
from service.cli.words import HELP, Db, Json, terminal_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from service.ports import RunReader

MOST_ROWS = 1_000_000
app = typer.Typer(
    name="evolve",
    help="Evolutionary search over programs: give a problem, get a better program.",
    epilog="Start with: evolve problem init my_problem, then evolve run my_problem. Every command has -h.",
    context_settings=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
problem_app = typer.Typer(help="Check a problem folder, or make one.", context_settings=HELP, no_args_is_help=True)
app.add_typer(problem_app, name="problem", rich_help_panel="Search")
app.add_typer(db_app, name="db", rich_help_panel="Installation")
app.add_typer(keys_app, name="keys", rich_help_panel="Installation")

Queue = Annotated[
    str | None, typer.Option(metavar="URL", help="Redis that evaluations go through; else the setting queue.url.")
]
Host = Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")]
Port = Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0: any that is free.")]
MetricsPort = Annotated[
    int | None, typer.Option(min=0, max=65535, metavar="N", help="Show Prometheus what is counted at this port.")
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Run id, its beginning, or: last.")]
CandidateId = Annotated[
    str, typer.Argument(metavar="CANDIDATE", help="Candidate id or its beginning; of a run, or last: its best.")
]
ProblemPath = Annotated[
    Path,
    typer.Argument(
        metavar="PROBLEM", readable=False, help="Folder with problem.toml, or an OpenEvolve project as it is."
    ),
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", readable=False, help="Write here; - is stdout.")
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evolve {__version__}")
        raise typer.Exit


@app.callback()
def common(
    ctx: typer.Context,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Results and errors only.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Log events to stderr.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours; NO_COLOR does the same.")] = False,
    version: Annotated[  # noqa: ARG001 - its callback has answered before this is called
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Evolutionary search over programs: give a problem, get a better program."""
    from service.cli.terminal import Terminal

    ctx.obj = Terminal(verbosity=1 if verbose else -1 if quiet else 0, color=not no_color)
    if verbose:
        from service.telemetry import configure_logging

        configure_logging(1, color=not no_color)


def _reading(db: str | None) -> "AbstractContextManager[RunReader]":
    from service.bootstrap.storage import open_reader
    from service.config import load_settings

    return open_reader(load_settings(), db)


@app.command(epilog="Example: evolve run examples/circle_packing --evaluations 400 --seed 1", rich_help_panel="Search")
def run(
    ctx: typer.Context,
    problem: Annotated[
        Path | None, typer.Argument(metavar="PROBLEM", readable=False, help="Problem folder; none with --resume.")
    ] = None,
    *,
    evaluations: Annotated[int | None, typer.Option(min=1, metavar="N", help="Budget: candidates evaluated.")] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="syntax|URL|FILE", help="Who writes: built-in, a server, or a policy file.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="M", help="Model to ask the server for.")] = None,
    answers: Annotated[int | None, typer.Option(min=1, metavar="M", help="Answers in one chain.")] = None,
    samples: Annotated[int | None, typer.Option(min=1, metavar="N", help="Chains in one proposal.")] = None,
    islands: Annotated[int | None, typer.Option(min=1, metavar="K", help="Sub-populations.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="S", help="Seed of every random draw.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, metavar="W", help="Evaluations at once.")] = None,
    db: Db = None,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="Repeatable bit for bit.")] = False,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Continue a run; last is the newest.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", readable=False, help="Run configuration, TOML.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One configuration key.")] = None,
    require_target: Annotated[bool, typer.Option("--require-target", help="Exit 7 unless a target is met.")] = False,
    require_isolation: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="Refuse below: weak, medium or strong.")
    ] = None,
    allow_unsandboxed: Annotated[
        bool, typer.Option("--allow-unsandboxed", help="Run even where no isolation is to be had.")
    ] = False,
    queue: Queue = None,
    json: Json = False,
) -> None:
    """Search for better programs until the budget ends."""
    terminal = terminal_of(ctx, json, db)
    with terminal.doing("starting"):
        from service.cli.run import Wish, run_search

    wish = Wish(
        problem=problem,
        policy=policy,
        model=model,
        resume=resume,
        config=config,
        settings=tuple(set_ or ()),
        flags={
            "budget.evaluations": evaluations,
            "answers": answers,
            "samples": samples,
            "islands": islands,
            "seed": seed,
            "concurrency.evaluations": workers,
        },
        deterministic=deterministic,
        db=db,
        require_target=require_target,
        require_isolation="none" if allow_unsandboxed else require_isolation,
        queue=queue,
    )
    raise typer.Exit(run_search(terminal, wish))


@app.command(epilog="Example: evolve runs --limit 5", rich_help_panel="Results")
def runs(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=MOST_ROWS, metavar="N", help="How many at most.")] = 20,
    db: Db = None,
    json: Json = False,
) -> None:
    """List runs, newest first."""
    from service.cli.listing import list_runs

    with _reading(db) as reader:
        list_runs(terminal_of(ctx, json, db), reader, limit)


@app.command(epilog="Example: evolve show last, or: evolve show cnd_1a2b3c4d --source", rich_help_panel="Results")
def show(
    ctx: typer.Context,
    id_: Annotated[str, typer.Argument(metavar="ID", help="A run, a candidate, or: last.")],
    source: Annotated[bool, typer.Option("--source", help="Show the candidate's program.")] = False,
    prompt: Annotated[bool, typer.Option("--prompt", help="Show what was asked and what came back.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Show a run or a candidate."""
    from service.cli.show import show_anything

    with _reading(db) as reader:
        show_anything(terminal_of(ctx, json, db), reader, id_, source=source, prompt=prompt)


@app.command(epilog="Example: evolve best last --weights accuracy=1,speed=2 -o best.py", rich_help_panel="Results")
def best(
    ctx: typer.Context,
    run_id: RunId = "last",
    weights: Annotated[
        str | None, typer.Option(metavar="NAME=W,...", help="Best under these weights of the objectives.")
    ] = None,
    output: Output = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Show the best candidate of a run, by fitness or under given weights."""
    from service.cli.best import show_best

    with _reading(db) as reader:
        show_best(terminal_of(ctx, json, db), reader, run_id, weights=weights, output=output)


@app.command(epilog="Example: evolve programs last --all", rich_help_panel="Results")
def programs(
    ctx: typer.Context,
    run_id: RunId = "last",
    limit: Annotated[int, typer.Option(min=1, max=MOST_ROWS, metavar="N", help="How many at most.")] = 20,
    all_: Annotated[bool, typer.Option("--all", help="Every candidate in order of age, failed ones too.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """List the candidates of a run, best first."""
    from service.cli.listing import list_programs

    with _reading(db) as reader:
        list_programs(terminal_of(ctx, json, db), reader, run_id, None if all_ else limit)


@app.command(epilog="Example: evolve lineage last, or: evolve lineage cnd_1a2b3c4d", rich_help_panel="Results")
def lineage(ctx: typer.Context, candidate_id: CandidateId, db: Db = None, json: Json = False) -> None:
    """Show how a candidate came about, step by step from its seed."""
    from service.cli.lineage import show_lineage

    with _reading(db) as reader:
        show_lineage(terminal_of(ctx, json, db), reader, candidate_id)


@app.command(epilog="Example: evolve diff last, or: evolve diff cnd_1a2b3c4d cnd_5e6f7a8b", rich_help_panel="Results")
def diff(
    ctx: typer.Context,
    first: Annotated[
        str,
        typer.Argument(metavar="A", help="Candidate (of a run, or last: its best); alone, compared with its parent."),
    ],
    second: Annotated[str | None, typer.Argument(metavar="B", help="Candidate.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Show what changed from one candidate to another."""
    from service.cli.diff import show_diff

    with _reading(db) as reader:
        show_diff(terminal_of(ctx, json, db), reader, first, second)


@app.command(epilog="Example: evolve export last -o run.jsonl", rich_help_panel="Results")
def export(
    ctx: typer.Context, run_id: RunId = "last", output: Output = None, db: Db = None, json: Json = False
) -> None:
    """Write every candidate of a run as JSON Lines."""
    from service.cli.export import export_run

    with _reading(db) as reader:
        export_run(terminal_of(ctx, json, db), reader, run_id, output)


@problem_app.command(epilog="Example: evolve problem check examples/circle_packing")
def check(ctx: typer.Context, problem: ProblemPath, json: Json = False) -> None:
    """Load a problem, run its seed once in the sandbox, and explain every complaint."""
    terminal = terminal_of(ctx, json)
    with terminal.doing("starting"):
        from service.cli.problem import check

    raise typer.Exit(check(terminal, problem))


@problem_app.command(epilog="Example: evolve problem init my_problem")
def init(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", readable=False, help="Folder to make; it must be empty or absent.")
    ],
    json: Json = False,
) -> None:
    """Make a small problem that runs, to start from."""
    from service.cli.problem import init

    init(terminal_of(ctx, json), folder)


@app.command(epilog="Example: evolve serve --port 8000", rich_help_panel="Installation")
def serve(
    ctx: typer.Context,
    host: Host = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="N",
            show_default="8000; where it is taken, a free one",
            help="Port; 0: any that is free.",
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, max=256, metavar="N", help="Runs at once; else runner.runs.")
    ] = None,
    slots: Annotated[
        int | None, typer.Option(min=1, max=1024, metavar="N", help="Evaluations at once; else one per core.")
    ] = None,
    db: Db = None,
    queue: Queue = None,
    metrics_port: MetricsPort = None,
    json: Json = False,
) -> None:
    """Serve API, runs and evaluations from this process, until told to stop."""
    terminal = terminal_of(ctx, json, db)
    with terminal.doing("starting"):
        from service.bootstrap.serving import Address
        from service.cli.serve import serve_all

    address = Address(host=host, port=8000 if port is None else port, elsewhere=port is None)
    raise typer.Exit(
        serve_all(terminal, address, db=db, queue=queue, runs=runs, slots=slots, metrics_port=metrics_port)
    )


@app.command(epilog="Example: evolve api --host 0.0.0.0 --port 8000", rich_help_panel="Installation")
def api(
    ctx: typer.Context,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    db: Db = None,
    queue: Queue = None,
    metrics_port: MetricsPort = None,
    json: Json = False,
) -> None:
    """Serve the API alone; other processes drive runs and evaluate."""
    terminal = terminal_of(ctx, json, db)
    with terminal.doing("starting"):
        from service.bootstrap.serving import Address
        from service.cli.serve import serve_api

    raise typer.Exit(serve_api(terminal, Address(host=host, port=port), db=db, queue=queue, metrics_port=metrics_port))


@app.command(epilog="Example: evolve worker --queue redis://localhost:6379/0 --slots 4", rich_help_panel="Installation")
def worker(
    ctx: typer.Context,
    queue: Queue = None,
    pool: Annotated[str, typer.Option(metavar="NAME", help="Take tasks of this pool.")] = "cpu",
    slots: Annotated[
        int | None, typer.Option(min=1, max=1024, metavar="N", help="Evaluations at once; else one per core.")
    ] = None,
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="Service to take tasks from over HTTP, instead of a queue.")
    ] = None,
    api_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with a key of the scope evaluations:lease.")
    ] = None,
    metrics_port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Serve metrics for Prometheus; 0: do not.")
    ] = 0,
    metrics_host: Annotated[str, typer.Option(metavar="HOST", help="Address to serve them at.")] = "127.0.0.1",
) -> None:
    """Evaluate candidates for runs that go on elsewhere, until told to stop."""
    terminal = terminal_of(ctx, as_json=False)
    with terminal.doing("starting"):
        from service.bootstrap.workers import Place
        from service.cli.worker import work

    place = Place(queue=queue, server=server, api_key_file=api_key_file)
    raise typer.Exit(
        work(terminal, place, pool=pool, slots=slots, metrics_port=metrics_port, metrics_host=metrics_host)
    )


@app.command(epilog="Example: evolve runner --queue redis://localhost:6379/0", rich_help_panel="Installation")
def runner(
    ctx: typer.Context,
    runs: Annotated[
        int | None, typer.Option(min=1, max=256, metavar="N", help="Runs at once; else runner.runs.")
    ] = None,
    queue: Queue = None,
    metrics_port: Annotated[
        int | None, typer.Option(min=1, max=65535, metavar="N", help="Show Prometheus what is counted.")
    ] = None,
    metrics_host: Annotated[str, typer.Option(metavar="HOST", help="Address to show them at.")] = "127.0.0.1",
    db: Db = None,
) -> None:
    """Drive the runs that wait in the database, until told to let go of them."""
    terminal = terminal_of(ctx, as_json=False, db=db)
    with terminal.doing("starting"):
        from service.cli.runner import serve_runs

    metrics = (metrics_port, metrics_host)
    raise typer.Exit(serve_runs(terminal, runs=runs, queue=queue, db=db, metrics=metrics))


@app.command(epilog="Example: evolve doctor --json", rich_help_panel="Installation")
def doctor(ctx: typer.Context, db: Db = None, json: Json = False) -> None:
    """Say what this machine offers: sandbox, database, interpreter, settings."""
    terminal = terminal_of(ctx, json, db)
    with terminal.doing("starting"):
        from service.cli.doctor import examine

    raise typer.Exit(examine(terminal, db))
