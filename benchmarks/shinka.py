"""ShinkaEvolve for benchmarks: its command line on a task made of a project of OpenEvolve."""

import json
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers import environment, run_peer
from benchmarks.tasks import scores_of

VERSION = "0.0.7"
START, END = "# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END"  # outside of them it changes nothing
_EVALUATE = '''
"""Has the process that holds the evaluator score a program, and writes what is expected of a task."""

import argparse
import json
import socket
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--program_path", required=True)
parser.add_argument("--results_dir", required=True)
options = parser.parse_args()
with socket.create_connection({address!r}) as line:
    line.sendall(f"{{options.program_path}}\\n".encode())
    combined, error = json.load(line.makefile())
results = Path(options.results_dir)
results.mkdir(parents=True, exist_ok=True)
results.joinpath("metrics.json").write_text(json.dumps({{"combined_score": combined, "public": {{}}, "private": {{}}}}))
results.joinpath("correct.json").write_text(json.dumps({{"correct": error is None, "error": error}}))
'''


_SERVE = '''
"""Holds the evaluator of a project, and scores a program in a fork for each connection, until its input ends."""

import json
import os
import select
import signal
import socket
import sys

sys.path.insert(0, {project!r})
import evaluator

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
server = socket.socket(fileno={descriptor})
while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
    line, _ = server.accept()
    with line:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the evaluator waits for a fork of its own
            path = line.makefile().readline().rstrip("\\n")
            line.sendall(json.dumps(evaluator.examine(path)).encode())
            os._exit(0)
'''


def install_shinka(folder: Path) -> Path:
    """The interpreter of an environment that holds ShinkaEvolve."""
    return environment(folder, "shinka-evolve", VERSION)


def run_shinka(
    python: Path, project: Path, url: str, output: Path, evaluations: int, jobs: int, limit_seconds: float,
    enough: Callable[[], bool],
) -> bool:  # fmt: skip
    """Search on a project for so many evaluations beside the seed's: whole programs, no embeddings; else its defaults.

    Gives whether it ended before its limit.

    Args:
        jobs: calls of the policy, and evaluations, at once.
        enough: whether the run has found what it was to find; then it is stopped.
    """
    task = output / "task"
    task.mkdir(parents=True)
    seed = (project / "initial_program.py").read_text()
    (task / "initial.py").write_text(seed if START in seed else f"{START}\n{seed}{END}\n")
    chosen = {
        "evo.llm_models": json.dumps([f"local/single@{url}"]),
        "evo.patch_types": json.dumps(["full", "cross"]),  # its share of the two; edits are no whole programs
        "evo.patch_type_probs": json.dumps([0.75, 0.25]),
        "evo.embedding_model": "none",
    }
    command = [
        str(python.parent / "shinka_run"), "--task-dir", str(task), "--results_dir", str(output / "results"),
        "--num_generations", str(evaluations + 1), "--max-evaluation-jobs", str(jobs),
        "--max-proposal-jobs", str(jobs), "--no-verbose",
        *(word for key, value in chosen.items() for word in ("--set", f"{key}={value}")),
    ]  # fmt: skip
    with _evaluator(python, project) as address:
        (task / "evaluate.py").write_text(_EVALUATE.format(address=address))
        return run_peer(command, output / "log.txt", limit_seconds, enough).in_time


@contextmanager
def _evaluator(python: Path, project: Path) -> Iterator[tuple[str, int]]:
    """Where a process scores programs: ShinkaEvolve starts an interpreter for each, which loads no evaluator then."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = _SERVE.format(project=str(project), descriptor=server.fileno())
        words = [str(python), "-c", script]
        with subprocess.Popen(words, stdin=subprocess.PIPE, pass_fds=[server.fileno()]):  # leaving ends its input
            yield server.getsockname()


def evaluated(project: Path, output: Path) -> list[float]:
    """The scores of a run in order, the seed's first.

    Raises:
        SystemExit: it evaluated nothing but the seed.
    """
    scores = scores_of(project)
    if len(scores) < 2:
        log = (output / "log.txt").read_text(errors="replace")
        raise SystemExit(f"ShinkaEvolve evaluated nothing: {log[-2000:]}")
    return scores
