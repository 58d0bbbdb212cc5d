"""The commands that run parts of a service, and say what this machine offers."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.options import HELP, Db, Json, KeyFile, Queue, Server, place_of, terminal_of
from service.cli.training_options import Threads, TrainerSaveEvery

PANEL = "Installation"
installation_app = typer.Typer(context_settings=HELP)

Host = Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port (0: any free port).")]
MetricsPort = Annotated[
    int | None, typer.Option(min=0, max=65535, metavar="N", help="Serve Prometheus metrics on this port.")
]


@installation_app.command(epilog="Example: evolve serve --port 8000", rich_help_panel=PANEL)
def serve(
    ctx: typer.Context,
    host: Host = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="N",
            show_default="8000, or a free port if it is in use",
            help="Port (0: any free port).",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, max=256, metavar="N", help="Maximum number of concurrent runs. Without it: runner.runs."),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(
            min=1, max=1024, metavar="N", help="Maximum number of concurrent evaluations. Without it: one per core."
        ),
    ] = None,
    db: Db = None,
    queue: Queue = None,
    metrics_port: MetricsPort = None,
    json: Json = False,
) -> None:
    """Start the service: API, dashboard, runner and worker in this process."""
    terminal = terminal_of(ctx, json, db)
    with terminal.doing("starting"):
        from service.cli.serve import serve_all
        from service.net.listening import Address

    address = Address(host=host, port=8000 if port is None else port, elsewhere=port is None)
    raise typer.Exit(
        serve_all(terminal, address, db=db, queue=queue, runs=runs, slots=slots, metrics_port=metrics_port)
    )


@installation_app.command(epilog="Example: evolve api --host 0.0.0.0 --port 8000", rich_help_panel=PANEL)
def api(
    ctx: typer.Context,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    db: Db = None,
    queue: Queue = None,
    share_port: Annotated[
        bool, typer.Option("--share-port", help="Share the port with other processes of evolve api on this machine.")
    ] = False,
    metrics_port: MetricsPort = None,
    json: Json = False,
) -> None:
    """Start the API and the dashboard. Start evolve runner and evolve worker beside it."""
    terminal = terminal_of(ctx, json, db)
    with terminal.doing("starting"):
        from service.cli.serve import serve_api
        from service.net.listening import Address

    address = Address(host=host, port=port, shared=share_port)
    raise typer.Exit(serve_api(terminal, address, db=db, queue=queue, metrics_port=metrics_port))


@installation_app.command(
    epilog="Example: evolve worker --queue redis://localhost:6379/0 --slots 4", rich_help_panel=PANEL
)
def worker(
    ctx: typer.Context,
    queue: Queue = None,
    pool: Annotated[str, typer.Option(metavar="NAME", help="Take tasks of this pool.")] = "cpu",
    slots: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1024,
            metavar="N",
            help="Maximum number of concurrent evaluations. Without it: one per core or device.",
        ),
    ] = None,
    devices: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Devices for evaluations in the pool gpu, such as 0,1. Without it: sandbox.devices."
        ),
    ] = None,
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="URL of a service to take tasks from, instead of a queue.")
    ] = None,
    api_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with an API key of the scope evaluations:lease.")
    ] = None,
    metrics_port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Serve Prometheus metrics on this port (0: off).")
    ] = 0,
    metrics_host: Annotated[str, typer.Option(metavar="HOST", help="Address to serve metrics on.")] = "127.0.0.1",
) -> None:
    """Start a worker, which evaluates candidates for the runs of other processes."""
    terminal = terminal_of(ctx, as_json=False)
    with terminal.doing("starting"):
        from service.bootstrap.workers import TaskSource
        from service.cli.worker import work

    place = TaskSource(queue=queue, server=server, api_key_file=api_key_file)
    raise typer.Exit(
        work(
            *(terminal, place),
            pool=pool,
            slots=slots,
            devices=devices,
            metrics_port=metrics_port,
            metrics_host=metrics_host,
        )
    )


@installation_app.command(epilog="Example: evolve runner --queue redis://localhost:6379/0", rich_help_panel=PANEL)
def runner(
    ctx: typer.Context,
    runs: Annotated[
        int | None,
        typer.Option(min=1, max=256, metavar="N", help="Maximum number of concurrent runs. Without it: runner.runs."),
    ] = None,
    queue: Queue = None,
    metrics_port: Annotated[
        int | None, typer.Option(min=1, max=65535, metavar="N", help="Serve Prometheus metrics on this port.")
    ] = None,
    metrics_host: Annotated[str, typer.Option(metavar="HOST", help="Address to serve metrics on.")] = "127.0.0.1",
    db: Db = None,
) -> None:
    """Start a runner, which drives the pending runs of the database."""
    terminal = terminal_of(ctx, as_json=False, db=db)
    with terminal.doing("starting"):
        from service.cli.runner import serve_runs

    metrics = (metrics_port, metrics_host)
    raise typer.Exit(serve_runs(terminal, runs=runs, queue=queue, db=db, metrics=metrics))


@installation_app.command(epilog="Example: evolve trainer --folder /srv/evolve/training", rich_help_panel=PANEL)
def trainer(
    ctx: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            readable=False,
            help="Folder of checkpoints. Trainers that share it continue each other's jobs.",
        ),
    ] = None,
    threads: Threads = 0,
    save_every: TrainerSaveEvery = None,
    db: Db = None,
) -> None:
    """Start a trainer, which takes the training jobs of the database."""
    terminal = terminal_of(ctx, as_json=False, db=db)
    with terminal.doing("starting"):
        from service.cli.trainer import serve_jobs

    raise typer.Exit(serve_jobs(terminal, folder=folder, threads=threads, save_every=save_every, db=db))


@installation_app.command(epilog="Example: evolve mcp, or: evolve mcp --http --port 8001", rich_help_panel=PANEL)
def mcp(
    ctx: typer.Context,
    http: Annotated[
        bool, typer.Option("--http", help="Listen for HTTP requests, each with a key. Without it: stdin and stdout.")
    ] = False,
    host: Host = "127.0.0.1",
    port: Port = 8001,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
) -> None:
    """Give agents tools to check problems and to start, watch, steer and read runs (Model Context Protocol)."""
    where = place_of(ctx, False, db, server, api_key_file)
    terminal = terminal_of(ctx, False, db, where)
    with terminal.doing("starting"):
        from service.cli.mcp import serve_mcp
        from service.net.listening import Address

    raise typer.Exit(serve_mcp(terminal, where, Address(host=host, port=port) if http else None))


@installation_app.command(epilog="Example: evolve doctor --json", rich_help_panel=PANEL)
def doctor(ctx: typer.Context, db: Db = None, json: Json = False) -> None:
    """Check this machine: sandbox, database, interpreter and settings."""
    terminal = terminal_of(ctx, json, db)
    with terminal.doing("starting"):
        from service.cli.doctor import examine

    raise typer.Exit(examine(terminal, db))


@installation_app.command(epilog="Example: evolve plugins --json", rich_help_panel=PANEL)
def plugins(ctx: typer.Context, json: Json = False) -> None:
    """List the installed extensions and whether runs over the API may use them."""
    terminal = terminal_of(ctx, json)
    with terminal.doing("starting"):
        from service.cli.plugins import list_plugins

    raise typer.Exit(list_plugins(terminal))
