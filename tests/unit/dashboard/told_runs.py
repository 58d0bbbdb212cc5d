"""Runs as the API tells them, with what a test says of them."""

from datetime import UTC, datetime
from typing import Any

from service.schemas.runs import Run

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def told_run(end: str = "a", **changes: Any) -> Run:
    """A run that has ended."""
    identity = f"run_0190aaaa-0000-7000-8000-00000000000{end}"
    fields: dict[str, Any] = {
        "id": identity,
        "state": "succeeded",
        "desired_state": "running",
        "reason": "evaluations",
        "waiting": None,
        "error": None,
        "problem": "packing",
        "problem_id": "prb_1",
        "bundle_hash": "b" * 64,
        "config": {"islands": 4, "budget": {"evaluations": 200, "tokens": None}, "seed": 7},
        "policies": [{"name": "syntax", "kind": "syntax"}],
        "seed": 7,
        "integrity": "separate",
        "isolation": "strong",
        "objectives": [],
        "measures": [],
        "known_best": None,
        "best_candidate_id": None,
        "best_fitness": None,
        "seed_fitness": None,
        "progress": {"proposed": 0, "evaluated": 0, "budget": 200},
        "stats": {"answers": 0, "valid": 0, "failed": 0, "duplicates": 0, "rejected": 0},
        "usage": {"tokens_input": 0, "tokens_cached": 0, "tokens_output": 0, "active_seconds": 0.0},
        "labels": {},
        "batch_id": None,
        "fork_of": None,
        "desired_budget": {},
        "sequence": 1,
        "source": "api:default",
        "created_at": AT,
        "started_at": None,
        "paused_at": None,
        "cancelled_at": None,
        "succeeded_at": None,
        "failed_at": None,
        "urls": {"self": "", "events": "", "stream": "", "candidates": ""},
    }
    return Run.model_validate(fields | changes)
