"""Slurm: the workers are the tasks of an array job, which `sbatch` takes from its standard input."""

import shlex
from collections.abc import Sequence

from service.launchers.worker_command import WorkerCommand

SUBMIT = ("sbatch", "--parsable")


def array_job(command: WorkerCommand, workers: int, key_file: str, evolve: Sequence[str]) -> str:
    """The script of an array job. Options of `sbatch` win over those within it.

    A task that loses its node, or is preempted, waits in the queue again. The shell becomes the worker, so that the
    worker itself hears of `scancel` and of the time limit.

    Args:
        command: the worker.
        workers: how many.
        key_file: the file with the worker's key, as the nodes see it.
        evolve: what starts `evolve` on the nodes.
    """
    return "\n".join(
        [
            "#!/bin/sh",
            "#SBATCH --job-name=evolve-worker",
            f"#SBATCH --array=0-{workers - 1}",
            "#SBATCH --nodes=1",
            f"#SBATCH --cpus-per-task={command.slots}",
            "#SBATCH --requeue",
            "#SBATCH --open-mode=append",
            f"exec {shlex.join([*evolve, *command.words(key_file)])}",
            "",
        ]
    )
