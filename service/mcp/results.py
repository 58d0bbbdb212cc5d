"""Results of tools: the parts of the API's replies that help a model."""

from typing import Any

from service.ports import ENDED
from service.schemas.candidates import Candidate
from service.schemas.runs import Run

_RUN = (
    "id", "problem", "state", "desired_state", "reason", "best_candidate_id", "best_fitness", "seed_fitness",
    "known_best", "labels", "created_at",
)  # fmt: skip
_CANDIDATE = (
    "id", "name", "run_id", "operator", "policy", "status", "outcome", "reason", "fitness", "scores", "feedback",
    "seconds",
)  # fmt: skip


def run_result(run: Run, server: str) -> dict[str, Any]:
    """A run: its state, its scores, its use of the budget, and the page on which people see it."""
    told = run.model_dump(mode="json", include={*_RUN, "progress", "stats", "usage", "error", "waiting", "objectives"})
    told["policies"] = [policy.get("name", "") for policy in run.policies]
    return {**told, "ended": run.state in ENDED, "page": f"{server}/runs/{run.id}"}


def run_line(run: Run) -> dict[str, Any]:
    """A run in a list."""
    return {**run.model_dump(mode="json", include=set(_RUN)), "evaluated": run.progress.evaluated}


def candidate_result(candidate: Candidate) -> dict[str, Any]:
    """A candidate: its origin and its scores."""
    told = candidate.model_dump(mode="json", include=set(_CANDIDATE))
    return {**told, "parents": [parent.model_dump(mode="json") for parent in candidate.parents]}
