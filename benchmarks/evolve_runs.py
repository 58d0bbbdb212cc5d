"""`evolve run` for benchmarks: its command line on a problem, with policies that a server answers for."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.policy_server import ANSWERS

TUNER = '[[policies]]\nname = "tuner"\nkind = "tuner"\n'
ADAPTIVE = "policy_choice=adaptive"  # so that a run finds out how often the tuner pays
_SERVED = """
[[policies]]
name = "mutator"
kind = "openai"
base_url = "{url}"
model = "{model}"
format = "{format}"
answers = {answers}
samples = 1
concurrency = {cores}
"""


def served(url: str, cores: int, model: str = "single", *, tuner: bool = False) -> str:
    """A policy file: a model of the policy server, and beside it the tuner.

    Args:
        cores: calls at once.
        model: `single` writes one program a call, `chain` four.
    """
    form = "single" if model == "single" else "tags:answer"
    text = _SERVED.format(url=url, model=model, format=form, answers=ANSWERS[model], cores=cores)
    return f"{text}\n{TUNER}" if tuner else text


def run_evolve(
    project: Path, policies: str, seed: int, cores: int, words: Sequence[str], limit_seconds: float
) -> list[float]:
    """The fitness of every evaluation of a run in order, the seed's first; 0 for those that failed.

    Args:
        project: the problem; the database and the policy file are written beside it.
        policies: text of the policy file.
        cores: evaluations at once.
        words: further words of the command.

    Raises:
        TimeoutExpired: it took longer than its limit.
    """
    home = project.parent
    (home / "policy.toml").write_text(policies)
    command = [
        sys.executable, "-m", "service.cli.main", "run", str(project), "--json", "--seed", str(seed),
        "--db", f"sqlite:///{home / 'evolve.db'}", "--workers", str(cores), "--policy", str(home / "policy.toml"),
        *(("--set", ADAPTIVE) if TUNER in policies else ()), *words,
    ]  # fmt: skip
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "PYTHONPATH") if key in os.environ}
    done = subprocess.run(command, capture_output=True, text=True, env=kept, timeout=limit_seconds, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    scores = [line["fitness"] or 0.0 for line in lines if line["kind"] == "candidate.evaluated"]
    if not scores:
        raise SystemExit(f"evolve run evaluated nothing: {done.stderr[-2000:]}")
    return scores
