"""Jobs that a program of the cluster takes from its standard input, such as `sbatch` and `kubectl`."""

import subprocess
from collections.abc import Sequence

from service.errors import ServiceError, UnreachableError, UsageError

TIMEOUT_SECONDS = 120.0  # a busy controller takes its time


def submit_job(command: Sequence[str], job: str) -> str:
    """Hand a job to a program of the cluster, whose complaints the user sees as they come.

    Args:
        command: the program and its words.
        job: the text of the job.

    Returns:
        The first line that the program prints: the name of the job.

    Raises:
        UsageError: this machine has no such program.
        UnreachableError: the program does not come back.
        ServiceError: the program refuses the job.
    """
    try:
        ended = subprocess.run(
            command, input=job, stdout=subprocess.PIPE, text=True, check=False, timeout=TIMEOUT_SECONDS
        )
    except (FileNotFoundError, PermissionError) as error:
        raise UsageError(
            f"{command[0]} cannot be started here: submit from a machine that has it, or print the job with --print"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise UnreachableError(
            f"{command[0]} did not answer within {TIMEOUT_SECONDS:g} s: is the job there?"
        ) from error
    if ended.returncode:
        raise ServiceError(f"{command[0]} refused the job (exit {ended.returncode}): its reason is above")
    return ended.stdout.strip().partition("\n")[0]
