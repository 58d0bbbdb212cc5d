"""No key of a problem's evaluator is dead: each changes what a run in the real sandbox comes to."""

import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from evolve.configuration import BudgetConfig, ConcurrencyConfig, RunConfig
from evolve.events import EventKind
from evolve.extensions import Extensions
from evolve.problem import EvaluatorSpec, Integrity, Objective, Problem
from evolve.program import Program
from evolve.proposal import Answer, CompletedReply, Proposal, Reply
from evolve.runtimes import with_runtime
from evolve.search.assessment import SearchScore, assess
from evolve.search.driver import Driver
from evolve.search.ensemble import EnsembleMember
from service.sandbox.evaluator import open_evaluator
from tests.integration.sandbox.bench import LIMITS

PROGRAM = """
import json, sys

def solve():
    return {value}

def negated():
    return -{value}

if __name__ == "__main__":
    print(json.dumps({value} + 0.5))
"""
EVALUATOR = """
import os, random, sys

def score(outputs, program):
    value = outputs[0]["value"]
    value = float(len(value)) if isinstance(value, str) else value
    seen = ("colorsys" in sys.modules) + readable("/etc/passwd") + os.environ["PATH"].startswith("/opt")
    return {"score": value + random.random() / 10 + 5 * seen}

def readable(path):
    try:
        return open(path).close() is None
    except PermissionError:
        return False

def holdout(outputs, program):
    return {"score": -1.0}

def evaluate(path):
    return {"score": 6.0}
"""
OTHER = "def score(outputs, program):\n    return {'score': 9.0}\n"
STAGED = """
def score_stage1(outputs, program):
    return {"score": 7.0}

def score_stage2(outputs, program):
    return {"score": 8.0}
"""
VALUES = (3.0, 1.0, 2.0)
REPEATED = {"repeats": 6, "min_repeats": 2}
# Of each key another value than the default's, and what else must be set for it to matter.
KEYS: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "file": ("other.py", {}),
    "integrity": (Integrity.SHARED, {}),
    "entry": ("negated", {}),
    "command": (("{python}", "main.py"), {"entry": ""}),
    "build": (("sh", "-c", "echo 'print(9.0)' > main.py"), {"entry": "", "command": ("{python}", "main.py")}),
    "runtime": ("python", {"entry": ""}),
    "text": (True, {"entry": ""}),
    "preload": (("colorsys",), {}),
    "read": (("/etc/passwd",), {}),
    "scorer_read": (("/etc/passwd",), {}),
    "path": (("/opt",), {}),
    "repeats": (3, {}),
    "min_repeats": (2, {"repeats": 6}),
    "repeats_confidence": (0.999999, REPEATED),
    "stage_thresholds": (({"score": 7.5},), {"file": "staged.py"}),
    "holdout": (True, {}),
    "audit": (2, {}),
    "audit_tolerance": (1e-6, {"audit": 2}),
    "lenient": (True, {"stage_thresholds": ({"score": 7.5},), "file": "staged.py"}),
}
# Looked at by `problem check`, on machines that lack them; the verifier checks a winner after its run. Warm-ups leave
# nothing in a result: test_outcomes counts them.
ELSEWHERE = {"python", "requirements", "verifier", "image", "warmups"}


class Scripted:
    """Answers with programs of given values, one a proposal."""

    name = "scripted"
    answers = samples = concurrency = 1

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        yield Answer(
            chain=0, index=0, text=PROGRAM.format(value=VALUES[proposal.number % len(VALUES)] + proposal.number / 100)
        )
        yield CompletedReply(completions=("",))


def project(folder: Path, spec: Mapping[str, Any]) -> Problem:
    folder.mkdir()
    (folder / "evaluator.py").write_text(EVALUATOR)
    (folder / "other.py").write_text(OTHER)
    (folder / "staged.py").write_text(STAGED)
    return Problem(
        name="keys",
        seeds=(Program.of({"main.py": PROGRAM.format(value=2.0)}),),
        evaluator=EvaluatorSpec(**{"entry": "solve", **spec}),
        objectives=(Objective(name="score", low=0.0, high=10.0),),
        limits=LIMITS,
    )


async def story(folder: Path, **spec: Any) -> list[object]:
    """What a short run tells of its evaluations, and what is found when it ends."""
    problem = with_runtime(project(folder, spec), Extensions())
    config = RunConfig(
        budget=BudgetConfig(evaluations=5), islands=1, concurrency=ConcurrencyConfig(policy=1, evaluations=1)
    )
    async with open_evaluator(problem, folder, 1, require=None) as evaluator:
        driver = Driver(
            "run_keys", problem, config, [EnsembleMember(policy=Scripted())], evaluator, monotonic=time.monotonic
        )
        result = await driver.run()
    scored = [
        {key: event.payload[key] for key in ("outcome", "scores", "repeats") if key in event.payload}
        for event in result.events
        if event.kind in {EventKind.CANDIDATE_EVALUATED, EventKind.HOLDOUT_SCORED, EventKind.AUDIT_SCORED}
    ]
    worths = {
        event.payload["candidate_id"]: SearchScore(fitness=event.payload["fitness"], scores=event.payload["scores"])
        for event in result.events
        if event.kind is EventKind.CANDIDATE_EVALUATED
    }
    found = assess(result.events, worths, problem.objectives)
    return [scored, found is not None and found.audit is not None and found.audit.holds]


def test_every_key_is_tried() -> None:
    assert {entry.name for entry in fields(EvaluatorSpec)} == {*KEYS, *ELSEWHERE}


@pytest.mark.parametrize("key", KEYS)
async def test_a_key_of_the_evaluator_changes_what_comes_of_a_run(tmp_path: Path, key: str) -> None:
    value, others = KEYS[key]
    base = others if others.get("command") else {**others, "entry": "solve"}
    assert await story(tmp_path / "changed", **others, **{key: value}) != await story(tmp_path / "base", **base)
