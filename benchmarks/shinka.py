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
"""Has the process that holds the evaluator score a program for a task; imports little, as each program starts it."""

import _socket
import os
import sys

arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
line = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
line.connect({address!r})
os.makedirs(arguments["--results_dir"], exist_ok=True)
line.sendall(f"{{arguments['--program_path']}}\\n{{arguments['--results_dir']}}\\n".encode())
sys.exit(not line.recv(1))
'''

_COMMAND = '''
"""The command of ShinkaEvolve, without what takes it the longer, the more programs a run has, and changes no search.

Its database repairs the times of all programs each time it is opened, adds up their costs for the log each time it
chooses a parent, and looks through them all for the name of a job.
"""

import os
import sys

from shinka.cli.run import main
from shinka.database.dbase import ProgramDatabase
from shinka.database.display import DatabaseDisplay

JOBS = """
CREATE INDEX IF NOT EXISTS jobs ON programs (json_extract(metadata, '$.source_job_id')) WHERE json_valid(metadata)
"""
migrate, migrated = ProgramDatabase._run_migrations, set()


def migrate_once(database):
    if database.config.db_path not in migrated:
        migrated.add(database.config.db_path)
        migrate(database)
        database.cursor.execute(JOBS)
        database.conn.commit()


ProgramDatabase._run_migrations = migrate_once
DatabaseDisplay.print_sampling_summary = lambda *arguments, **options: None
os.environ["SSL_CERT_DIR"] = sys.prefix  # no certificates to load for each call: they are made without TLS
sys.exit(main())
'''
_SERVE = '''
"""Holds the evaluator of a project, and scores a program in a fork for each connection, until its input ends."""

import json
import os
import select
import signal
import socket
import sys
from pathlib import Path

sys.path.insert(0, {project!r})
import evaluator

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
server = socket.socket(fileno={descriptor})
while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
    line, _ = server.accept()
    with line:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the evaluator waits for a fork of its own
            lines = line.makefile()
            program, results = (Path(lines.readline().rstrip("\\n")) for _ in range(2))
            combined, error = evaluator.examine(program)
            metrics = dict(combined_score=combined, public=dict(), private=dict())
            (results / "metrics.json").write_text(json.dumps(metrics))
            (results / "correct.json").write_text(json.dumps(dict(correct=error is None, error=error)))
            line.sendall(b"1")
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
        str(python), "-c", _COMMAND, "--task-dir", str(task), "--results_dir", str(output / "results"),
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
