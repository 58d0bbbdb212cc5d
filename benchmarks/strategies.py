"""Strategies against each other at equal budgets: `python -m benchmarks.strategies`.

`islands`, `best_of_n` and `sequential` search on shipped examples with the built-in syntax mutator, each with the same
seeds, as `evolve run` does it; `evolve compare` says which is ahead, with its intervals over the seeds. The problems
are those of `benchmarks.tasks`. It takes half an hour or more: with `--keep` the databases stay, and a run that stands
there is not made again.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import arguments, report
from benchmarks.tasks import EXAMPLES, PROBLEMS

STRATEGIES = ("islands", "best_of_n", "sequential")
EVOLVE = (sys.executable, "-m", "service.cli.main")


def run(example: str, strategy: str, seed: int, evaluations: int, database: str) -> str:
    """One run to its end; gives its id."""
    words = ["--set", f"strategy={strategy}", "--set", "budget.wall_seconds=none", "--set", "budget.patience=none"]
    words += ["--seed", str(seed), "--evaluations", str(evaluations), "--db", database]
    return str(_lines(["run", str(EXAMPLES / example), *words])[-1]["run_id"])


def made(path: Path, evaluations: int) -> dict[tuple[str, int], str]:
    """Ids of the runs that stand in a database and were given so many evaluations, by strategy and seed."""
    runs = _lines(["runs", "--limit", "1000000", "--db", f"sqlite:///{path}"]) if path.exists() else []
    whole = [
        one for one in runs if one["state"] == "succeeded" and one["config"]["budget"]["evaluations"] == evaluations
    ]
    return {(one["config"]["strategy"], one["config"]["seed"]): one["run_id"] for one in whole}


def compared(runs: Sequence[str], budgets: Sequence[int], database: str) -> dict[str, Any]:
    """What `evolve compare` says of runs by their strategies: where each came to, and how far each was ahead."""
    at = ",".join(map(str, budgets))
    (found,) = _lines(["compare", *runs, "--by", "strategy", "--at", at, "--db", database])
    levels = {group["name"]: group["levels"] for group in found["groups"]}
    return {"levels": levels, "leads": found["leads"], "notes": found["notes"]}


def _lines(words: Sequence[str]) -> list[dict[str, Any]]:
    done = subprocess.run([*EVOLVE, *words, "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"evolve {words[0]} failed: {done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budgets", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--keep", type=Path, help="a folder for the databases; else they are temporary")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    evaluations = max(options.budgets)
    with tempfile.TemporaryDirectory(prefix="evolve-benchmark-") as scratch:
        folder = (options.keep or Path(scratch)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        for example in options.problems:
            path = folder / f"{example}.db"
            database, known = f"sqlite:///{path}", made(path, evaluations)
            runs = [
                known.get((strategy, seed)) or run(example, strategy, seed, evaluations, database)
                for seed in range(options.seeds)
                for strategy in STRATEGIES
            ]
            figures[example] = compared(runs, options.budgets, database)
    report("strategies", {"seeds": options.seeds, "budgets": options.budgets, "problems": figures}, options.out)


if __name__ == "__main__":
    main()
