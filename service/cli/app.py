"""The commands and their words; what a command does is imported when it is called."""

from pathlib import Path
from typing import Annotated, Any

import typer

from evolve.version import __version__
from service.cli import command_options
from service.cli.batch_app import batch_app
from service.cli.completion_app import completion_app
from service.cli.control_app import Sets, control_app
from service.cli.database_app import db_app
from service.cli.flywheel_app import flywheel_app
from service.cli.installation_app import installation_app
from service.cli.keys_app import keys_app
from service.cli.options import (
    HELP,
    ConfigFile,
    Db,
    Evaluations,
    EvaluatorFile,
    Format,
    InsightsFrom,
    Isolation,
    Json,
    KeyFile,
    Model,
    Money,
    Params,
    Patience,
    PolicyNames,
    Python,
    Queue,
    Root,
    RunId,
    RunLabels,
    RunName,
    SeedsFrom,
    Server,
    Target,
    Tokens,
    Unsandboxed,
    WallSeconds,
    named_folder,
    named_project,
    place_of,
    required_isolation,
    terminal_of,
)
from service.cli.policy_app import policy_app
from service.cli.results_app import Output, results_app
from service.cli.steer_app import steer_app
from service.cli.study_app import study_app
from service.cli.train_app import train_app
from service.cli.training_app import training_app
from service.cli.vpo_app import vpo_app
from service.cli.workers_app import workers_app

app = typer.Typer(
    name="evolve",
    help="Evolutionary search over programs: give a problem, get a better program.",
    epilog="Start with: evolve problem init my_problem, then evolve run my_problem. Every command has -h.",
    context_settings=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
problem_app = typer.Typer(help="Check, set up, import or make a problem.", context_settings=HELP, no_args_is_help=True)
app.add_typer(results_app)
app.add_typer(control_app)
app.add_typer(steer_app)
app.add_typer(batch_app)
app.add_typer(problem_app, name="problem", rich_help_panel="Search")
app.add_typer(policy_app, name="policy", rich_help_panel="Search")
app.add_typer(train_app, name="train", rich_help_panel="Training")
app.add_typer(training_app, name="training", rich_help_panel="Training")
app.add_typer(flywheel_app, name="flywheel", rich_help_panel="Training")
app.add_typer(study_app)
app.add_typer(vpo_app, name="vpo", rich_help_panel="Training")
app.add_typer(installation_app)
app.add_typer(completion_app)
app.add_typer(db_app, name="db", rich_help_panel="Installation")
app.add_typer(keys_app, name="keys", rich_help_panel="Installation")
app.add_typer(workers_app, name="workers", rich_help_panel="Installation")

ProblemPath = Annotated[
    Path,
    typer.Argument(
        metavar="PROBLEM",
        parser=named_folder,
        help="Problem folder or file, in a form of Evolve or of another project.",
    ),
]

ProjectConfig = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", readable=False, help="Configuration of another project.")
]
Install = Annotated[bool, typer.Option("--yes", help="Install missing packages without asking.")]
Agree = Annotated[
    bool, typer.Option("--yes", help="Do not ask before packages are installed, or before a command is searched on.")
]
RunProblem = Annotated[
    Path | None,
    typer.Argument(
        metavar="PROBLEM",
        parser=named_folder,
        help="Problem folder, or a Python script that prints its score. Leave it out with --resume.",
    ),
]
Islands = Annotated[
    int | None,
    typer.Option(min=1, metavar="K", help="Sub-populations.", show_default="the problem's, else set by the budget"),
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, metavar="S", help="Seed of every random draw.", show_default="the problem's, else 0"),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, metavar="W", help="Evaluations at once.", show_default="the problem's, else one per core"),
]
Answers = Annotated[
    int | None,
    typer.Option(min=1, metavar="M", help="Answers per chain.", show_default="the problem's, else the policy's"),
]
Samples = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Chains per proposal.", show_default="the problem's, else the policy's"),
]
Trackers = Annotated[
    list[str] | None,
    typer.Option(
        "--track",
        metavar="TRACKER",
        help="Send the run to tensorboard:DIR, mlflow:URI or wandb:PROJECT. May be repeated.",
        show_default="tracking.trackers",
    ),
]
Detach = Annotated[bool, typer.Option("--detach", help="With a service: print the run's id and return at once.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evolve {__version__}")
        raise typer.Exit


@app.callback()
def common(
    ctx: typer.Context,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print only results and errors.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Log events to stderr.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="Print without colours, as NO_COLOR does.")] = False,
    local: Annotated[
        bool,
        typer.Option("--local", help="Do not use the service that you run on this machine."),
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback has answered before this is called
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Evolutionary search over programs: give a problem, get a better program."""
    from service.cli.terminal import Terminal

    ctx.obj = Terminal(verbosity=1 if verbose else -1 if quiet else 0, color=not no_color, local=local)
    if verbose:
        from service.telemetry import configure_logging

        configure_logging(1, color=not no_color)


@app.command(epilog="Example: evolve run examples/circle_packing --evaluations 400 --seed 1", rich_help_panel="Search")
def run(
    ctx: typer.Context,
    problem: RunProblem = None,
    evaluator: EvaluatorFile = None,
    *,
    evaluations: Evaluations = None, tokens: Tokens = None, wall_seconds: WallSeconds = None,
    target: Target = None, patience: Patience = None,
    policy: PolicyNames = None, model: Model = None, param: Params = None,
    answers: Answers = None, samples: Samples = None,
    islands: Islands = None, seed: Seed = None, workers: Workers = None, money: Money = None,
    name: RunName = None,
    label: RunLabels = None,
    db: Db = None,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="Make the run repeatable.")] = False,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Run to continue (last: the newest).")] = None,
    config: ConfigFile = None,
    python: Python = None,
    format_: Format = None, root: Root = None, seeds_from: SeedsFrom = None, insights_from: InsightsFrom = None,
    set_: Sets = None,
    require_target: Annotated[bool, typer.Option("--require-target", help="Exit 7 unless a target is met.")] = False,
    require_isolation: Isolation = None,
    allow_unsandboxed: Unsandboxed = False,
    source: command_options.Sources = None, command: command_options.Command = None,
    metric: command_options.Metric = None, pattern: command_options.Pattern = None,
    minimize: command_options.Minimize = None, goal: command_options.Goal = None,
    read: command_options.Reads = None, path: command_options.Paths = None,
    save: command_options.Save = None, trust_score: command_options.TrustScore = False, yes: Agree = False,
    queue: Queue = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    track: Trackers = None, detach: Detach = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Search for better programs until the budget ends."""
    terminal = terminal_of(ctx, json, db, where := place_of(ctx, json, db, server, api_key_file))
    with terminal.doing("starting"):
        from service.cli import run_dispatch, run_options
    project, config = run_options.named_for_run(problem, evaluator, config, python, format_, root)
    options = run_options.RunOptions(
        problem=project,
        asked=run_options.PolicyWords(tuple(policy or ()), model, tuple(param or ())),
        resume=resume,
        config=config,
        settings=tuple(set_ or ()),
        flags=run_options.budget_flags(evaluations, tokens, money, wall_seconds, target, patience)
        | run_options.search_flags(answers, samples, islands, seed, workers),
        deterministic=deterministic,
        db=db,
        require_target=require_target,
        require_isolation=required_isolation(require_isolation, allow_unsandboxed),
        labels=run_options.run_labels(name, label),
        queue=queue, detach=detach, yes=yes, track=tuple(track or ()),
    )  # fmt: skip
    words: dict[str, Any] = {"problem": problem, "evaluator": evaluator, "python": python, "source": source}
    words |= {"command": command, "metric": metric, "pattern": pattern, "minimize": minimize, "goal": goal}
    words |= {"read": read, "path": path, "save": save, "trust_score": trust_score, "seeds_from": seeds_from}
    words |= {"insights_from": insights_from, "format": format_}
    raise typer.Exit(run_dispatch.run_named(terminal, options, where, words))


@problem_app.command(epilog="Example: evolve problem check examples/circle_packing")
def check(
    ctx: typer.Context,
    problem: ProblemPath,
    evaluator: EvaluatorFile = None,
    *,
    config: ProjectConfig = None,
    python: Python = None,
    format_: Format = None,
    root: Root = None,
    yes: Install = False,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Load a problem, run its seed once in the sandbox, and explain every complaint."""
    where = place_of(ctx, json, None, server, api_key_file)
    terminal = terminal_of(ctx, json, None, where)
    with terminal.doing("starting"):
        from service.cli.check import check_anywhere

    project = named_project(problem, evaluator, config, python, format_, root)
    raise typer.Exit(check_anywhere(terminal, project, where, yes=yes))


@problem_app.command(epilog="Example: evolve problem setup my_problem --yes")
def setup(
    ctx: typer.Context,
    problem: ProblemPath,
    *,
    config: ProjectConfig = None,
    format_: Format = None,
    yes: Install = False,
    json: Json = False,
) -> None:
    """Install the packages that a problem declares, after a question."""
    from service.cli.environment import set_up

    project = named_project(problem, None, config, None, format_)
    raise typer.Exit(set_up(terminal_of(ctx, json), project, yes=yes))


@problem_app.command("import", epilog="Example: evolve problem import shinka_task my_problem")
def import_(
    ctx: typer.Context,
    problem: ProblemPath,
    target: Annotated[
        Path, typer.Argument(metavar="DIR", parser=named_folder, help="Folder to write. It must be empty or absent.")
    ],
    *,
    config: ProjectConfig = None,
    python: Python = None,
    format_: Format = None,
    root: Root = None,
    seeds_from: SeedsFrom = None,
    json: Json = False,
) -> None:
    """Write a problem of another project in Evolve's own form, to read and to edit."""
    from service.cli.problem import import_problem

    project = named_project(problem, None, config, python, format_, root)
    terminal = terminal_of(ctx, json)
    if seeds_from:
        from service.cli.seeds_from import with_population

        project = with_population(terminal, project, place_of(ctx, json, None, None, None), seeds_from)
    import_problem(terminal, project, target)


@problem_app.command(epilog="Example: evolve problem init my_problem")
def init(
    ctx: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", parser=named_folder, help="Folder for the new problem. It must be empty or absent."
        ),
    ],
    domain: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Domain of the question: maze, musique, eureqa, toolrl, livecodebench."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", readable=False, help="With --domain: data set file, JSON or Parquet.")
    ] = None,
    number: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="With --domain: number of the question, from 0.")
    ] = None,
    catalogue: Annotated[
        str | None, typer.Option(metavar="NAME", help="Problem of the catalogue, as evolve problems lists it.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a small working problem to start from."""
    from service.cli.problem import ProblemTemplate, init

    template = ProblemTemplate(domain=domain, data=data, number=number, catalogue=catalogue)
    init(terminal_of(ctx, json), folder, template)


@app.command(epilog="Example: evolve certify last -o winner.json", rich_help_panel="Results")
def certify(
    ctx: typer.Context,
    run_id: RunId = "last",
    output: Output = None,
    require_isolation: Isolation = None,
    allow_unsandboxed: Unsandboxed = False,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Score the best program again by every check, and write a certificate that others can verify."""
    from service.bootstrap.sites import open_bundles, open_controller
    from service.cli.certify import certify_run, label_run
    from service.config import load_settings

    where, settings = place_of(ctx, json, db, server, api_key_file), load_settings()
    isolation, terminal = required_isolation(require_isolation, allow_unsandboxed), terminal_of(ctx, json, db, where)
    with open_bundles(settings, where) as (site, bundles):
        run, digest = certify_run(terminal, site, bundles, run_id, output, isolation)
    with open_controller(settings, where) as controller:
        label_run(controller.control, run, digest)


@app.command(epilog="Example: evolve verify winner.json", rich_help_panel="Results")
def verify(
    ctx: typer.Context,
    certificate: Annotated[
        Path, typer.Argument(metavar="FILE", readable=False, help="Certificate that evolve certify wrote.")
    ],
    require_isolation: Isolation = None,
    allow_unsandboxed: Unsandboxed = False,
    json: Json = False,
) -> None:
    """Check a certificate: its hashes, and its program scored again on this machine."""
    from service.cli.certify import verify_certificate

    isolation = required_isolation(require_isolation, allow_unsandboxed)
    verify_certificate(terminal_of(ctx, json), certificate, isolation)


@app.command(epilog="Example: evolve problems circles-26", rich_help_panel="Search")
def problems(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Problem of the catalogue.", show_default="list all problems"),
    ] = None,
    json: Json = False,
) -> None:
    """List the problems of the catalogue, or show one: best known value, source and trap."""
    from service.cli.problems import list_catalogue, show_catalogue_problem

    terminal = terminal_of(ctx, json)
    if name is None:
        list_catalogue(terminal)
    else:
        show_catalogue_problem(terminal, name)
