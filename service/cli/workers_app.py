"""The commands `evolve workers`; what a command does is imported when it is called."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.options import HELP, terminal_of

if TYPE_CHECKING:
    from service.launchers.worker_command import WorkerCommand

workers_app = typer.Typer(help="Start workers on a cluster.", context_settings=HELP, no_args_is_help=True)
launch_app = typer.Typer(help="Start workers on a cluster.", context_settings=HELP, no_args_is_help=True)
workers_app.add_typer(launch_app, name="launch")

WorkerServer = Annotated[
    str, typer.Option("--server", metavar="URL", help="URL of the service, as the machines reach it.")
]
WorkerKey = Annotated[
    Path,
    typer.Option("--api-key-file", metavar="FILE", help="File with an API key of the scope evaluations:lease."),
]
WorkerCount = Annotated[int, typer.Option("--workers", min=1, max=100_000, metavar="N", help="Number of workers.")]
WorkerSlots = Annotated[
    int, typer.Option("--slots", min=1, max=1024, metavar="N", help="Cores and concurrent evaluations of a worker.")
]
WorkerPool = Annotated[str, typer.Option("--pool", metavar="NAME", help="Take tasks of this pool.")]
PrintOnly = Annotated[bool, typer.Option("--print", help="Print the job instead of submitting it.")]


@launch_app.command(
    epilog="Example: evolve workers launch slurm --server https://evolve.example --api-key-file worker.key"
    " --workers 50 --slots 8 -- --time=12:00:00"
)
def slurm(
    ctx: typer.Context,
    server: WorkerServer,
    api_key_file: WorkerKey,
    workers: WorkerCount = 1,
    slots: WorkerSlots = 1,
    pool: WorkerPool = "cpu",
    evolve: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Command that starts evolve on the nodes.", show_default="this one"),
    ] = None,
    print_only: PrintOnly = False,
    options: Annotated[list[str] | None, typer.Argument(metavar="-- OPTION", help="Further options of sbatch.")] = None,
) -> None:
    """Submit an array job to Slurm whose tasks are workers."""
    terminal = terminal_of(ctx, as_json=False)
    from service.cli.launch import launch_on_slurm

    command = _command(server, slots, pool)
    launch_on_slurm(terminal, command, workers, api_key_file, evolve, options or [], print_only=print_only)


@launch_app.command(
    epilog="Example: evolve workers launch kubernetes --server https://evolve.example --image evolve:0.1.0"
    " --workers 20 --slots 4 -- --namespace evolve-workers"
)
def kubernetes(
    ctx: typer.Context,
    server: WorkerServer,
    image: Annotated[str, typer.Option(metavar="IMAGE", help="Image that holds Evolve.")],
    secret: Annotated[
        str, typer.Option(metavar="NAME", help="Secret whose entry `key` is an API key of the scope evaluations:lease.")
    ] = "evolve-worker-key",  # noqa: S107 - the name of a Secret, and none itself
    workers: WorkerCount = 1,
    slots: WorkerSlots = 1,
    pool: WorkerPool = "cpu",
    print_only: PrintOnly = False,
    options: Annotated[
        list[str] | None, typer.Argument(metavar="-- OPTION", help="Further options of kubectl create.")
    ] = None,
) -> None:
    """Create a Job on Kubernetes whose pods are workers."""
    terminal = terminal_of(ctx, as_json=False)
    from service.cli.launch import launch_on_kubernetes

    command = _command(server, slots, pool)
    launch_on_kubernetes(terminal, command, workers, image, secret, options or [], print_only=print_only)


@launch_app.command(
    epilog="Example: evolve workers launch ray --server https://evolve.example --api-key-file worker.key --workers 20"
    " --slots 4"
)
def ray(
    ctx: typer.Context,
    server: WorkerServer,
    api_key_file: WorkerKey,
    address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Ray cluster, as ray.init takes it, such as ray://HEAD:10001.")
    ] = "auto",
    workers: WorkerCount = 1,
    slots: WorkerSlots = 1,
    pool: WorkerPool = "cpu",
) -> None:
    """Keep workers alive as actors of a Ray cluster, until a signal drains them."""
    terminal = terminal_of(ctx, as_json=False)
    with terminal.doing("connecting"):
        from service.cli.launch import launch_on_ray

    launch_on_ray(terminal, _command(server, slots, pool), workers, api_key_file, address)


@launch_app.command(
    epilog="Example: evolve workers launch dask --address tcp://HEAD:8786 --server https://evolve.example"
    " --api-key-file worker.key --workers 20 --slots 4"
)
def dask(
    ctx: typer.Context,
    server: WorkerServer,
    api_key_file: WorkerKey,
    address: Annotated[str, typer.Option(metavar="URL", help="Scheduler of the Dask cluster.")],
    workers: WorkerCount = 1,
    slots: WorkerSlots = 1,
    pool: WorkerPool = "cpu",
) -> None:
    """Keep workers alive as actors of a Dask cluster, until a signal drains them."""
    terminal = terminal_of(ctx, as_json=False)
    with terminal.doing("connecting"):
        from service.cli.launch import launch_on_dask

    launch_on_dask(terminal, _command(server, slots, pool), workers, api_key_file, address)


def _command(server: str, slots: int, pool: str) -> "WorkerCommand":
    from service.cli.launch import worker_command

    return worker_command(server, slots, pool)
