"""What candidates over a git repository cost: `python -m benchmarks.repository_storage`.

A repository is made: data that does not compress, many small modules, and one module that may change. `evolve run`
scores its commit, and then 1,000 candidates of a second run over it, into one SQLite database. Its size is that of the
file after both, with nothing in the write-ahead log.
"""

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import arguments, report, scratch

MEGABYTE = 10**6
DATA_FILES, SMALL_FILES, SMALL_BYTES = 45, 1_000, 5_000
LIBRARY = '''\
"""The part of the library that may change."""

{constants}


def value(x):
    return {terms}
'''
BENCH = "from library.core import value\n\nprint('loss:', sum(abs(value(x / 10) - x) for x in range(10)))\n"
PROBLEM = """\
schema = 1
name = "repository-storage"

[repository]
path = "repository"
mutable = ["library/core.py"]
evaluate = "python bench.py"

[[objectives]]
name = "loss"
direction = "minimize"
"""
GIT = ["git", "-c", "user.name=Benchmark", "-c", "user.email=benchmark@example.org"]


def make_repository(folder: Path, megabytes: int) -> None:
    """A repository with one commit of so many megabytes."""
    draw = random.Random(0)
    small = SMALL_FILES * SMALL_BYTES
    size = (megabytes * MEGABYTE - small) // DATA_FILES
    for name in ("data", "library", "modules"):
        (folder / name).mkdir(parents=True)
    for number in range(DATA_FILES):
        (folder / "data" / f"{number}.bin").write_bytes(draw.randbytes(size))
    for number in range(SMALL_FILES):
        (folder / "modules" / f"module_{number}.py").write_text(f"TEXT = '{draw.randbytes(SMALL_BYTES // 2).hex()}'\n")
    constants = "\n".join(f"C{number} = {draw.uniform(-2, 2):.3f}" for number in range(12))
    terms = " + ".join(f"C{number} * x**{number % 4}" for number in range(12))
    (folder / "library" / "core.py").write_text(LIBRARY.format(constants=constants, terms=terms))
    (folder / "bench.py").write_text(BENCH)
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "The library"]):
        subprocess.run([*GIT, *words], cwd=folder, check=True)


def searched(home: Path, evaluations: int, workers: int) -> dict[str, Any]:
    """Run a search, and tell its evaluations, seconds and the size of the database afterwards."""
    database = home / "evolve.db"
    command = [
        sys.executable, "-m", "service.cli.main", "run", str(home / "problem"), "--json", "--seed", "1",
        "--db", f"sqlite:///{database}", "--workers", str(workers), "--evaluations", str(evaluations),
    ]  # fmt: skip
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "PYTHONPATH") if key in os.environ}
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=kept | {"HOME": str(home)}, check=False)
    seconds = time.monotonic() - start
    if done.returncode:
        raise SystemExit(f"evolve run failed: {done.stderr[-2000:]}")
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return {
        "evaluations": kinds.count("candidate.evaluated"),
        "seconds": round(seconds, 1),
        "database_megabytes": round(database.stat().st_size / MEGABYTE, 1),
        "database_bytes": database.stat().st_size,
    }


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--megabytes", type=int, default=50, help="of the commit")
    parser.add_argument("--workers", type=int, default=2, help="evaluations at once")
    options = parser.parse_args()
    with scratch() as name:
        home = Path(name)
        home.chmod(0o755)
        make_repository(home / "problem" / "repository", options.megabytes)
        (home / "problem" / "problem.toml").write_text(PROBLEM)
        before = searched(home, 1, options.workers)
        after = searched(home, options.candidates, options.workers)
    grown = after["database_bytes"] - before["database_bytes"]
    figures = {
        "repository_megabytes": options.megabytes,
        "before": before,
        "after": after,
        "bytes_per_candidate": round(grown / after["evaluations"]),
        "seconds_per_evaluation": round(after["seconds"] / after["evaluations"], 3),
    }
    report("repository_storage", figures, options.out)


if __name__ == "__main__":
    main()
