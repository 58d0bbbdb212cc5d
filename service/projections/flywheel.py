"""Rounds of a flywheel as commands show them: shares of problems solved, and what the gate decided."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import numpy as np

from evolve.statistics.binomial import exact_bounds
from service.ports import ENDED, RunRecord
from service.schemas.series import SeriesPoint
from service.schemas.training import TrainingJob

# Beyond rounding, of scores that a search adds up in another order.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvedShare:
    """The problems that were solved within a number of evaluations.

    Attributes:
        low, high: exact 95 % interval of the share.
    """

    evaluations: int
    solved: int
    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.share:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlywheelRound:
    """A round.

    Attributes:
        phase: what it waits for: `search`, `train`, or nothing: `done`.
        policy: version that searched.
        shares: at half of a run's budget, and at all of it. Empty: runs are missing, or the best is not known.
        best: mean of the best fitness. None: no run has one.
        evaluation: of the version, by the job. Empty: none.
        promoted: whether the gate promoted the version.
        refusal: of the gate.
    """

    number: int
    phase: str
    batch: str
    policy: str
    problems: int
    ended: int
    evaluations: int
    tokens: int
    shares: Sequence[SolvedShare]
    best: float | None
    job: str
    version: int | None
    evaluation: Mapping[str, Any]
    promoted: bool
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlywheelRounds:
    """A flywheel.

    Attributes:
        rounds: number of its newest round.
        began: when its first round began.
    """

    name: str
    rounds: int
    began: datetime


class Flywheels(Protocol):
    """Flywheels of tenants, as their batches and training jobs tell."""

    def flywheels(self, tenant: str) -> list[FlywheelRounds]:
        """The flywheels of a tenant by name. Those whose batches are among its newest 1,000."""

    def rounds(self, tenant: str, name: str) -> list[FlywheelRound]:
        """The rounds of a flywheel, in order.

        Raises:
            NotFoundError: the tenant has none of the name.
        """


def flywheel_round(
    number: int,
    batch: str,
    runs: Sequence[RunRecord],
    job: TrainingJob | None,
    result: Mapping[str, Any],
    points: Callable[[RunRecord], Sequence[SeriesPoint]],
) -> FlywheelRound:
    """A round as it is shown.

    Args:
        number: of the round.
        batch: its id.
        runs: of the batch.
        job: that learnt from them.
        result: what the job's last event tells.
        points: a run over its evaluations.
    """
    best = [run.best_fitness for run in runs if run.best_fitness is not None]
    ended = sum(run.state in ENDED for run in runs)
    waits = "search" if ended < len(runs) else "done" if job is not None and job.version is not None else "train"
    return FlywheelRound(
        number=number,
        phase=waits,
        batch=batch,
        policy=next((str(policy["name"]) for run in runs for policy in run.policies), ""),
        problems=len(runs),
        ended=ended,
        evaluations=sum(run.counters.evaluations for run in runs),
        tokens=sum(run.counters.tokens_input + run.counters.tokens_output for run in runs),
        shares=_shares(runs, points) if ended == len(runs) else (),
        best=float(np.mean(best)) if best else None,
        job="" if job is None else job.id,
        version=None if job is None else job.version,
        evaluation=dict(result.get("evaluation") or {}),
        promoted=bool(result.get("promoted")),
        refusal=str(result.get("refusal", "")),
    )


def _shares(runs: Sequence[RunRecord], points: Callable[[RunRecord], Sequence[SeriesPoint]]) -> list[SolvedShare]:
    if not runs or any(run.known_best is None for run in runs):
        return []
    budget = int(runs[0].config["budget"]["evaluations"])
    paths = [(_target(run), points(run)) for run in runs]
    return [_share(paths, evaluations) for evaluations in (budget // 2, budget) if evaluations]


def _share(paths: Sequence[tuple[float, Sequence[SeriesPoint]]], evaluations: int) -> SolvedShare:
    solved = sum(_best(path, evaluations) >= target for target, path in paths)
    low, high = exact_bounds(solved, len(paths))
    return SolvedShare(evaluations=evaluations, solved=solved, share=solved / len(paths), low=low, high=high)


def _best(path: Sequence[SeriesPoint], evaluations: int) -> float:
    reached = [point.best_fitness for point in path if point.evaluations <= evaluations]
    return max((best for best in reached if best is not None), default=-np.inf)


def _target(run: RunRecord) -> float:
    """The fitness of the known best: with a single minimised objective, the negative score."""
    assert run.known_best is not None
    only = run.objectives[0] if len(run.objectives) == 1 else {}
    known = -run.known_best if only.get("direction") == "minimize" else run.known_best
    return known - _ROUNDING * max(1.0, abs(known))
