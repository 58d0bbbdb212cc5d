"""The commands `evolve workers launch`: workers of a service, started on a cluster."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from service.bootstrap.workers import check_pool
from service.cli.formatting import plural
from service.cli.terminal import Terminal
from service.client.address import checked_address
from service.client.key_file import key_in
from service.errors import UsageError
from service.launchers import kubernetes, slurm
from service.launchers.job_submission import submit_job
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
