"""The commands that show results, of a database or of a service."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from evolve.statistics.voting import MIN_SHARE
from service.cli.options import (
    HELP,
    MAX_ROWS,
    Db,
    Isolation,
    Json,
    KeyFile,
    Limit,
    RunId,
    Server,
    Unsandboxed,
    place_of,
    required_isolation,
    site_of,
    terminal_of,
)
from service.errors import UsageError

Axis = Literal["evaluations", "tokens", "money", "time"]
Rule = Literal["majority", "weighted", "best_of_majority"]
results_app = typer.Typer(context_settings=HELP)

CandidateId = Annotated[
    str,
    typer.Argument(metavar="CANDIDATE", help="A run with its candidate (last.28.0), or an id. A run alone: its best."),
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", readable=False, help="File to write (- is stdout).")
]


@results_app.command(epilog="Example: evolve runs --limit 5", rich_help_panel="Results")
def runs(
    ctx: typer.Context,
    limit: Limit = 20,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Only runs with this label. May be repeated.", show_default="all"),
    ] = None,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """List runs, newest first."""
    from service.cli.listing import list_runs
    from service.usecases.labels import read_labels

    labels = read_labels(None, label or ())
    where = place_of(ctx, json, db, server, api_key_file)
    with site_of(where) as site:
        list_runs(terminal_of(ctx, json, db, where), site.reader, limit, labels)


@results_app.command(epilog="Example: evolve show last, or: evolve show last 28.0 --source", rich_help_panel="Results")
def show(
    ctx: typer.Context,
    id_: Annotated[
        str, typer.Argument(metavar="ID", help="Id of a run, a candidate or a proposal, or last (the newest run).")
    ],
    name: Annotated[
        str | None, typer.Argument(metavar="CANDIDATE", help="Name of a candidate of the run, such as 28.0.")
    ] = None,
    *,
    source: Annotated[bool, typer.Option("--source", help="Show only the program of the candidate.")] = False,
    prompt: Annotated[bool, typer.Option("--prompt", help="Show the prompt and the completions.")] = False,
    proposal: Annotated[
        int | None, typer.Option("--proposal", min=1, metavar="N", help="Show this proposal of the run.")
    ] = None,
    metrics: Annotated[bool, typer.Option("--metrics", help="Show the metrics of the run.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", readable=False, help="File to write the program to (- is stdout)."
        ),
    ] = None,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Show a run, a candidate or a proposal."""
    from service.bootstrap.sites import open_bundles
    from service.cli.metrics import show_metrics
    from service.cli.records import find_run, in_run
    from service.cli.show import show_anything, show_proposal
    from service.config import load_settings

    where = place_of(ctx, json, db, server, api_key_file)
    id_ = in_run(id_, name)
    with open_bundles(load_settings(), where) as (site, bundles):
        if output is not None and (prompt or metrics or proposal is not None):
            raise UsageError("-o writes the program of a candidate: leave out --prompt, --metrics and --proposal")
        if proposal is not None:
            found = site.reader.proposal(find_run(site.reader, id_).id, proposal)
            show_proposal(terminal_of(ctx, json, db, where), found, prompt=prompt)
            return
        if metrics:
            show_metrics(terminal_of(ctx, json, db, where), site, id_, alone=not (source or prompt))
            return
        shown = terminal_of(ctx, json, db, where)
        show_anything(shown, site, id_, source=source, prompt=prompt, output=output, bundles=bundles)


@results_app.command(
    epilog="Example: evolve best last --weights accuracy=1,speed=2 -o best.py", rich_help_panel="Results"
)
def best(
    ctx: typer.Context,
    run_id: RunId = "last",
    weights: Annotated[
        str | None, typer.Option(metavar="NAME=W,...", help="Weights of the objectives to rank by.")
    ] = None,
    output: Output = None,
    view: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="Write the picture that the evaluator drew (- is stdout)."),
    ] = None,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Show the best candidate of a run, by fitness or under given weights."""
    from service.cli.best import show_best

    where = place_of(ctx, json, db, server, api_key_file)
    with site_of(where) as site:
        show_best(terminal_of(ctx, json, db, where), site, run_id, weights=weights, output=output, view=view)


@results_app.command(epilog="Example: evolve candidates last --all", rich_help_panel="Results")
def candidates(
    ctx: typer.Context,
    run_id: RunId = "last",
    limit: Limit = 20,
    all_: Annotated[
        bool, typer.Option("--all", help="List every candidate, oldest first, including failed candidates.")
    ] = False,
    text: Annotated[str, typer.Option(metavar="TEXT", help="Only candidates with this text in a source file.")] = "",
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """List the candidates of a run, best first."""
    from service.cli.listing import list_candidates

    where = place_of(ctx, json, db, server, api_key_file)
    with site_of(where) as site:
        list_candidates(terminal_of(ctx, json, db, where), site, run_id, None if all_ else limit, text)


@results_app.command(epilog="Example: evolve vote last --rule best_of_majority", rich_help_panel="Results")
def vote(
    ctx: typer.Context,
    run_id: RunId = "last",
    rule: Annotated[Rule, typer.Option(help="Rule that chooses the winner.", case_sensitive=False)] = "majority",
    min_share: Annotated[
        float, typer.Option(min=0, max=1, metavar="S", help="With best_of_majority: minimum share of the votes.")
    ] = MIN_SHARE,
    limit: Annotated[int, typer.Option(min=1, max=MAX_ROWS, metavar="N", help="Maximum number of answers.")] = 20,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Count the answers of the candidates of a run, and show the winner."""
    from service.cli.vote import show_votes

    where = place_of(ctx, json, db, server, api_key_file)
    with site_of(where) as site:
        show_votes(terminal_of(ctx, json, db, where), site, run_id, rule, min_share, limit)


@results_app.command(epilog="Example: evolve lineage last, or: evolve lineage last.28.0", rich_help_panel="Results")
def lineage(
    ctx: typer.Context,
    candidate_id: CandidateId,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Show the lineage of a candidate, step by step from its seed."""
    from service.cli.lineage import show_lineage

    where = place_of(ctx, json, db, server, api_key_file)
    with site_of(where) as site:
        show_lineage(terminal_of(ctx, json, db, where), site, candidate_id)


@results_app.command(epilog="Example: evolve diff last, or: evolve diff last.12.0 last.28.0", rich_help_panel="Results")
def diff(
    ctx: typer.Context,
    first: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="Candidate id. A run id, or last, means its best candidate. Alone, it is compared with its parent.",
        ),
    ],
    second: Annotated[str | None, typer.Argument(metavar="B", help="Candidate to compare with A.")] = None,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Show the difference between two candidates."""
    from service.cli.diff import show_diff

    where = place_of(ctx, json, db, server, api_key_file)
    with site_of(where) as site:
        show_diff(terminal_of(ctx, json, db, where), site, first, second)


@results_app.command(epilog="Example: evolve apply last --branch faster-solver --body", rich_help_panel="Results")
def apply(
    ctx: typer.Context,
    run_id: RunId = "last",
    candidate: Annotated[
        str | None,
        typer.Argument(
            metavar="CANDIDATE", help="Candidate of the run, such as 28.0.", show_default="the best candidate"
        ),
    ] = None,
    *,
    patch: Annotated[bool, typer.Option("--patch", help="Print the change as a patch and write nothing.")] = False,
    branch: Annotated[
        str, typer.Option(metavar="NAME", help="Make this git branch with one commit. Your files stay as they are.")
    ] = "",
    body: Annotated[
        bool, typer.Option("--body", help="Score both programs again and print the text of a pull request.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Apply to files that changed since the run began.")] = False,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", readable=False, help="File or folder to change.", show_default="where the run began"
        ),
    ] = None,
    require_isolation: Isolation = None,
    allow_unsandboxed: Unsandboxed = False,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Put the best program of a run into the files that the run began from."""
    from service.bootstrap.sites import open_bundles
    from service.cli.apply import ApplyOptions, apply_winner
    from service.client.service_choice import server_of
    from service.config import load_settings

    where, settings = place_of(ctx, json, db, server, api_key_file), load_settings()
    options = ApplyOptions(
        into=into,
        force=force,
        patch=patch,
        branch=branch,
        body=body,
        require_isolation=required_isolation(require_isolation, allow_unsandboxed),
        named_service=bool(server_of(settings, where)),
    )
    with open_bundles(settings, where) as (site, bundles):
        apply_winner(terminal_of(ctx, json, db, where), site, bundles, run_id, candidate, options)


@results_app.command(epilog="Example: evolve export last -o run.jsonl", rich_help_panel="Results")
def export(
    ctx: typer.Context,
    run_id: RunId = "last",
    output: Output = None,
    *,
    training: Annotated[
        bool, typer.Option("--training", help="Write the answered proposals: prompts, completions and reward vectors.")
    ] = False,
    format_: Annotated[
        Literal["jsonl", "csv", "events", "parquet", "datasets"],
        typer.Option(
            "--format",
            help="jsonl: candidates with files. csv: a table of candidates. events: the event log. parquet"
            " and datasets (a folder for Hugging Face) need pyarrow.",
        ),
    ] = "jsonl",
    git: Annotated[
        Path | None,
        typer.Option(
            "--git", metavar="DIR", readable=False, help="Write the lineage as a new git repository in this folder."
        ),
    ] = None,
    verifiers: Annotated[
        Path | None,
        typer.Option(
            "--verifiers",
            metavar="DIR",
            readable=False,
            help="Write the problem of the run, or of a folder in its place, as an environment of verifiers.",
        ),
    ] = None,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Export a run: its candidates with their files, its events, its training records, or a git history."""
    from service.cli.export import export_repository, export_run, refuse_two_targets

    where = place_of(ctx, json, db, server, api_key_file)
    refuse_two_targets({"--git": git, "--verifiers": verifiers}, output, format_, training=training)
    terminal = terminal_of(ctx, json, db, where)
    if verifiers is not None:
        from service.cli.training_environment import export_environment

        export_environment(terminal, where, run_id, verifiers)
        return
    if git is not None:
        export_repository(terminal, where, run_id, git)
        return
    with site_of(where) as site:
        export_run(terminal, site, run_id, output, format_, training=training)


@results_app.command(epilog="Example: evolve track last tensorboard:runs", rich_help_panel="Results")
def track(
    ctx: typer.Context,
    run_id: RunId,
    trackers: Annotated[
        list[str], typer.Argument(metavar="TRACKER...", help="tensorboard:DIR, mlflow:URI or wandb:PROJECT.")
    ],
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Send a run to trackers with its own times, and follow it until it ends."""
    from service.cli.track import track_run

    where = place_of(ctx, json, db, server, api_key_file)
    with site_of(where) as site:
        raise typer.Exit(track_run(terminal_of(ctx, json, db, where), site, run_id, trackers))


@results_app.command(epilog="Example: evolve report last -o report.html", rich_help_panel="Results")
def report(
    ctx: typer.Context,
    run_id: RunId = "last",
    output: Output = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Write a report of a run as a single HTML file, with charts, tables and the best programs."""
    from service.cli.report import report_run

    where = place_of(ctx, json, db, server, api_key_file)
    with site_of(where) as site:
        report_run(terminal_of(ctx, json, db, where), site, where, run_id, output, force=force)


@results_app.command(
    epilog="Example: evolve compare run_01a2b3c4 run_01d5e6f7 --by strategy,"
    " or: evolve compare plain=run_01a2b3c4,run_01b3c4d5 mine=run_01d5e6f7,run_01e6f708",
    rich_help_panel="Results",
)
def compare(
    ctx: typer.Context,
    run_ids: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Runs or batches, by id or prefix. Groups: NAME=RUN,RUN.")
    ],
    by: Annotated[
        str,
        typer.Option(
            metavar="KEY", help="Group by strategy, policy, name, problem, labels.KEY or a configuration key."
        ),
    ] = "",
    over: Annotated[Axis, typer.Option(help="Budget to compare at.", case_sensitive=False)] = "evaluations",
    at: Annotated[str, typer.Option(metavar="N,...", help="Budgets to compare the groups at.")] = "",
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Compare runs at equal budgets, and show whether a group is ahead of another."""
    from service.cli.compare import show_comparison

    where = place_of(ctx, json, db, server, api_key_file)
    with site_of(where) as site:
        show_comparison(terminal_of(ctx, json, db, where), site, run_ids, where, over=over, by=by, at=at)
