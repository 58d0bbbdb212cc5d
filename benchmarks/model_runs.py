"""Whole runs on a real model: Evolve and OpenEvolve on one project, each until it has drawn the same output tokens."""

import json
import re
import shutil
import statistics
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.openevolve import VERSION
from benchmarks.peers import run_peer

PROJECT = Path("examples/openevolve_function")
GENERATED = "vllm:generation_tokens_total"
LIMIT_SECONDS = 1800.0
MANY = 100_000
_SCORE = re.compile(r"combined_score=([0-9]+\.[0-9]+)")
_CONFIG = """
max_iterations: {many}
random_seed: {seed}
diff_based_evolution: {diff}
prompt:
  system_message: "You improve a search for the lowest point of a bumpy function of two variables within 1000 calls."
llm:
  api_base: "{url}"
  api_key: none
  models: [{{name: {model}, weight: 1.0}}]
  temperature: {temperature}
  max_tokens: {max_tokens}
  timeout: 600
evaluator:
  timeout: 10
  cascade_thresholds: [0.2]
  parallel_evaluations: {parallel}
"""
_POLICY = """
[[policies]]
name = "model"
base_url = "{url}"
model = "{model}"
samples = 8
concurrency = 1
temperature = {temperature}
max_tokens = {max_tokens}
{form}
"""
# Ways in which Evolve asks, as keys of its policy file: one program a completion, the rest of one, and what it chooses.
FORMS = {
    "rewrite, m = 1": 'edits = "rewrite"\nanswers = 1',
    "continue": 'edits = "continue"',
    "the form that it chooses": "",
}
PARALLEL = 8


def generated(url: str) -> float:
    """Output tokens that a vLLM has written so far."""
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/metrics", timeout=30) as response:
        lines = response.read().decode().splitlines()
    found = [float(line.rpartition(" ")[2]) for line in lines if line.startswith(GENERATED)]
    if not found:
        raise SystemExit(f"{url} gives no {GENERATED}: whole runs need a vLLM, or --runs 0")
    return sum(found)


def enough_of(url: str, tokens: int) -> Callable[[], bool]:
    until = generated(url) + tokens
    return lambda: generated(url) >= until


def run_openevolve(python: Path, sampling: Any, folder: Path, seed: int, tokens: int, *, diff: bool) -> float:
    shutil.copytree(PROJECT, folder)
    more = {"url": sampling.url, "model": sampling.model, "temperature": sampling.temperature}
    config = _CONFIG.format(
        many=MANY, seed=seed, diff=str(diff).lower(), max_tokens=sampling.max_tokens, parallel=PARALLEL, **more
    )
    (folder / "config.yaml").write_text(config)
    command = [
        str(python), "-m", "openevolve.cli", str(folder / "initial_program.py"), str(folder / "evaluator.py"),
        "--config", str(folder / "config.yaml"), "--output", str(folder / "output"), "--iterations", str(MANY),
    ]  # fmt: skip
    log = folder / "log.txt"
    run_peer(command, log, LIMIT_SECONDS, enough_of(sampling.url, tokens))
    return best_of(_SCORE.findall(log.read_text(errors="replace")), log)


def run_evolve(sampling: Any, folder: Path, seed: int, tokens: int, form: str) -> float:
    folder.mkdir()
    more = {"url": sampling.url, "model": sampling.model, "temperature": sampling.temperature}
    policy = _POLICY.format(form=form, max_tokens=sampling.max_tokens, **more)
    (folder / "policy.toml").write_text(policy)
    command = [
        str(Path(sys.executable).with_name("evolve")), "run", str(PROJECT), "--policy", str(folder / "policy.toml"),
        "--evaluations", str(MANY), "--seed", str(seed), "--db", f"sqlite:///{folder / 'runs.db'}", "--json",
    ]  # fmt: skip
    log = folder / "log.txt"
    run_peer(command, log, LIMIT_SECONDS, enough_of(sampling.url, tokens))
    return best_of(list(_fitnesses(log)), log)


def _fitnesses(log: Path) -> Iterator[float]:
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("{") and line.endswith("}"):
            event = json.loads(line)
            if event.get("kind") == "candidate.evaluated" and event.get("fitness") is not None:
                yield event["fitness"]


def best_of(scores: list[Any], log: Path) -> float:
    if not scores:
        raise SystemExit(f"No program was scored: {log.read_text(errors='replace')[-2000:]}")
    return max(float(score) for score in scores)


def compare_runs(python: Path, sampling: Any, home: Path, seeds: int, tokens: int) -> list[dict[str, Any]]:
    """Best score of each system over the seeds, in turn, after equal output tokens."""
    best: dict[str, list[float]] = {}
    for seed in range(1, seeds + 1):
        for diff in (False, True):
            title = f"OpenEvolve {VERSION}, {'diff' if diff else 'rewrite'}"
            score = run_openevolve(python, sampling, home / f"their{seed}{diff}", seed, tokens, diff=diff)
            best.setdefault(title, []).append(score)
        for place, (title, form) in enumerate(FORMS.items()):
            score = run_evolve(sampling, home / f"our{seed}{place}", seed, tokens, form)
            best.setdefault(f"Evolve, {title}", []).append(score)
        sys.stderr.write(f"{best}\n")
    return [
        {"system": title, "output_tokens": tokens, "best": scores, "mean_best": round(statistics.mean(scores), 4)}
        for title, scores in best.items()
    ]
