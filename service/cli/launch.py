"""The commands `evolve workers launch`: workers of a service, started on a cluster."""

import os
import shlex
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import yaml
from pydantic import SecretStr

from service.bootstrap.workers import check_pool
from service.cli.exit_codes import INTERRUPTED
from service.cli.formatting import plural
from service.cli.terminal import Terminal
from service.client.address import checked_address
from service.client.key_file import key_in
from service.errors import UsageError
from service.launchers import kubernetes, slurm
from service.launchers.dask import connect_dask
from service.launchers.job_submission import submit_job
from service.launchers.ray import connect_ray
from service.launchers.replicas import Cluster, ClusterWorker, Replicas
from service.launchers.worker_command import WorkerCommand


def worker_command(server: str, slots: int, pool: str) -> WorkerCommand:
    """A worker that will not refuse its own words.

    Raises:
        UsageError: the address or the name of the pool is wrong.
    """
    check_pool(pool)
    checked_address(server, allow_http=False)
    return WorkerCommand(server=server, slots=slots, pool=pool)


def launch_on_slurm(
    terminal: Terminal,
    command: WorkerCommand,
    workers: int,
    key_file: Path,
    evolve: str | None,
    options: Sequence[str],
    *,
    print_only: bool,
) -> None:
    """Submit an array job, and print its number."""
    key_in(key_file)
    start = shlex.split(evolve) if evolve else [str(Path(sys.executable).with_name("evolve"))]
    if not start:
        raise UsageError("--evolve is empty: name the command that starts evolve on the nodes")
    job = slurm.array_job(command, workers, str(key_file.expanduser().absolute()), start)
    if print_only:
        terminal.write(job)
        return
    number = submit_job([*slurm.SUBMIT, *options], job).partition(";")[0]
    terminal.write(f"{number}\n")
    terminal.note(f"{plural(workers, 'worker')} submitted to Slurm. Drain and end them with: scancel {number}")


def launch_on_kubernetes(
    terminal: Terminal,
    command: WorkerCommand,
    workers: int,
    image: str,
    secret: str,
    options: Sequence[str],
    *,
    print_only: bool,
) -> None:
    """Create a Job, and print its name."""
    job = yaml.safe_dump(kubernetes.worker_job(command, workers, image=image, secret=secret), sort_keys=False)
    if print_only:
        terminal.write(job)
        return
    name = submit_job([*kubernetes.SUBMIT, *options], job)
    terminal.write(f"{name}\n")
    terminal.note(f"{plural(workers, 'worker')} given to Kubernetes. Drain and end them with: kubectl delete {name}")


def launch_on_ray(terminal: Terminal, command: WorkerCommand, workers: int, key_file: Path, address: str) -> None:
    """Keep workers alive on Ray until a signal drains them."""
    key = SecretStr(key_in(key_file))
    _keep(terminal, connect_ray(address, command, key), command, workers)


def launch_on_dask(terminal: Terminal, command: WorkerCommand, workers: int, key_file: Path, address: str) -> None:
    """Keep workers alive on Dask until a signal drains them."""
    key = SecretStr(key_in(key_file))
    _keep(terminal, connect_dask(address, command, key), command, workers)


def _keep(
    terminal: Terminal,
    connecting: AbstractContextManager[Cluster[ClusterWorker]],
    command: WorkerCommand,
    workers: int,
) -> None:
    stop = threading.Event()

    def hear(*_: object) -> None:
        if stop.is_set():
            os.write(2, b"\nevolve: quit. Other workers take over the unfinished evaluations\n")
            os._exit(INTERRUPTED)
        stop.set()
        os.write(2, b"Draining. Started evaluations finish, and the workers end. Press Ctrl-C again to quit now.\n")

    with connecting as cluster:
        for number in (signal.SIGINT, signal.SIGTERM):  # after the library has set its own
            signal.signal(number, hear)
        terminal.note(
            f"keeping {plural(workers, 'worker')} with {plural(command.slots, 'slot')} each alive."
            " Press Ctrl-C to drain them",
            style="dim",
        )
        Replicas(cluster, terminal.note).run(workers, stop)
