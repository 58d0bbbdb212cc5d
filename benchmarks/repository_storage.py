"""Disk and time of a run over a large git repository: `python -m benchmarks.repository_storage`.

A repository of `--megabytes` is made of random data and small source files. A run evaluates `--candidates` programs of
the built-in mutator over it, in the sandbox. Told are the size of the database, the part of it that is the commit, the
rest for each candidate, and the time of an evaluation.
"""

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import arguments, report, scratch

SOURCES, SOURCE_LINES, DATA_BYTES = 200, 300, 1 << 20
PROBLEM = """\
schema = 1
name = "large"

[repository]
path = "repository"
mutable = ["src/**/*.py"]
evaluate = "wc -c src/part_0/module_0.py"

[search]
seed = 1

[[objectives]]
name = "size"
direction = "minimize"
"""


def make_repository(folder: Path, megabytes: int) -> int:
    """Write and commit the files; their bytes."""
    rng = random.Random(0)
    for number in range(SOURCES):
        path = folder / "src" / f"part_{number % 10}" / f"module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"value_{line} = {rng.random():.6f} * {line}\n" for line in range(SOURCE_LINES)))
    (folder / "data").mkdir()
    sources = sum(path.stat().st_size for path in folder.rglob("*.py"))
    for number in range(max(0, (megabytes * 1_000_000 - sources) // DATA_BYTES)):
        (folder / "data" / f"{number}.bin").write_bytes(rng.randbytes(DATA_BYTES))
    who = ["-c", "user.name=Benchmark", "-c", "user.email=benchmark@example.org"]
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "base"]):
        subprocess.run(["git", *who, *words], cwd=folder, check=True)
    return sum(path.stat().st_size for part in ("src", "data") for path in (folder / part).rglob("*") if path.is_file())


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--candidates", type=int, default=1000)
    given = parser.parse_args()
    with scratch() as folder:
        place = Path(folder)
        (place / "problem").mkdir()
        size = make_repository(place / "problem" / "repository", given.megabytes)
        (place / "problem" / "problem.toml").write_text(PROBLEM)
        database = place / "run.db"
        words = [sys.executable, "-m", "service.cli.main", "run", str(place / "problem"), "--yes", "--json"]
        began = time.perf_counter()
        subprocess.run(
            [*words, "--evaluations", str(given.candidates), "--db", f"sqlite:///{database}"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - began
        report("repository_storage", _measured(database, size, seconds), given.out)


def _measured(database: Path, size: int, seconds: float) -> dict[str, Any]:
    with sqlite3.connect(database) as connection:
        (candidates,) = connection.execute("SELECT count(*) FROM candidates").fetchone()
        (programs,) = connection.execute("SELECT sum(length(files)) FROM programs").fetchone()
        (bundle,) = connection.execute("SELECT sum(length(content)) FROM bundles").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = database.stat().st_size
    return {
        "repository_mb": round(size / 1e6, 1),
        "candidates": candidates,
        "database_mb": round(whole / 1e6, 1),
        "commit_mb": round(bundle / 1e6, 1),
        "kb_per_candidate": round((whole - bundle) / 1e3 / candidates, 2),
        "program_kb_per_candidate": round(programs / 1e3 / candidates, 2),
        "copies_would_be_gb": round(size * candidates / 1e9, 1),
        "seconds_per_evaluation": round(seconds / candidates, 3),
    }


if __name__ == "__main__":
    main()
