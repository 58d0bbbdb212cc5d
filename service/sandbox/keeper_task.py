"""What a keeper is told of one scoring of a program."""

import hashlib
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from evolve.evaluation import ScoringRequest
from evolve.problem import Direction, Integrity, Problem
from evolve.program import Program


def scoring_task(
    problem: Problem,
    program: Program,
    evaluation_id: str,
    scoring: ScoringRequest,
    repeat: int,
    *,
    inputs: str,
    links: Sequence[str],
) -> dict[str, Any]:
    """The task of scoring or drawing a program once.

    Args:
        problem: how it is scored.
        program: what is scored.
        evaluation_id: names the evaluation.
        scoring: what is wanted beside what the problem says.
        repeat: which of the repeats it is, from 0.
        inputs: the file with the evaluator's inputs; empty: there are none.
        links: files of the repository's base that are laid out as links.
    """
    spec = problem.evaluator
    shared = spec.integrity is Integrity.SHARED
    return {
        "id": evaluation_id,
        "do": "score" if scoring.render or not shared else "evaluate",
        "function": "render" if scoring.render else "holdout" if scoring.holdout else "score",
        "files": dict(program.files),
        "main": main_file(program, problem),
        "entry": spec.entry,
        "command": list(spec.command),
        "build": list(spec.build),
        "text": spec.text,
        "evaluator": spec.file,
        "lenient": spec.lenient,
        "thresholds": [dict(threshold) for threshold in spec.stage_thresholds],
        "minimized": [o.name for o in problem.objectives if o.direction is Direction.MINIMIZE],
        "inputs": inputs,
        "seed": _seed(program, repeat, scoring.draw),
        # A program knows itself, and so its own stream, but not its problem: what a scorer draws, it cannot draw too.
        "scorer_seed": _seed(program, repeat, scoring.draw, problem.bundle or spec.file),
        "traced": scoring.traced,
        "links": links,
    }


def main_file(program: Program, problem: Problem) -> str:
    """The file of a program that is imported or handed on; empty: its folder."""
    paths = [path for path, _ in program.files]
    if problem.main in paths:
        return problem.main
    if program.single:
        return paths[0]
    if problem.evaluator.integrity is Integrity.SHARED:
        return ""
    named = [path for path in paths if PurePosixPath(path).stem in {"main", "__init__"}]
    return named[0] if named else paths[0]


def _seed(program: Program, repeat: int, draw: int, salt: str = "") -> int:
    words = f"{program.id}/{repeat}" + (f"/{draw}" if draw else "") + (f"/scorer/{salt}" if salt else "")
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:4], "big")
