"""A run over its evaluations: how good its best was by then, how much was wasted, what it cost, and who succeeded."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from evolve.pareto import front
from evolve.statistics import volume
from service.ports import RunRecord
from service.projections.candidates import objectives_of
from service.projections.columns import Columns

Floats = NDArray[np.float64]
EXACT_OBJECTIVES = 2
SAMPLES = 4096
SAMPLES_SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A run after some evaluations.

    Attributes:
        valid, duplicates: shares, of the evaluations and of all candidates until then.
        hypervolume: of the front until then; None without several bounded objectives.
    """

    evaluations: int
    at: datetime
    best_fitness: float | None
    valid: float
    duplicates: float
    rejected: float
    hypervolume: float | None
    tokens_input: int
    tokens_output: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """How a kind of candidates did: how many of them were valid, and became the best of the run."""

    name: str
    evaluations: int
    valid: int
    improvements: int
    mean_fitness: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Moments, evenly over the evaluations, and successes by operator, policy and position of the answer."""

    moments: Sequence[Moment]
    operators: Sequence[Success]
    policies: Sequence[Success]
    positions: Sequence[Success]


def fold_series(run: RunRecord, columns: Columns, points: int) -> Series:
    """Fold a run into at most so many moments; the last one is now."""
    return Series(
        moments=_moments(run, columns, points) if columns.at else [],
        operators=_successes(columns, "operator"),
        policies=_successes(columns, "policy"),
        positions=_successes(columns, "position"),
    )


def _successes(columns: Columns, kind: str) -> list[Success]:
    found = [
        Success(
            name=name,
            evaluations=tally.evaluations,
            valid=tally.valid,
            improvements=tally.improvements,
            mean_fitness=tally.fitness / tally.valid if tally.valid else None,
        )
        for (which, name), tally in columns.tallies.items()
        if which == kind
    ]
    return sorted(found, key=lambda one: (len(one.name), one.name) if kind == "position" else (0, one.name))


def places(total: int, points: int) -> NDArray[np.intp]:
    """At most so many places among the numbers from 1 to a total, evenly, the last one among them."""
    count = min(points, total)
    return np.asarray(-(-np.arange(1, count + 1) * total // count), dtype=np.intp)


def best_so_far(fitness: Sequence[float]) -> Floats:
    """The highest until each place; -inf where there was none yet. NaN stands for no fitness."""
    values = np.array(fitness, dtype=np.float64)
    return np.asarray(np.maximum.accumulate(np.where(np.isnan(values), -np.inf, values)))


def finite_or_none(value: float) -> float | None:
    """A number as JSON has it."""
    return float(value) if math.isfinite(value) else None


def _moments(run: RunRecord, columns: Columns, points: int) -> list[Moment]:
    taken = places(len(columns.at), points)
    best, valid = best_so_far(columns.fitness), np.cumsum(columns.valid)
    duplicates, rejected, answers = (
        _until(columns, taken, times) for times in (columns.duplicates, columns.rejected, columns.answered)
    )
    sent, written = np.cumsum([0, *columns.tokens_input]), np.cumsum([0, *columns.tokens_output])
    volumes = _volumes(run, columns.rewards, taken)
    return [
        Moment(
            evaluations=int(count),
            at=columns.at[count - 1],
            best_fitness=finite_or_none(best[count - 1]),
            valid=float(valid[count - 1] / count),
            duplicates=float(duplicates[place] / (count + duplicates[place] + rejected[place])),
            rejected=float(rejected[place] / (count + duplicates[place] + rejected[place])),
            hypervolume=None if volumes is None else finite_or_none(volumes[place]),
            tokens_input=int(sent[answers[place]]),
            tokens_output=int(written[answers[place]]),
        )
        for place, count in enumerate(taken)
    ]


def _until(columns: Columns, taken: NDArray[np.intp], times: Sequence[float]) -> NDArray[np.intp]:
    """How many of some times had come by each moment; the last moment is now."""
    moments = np.array([columns.at[count - 1].timestamp() for count in taken])
    counts = np.asarray(np.searchsorted(times, moments, side="right"))
    counts[-1] = len(times)
    return counts


def _volumes(run: RunRecord, rewards: Sequence[Sequence[float] | None], taken: NDArray[np.intp]) -> list[float] | None:
    """The hypervolume at each moment; None without several objectives that all have a reference."""
    floors = [objective.floor for objective in objectives_of(run)]
    reference = np.array([floor for floor in floors if floor is not None])
    if len(floors) < 2 or len(reference) < len(floors):
        return None
    width = len(floors)
    points = [_points(rewards[before:after], width) for before, after in itertools.pairwise([0, *map(int, taken)])]
    with np.errstate(over="ignore", invalid="ignore"):  # far beyond their bounds, several objectives have no product
        return _exact(points, reference) if width <= EXACT_OBJECTIVES else _sampled(points, reference)


def _points(rewards: Sequence[Sequence[float] | None], width: int) -> Floats:
    rows = [list(reward) for reward in rewards if reward is not None and len(reward) == width]
    points = np.array(rows, dtype=np.float64).reshape(-1, width)
    return np.asarray(points[front(points)])


def _exact(points: Sequence[Floats], reference: Floats) -> list[float]:
    found, members = [], np.zeros((0, len(reference)))
    for new in points:
        members = np.concatenate([members, new])
        members = members[front(members)]
        found.append(volume(members, reference, np.random.default_rng(SAMPLES_SEED)))
    return found


def _sampled(points: Sequence[Floats], reference: Floats) -> list[float]:
    """By one set of samples for all moments, so that the curve never falls."""
    box = np.concatenate([reference[None], *points]).max(axis=0) - reference
    samples = reference + np.random.default_rng(SAMPLES_SEED).random((SAMPLES, len(reference))) * box
    covered, found = np.zeros(SAMPLES, dtype=np.bool_), []
    for new in points:
        for point in new:
            covered |= (samples <= point).all(axis=1)
        found.append(float(box.prod() * covered.mean()))
    return found
