"""Runs of the real command, in processes of their own or in this one, on problems made for the purpose."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.command_line import EVOLVE, Said, call_here
from tests.databases import sqlite_file
from tests.patience import PATIENCE_SECONDS

KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "OPENBLAS_NUM_THREADS")
PROBLEM = """
schema = 1
name = "{name}"
seeds = ["program.py"]

[evaluator]
file = "evaluator.py"
entry = "give"

[limits]
wall_seconds = {wall_seconds}
memory_mb = 128
processes = 8
disk_mb = 4
output_kb = 16

[[objectives]]
name = "value"

[search]
evaluations = {evaluations}
islands = 2
"""
SEED = "def give():\n    a = 1.5\n    b = 2.5\n    c = 0.25\n    return a * b - c\n"
EVALUATOR = """
def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    return {"value": outputs[0]["value"], "answer": outputs[0]["value"]}
"""


def make_problem(folder: Path, *, evaluations: int = 40, wall_seconds: float = 5.0) -> Path:
    folder.mkdir()
    text = PROBLEM.format(name=folder.name, evaluations=evaluations, wall_seconds=wall_seconds)
    (folder / "problem.toml").write_text(text)
    (folder / "program.py").write_text(SEED)
    (folder / "evaluator.py").write_text(EVALUATOR)
    return folder


class Evolve:
    """The command, with an empty database of its own in a home of its own; `before` are words before it."""

    def __init__(self, home: Path, before: Sequence[str] = ()) -> None:
        self.before = before
        self.url = sqlite_file(home / "runs.db")
        kept = {key: value for key, value in os.environ.items() if key in KEPT}
        self.environment = kept | {"HOME": str(home), "EVOLVE_DATABASE__URL": self.url, "EVOLVE_CANARY": "s3cret"}

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [*self.before, EVOLVE, *words]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment
        )

    def said(self, *words: str) -> Said:
        """What a command says until its end."""
        process = self.start(*words)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        return Said(code=process.returncode, out=out, err=err)

    def call(self, *words: str, code: int = 0) -> str:
        said = self.said(*words)
        assert said.code == code, f"exit {said.code}: {said.err}"
        assert "Traceback" not in said.err
        return said.out

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self.call(*words, "--json", code=code))

    def lines(self, *words: str, code: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.call(*words, code=code).splitlines()]


class EvolveHere(Evolve):
    """The command called in this process, where only what it does and says is asked for; `start` makes a process."""

    def said(self, *words: str) -> Said:
        return call_here(words, self.environment)


def essence(candidate: dict[str, Any]) -> dict[str, Any]:
    """What of an exported candidate must be equal in two equal runs: all but ids that hold the run's and times."""
    kept = (
        "proposal_number",
        "position",
        "status",
        "outcome",
        "island",
        "scores",
        "measures",
        "fitness",
        "files",
    )
    return {key: candidate[key] for key in kept if key in candidate}


def descendants_of(pid: int) -> set[int]:
    """Processes that descend from one, as far as /proc shows them."""
    parents = _parents()
    found: set[int] = set()
    wanted = {pid}
    while wanted:
        found |= wanted
        wanted = {child for child, parent in parents.items() if parent in wanted} - found
    return found - {pid}


def children_of(pid: int) -> set[int]:
    """Processes that one has started, and that have not been taken by another."""
    return {child for child, parent in _parents().items() if parent == pid}


def _parents() -> dict[int, int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    return parents
