"""A run over its evaluations: how good its best was by then, how much was wasted, what it cost, and who succeeded."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.events import EventKind
from service.projections.candidates import objectives_of
from service.projections.column_parts import OutcomeTally
from service.projections.columns import Columns, Floats
from service.projections.diversity import Diversity, varieties
from service.projections.grid import cover
from service.projections.progress_curve import best_so_far, counts_until

EXACT_OBJECTIVES = 2
_POLICY = 1  # its place in the keys of tallies


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesSample:
    """A run after some evaluations.

    Attributes:
        valid: share of the evaluations until then.
        duplicates, rejected: shares of the answers until then.
        hypervolume: of the front until then; None without several bounded objectives.
        best_scores: the best score of each objective, in its own unit; an objective without a valid one is missing.
        variety: how different the evaluations were.
        cells, qd_score: of the grid until then, as `cover` gives them; None without measures.
        seconds: that all evaluations until then took.
    """

    evaluations: int
    at: datetime
    best_fitness: float | None
    best_scores: Mapping[str, float]
    valid: float
    duplicates: float
    rejected: float
    hypervolume: float | None
    cells: int | None
    qd_score: float | None
    tokens_input: int
    tokens_cached: int
    tokens_output: int
    cost: str | None
    seconds: float
    variety: Diversity


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """How a kind of candidates did: how many of them were valid, became the best of the run, and by how much.

    Attributes:
        seconds: that their evaluations took.
    """

    name: str
    evaluations: int
    valid: int
    improvements: int
    mean_fitness: float | None
    gain: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCurve:
    """A policy over the evaluations of a run: what it had brought and spent by each moment.

    Attributes:
        evaluations: of its candidates.
        gain: of fitness, by which they had raised the best of the run.
        cost: amounts; None: some of it is not known.
    """

    name: str
    evaluations: Sequence[int]
    gain: Sequence[float]
    tokens: Sequence[int]
    cost: Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Moments, evenly over the evaluations, and successes by operator, policy and position of the answer.

    Attributes:
        policy_curves: of the policies at the same moments.
    """

    moments: Sequence[SeriesSample]
    operators: Sequence[Success]
    policies: Sequence[Success]
    positions: Sequence[Success]
    policy_curves: Sequence[PolicyCurve]


def fold_series(columns: Columns, points: int) -> Series:
    """Fold a run into at most so many moments; the last one is now."""
    taken = places(len(columns), points)
    return Series(
        moments=_moments(columns, taken) if len(columns) else [],
        operators=successes(columns, 0),
        policies=successes(columns, 1),
        positions=successes(columns, 2),
        policy_curves=policy_curves(columns, taken) if len(columns) else [],
    )


def moments_behind(columns: Columns, evaluations: int, points: int) -> list[SeriesSample]:
    """At most so many moments behind the one after so many evaluations, evenly; the last one is now."""
    new = len(columns) - evaluations
    return _moments(columns, evaluations + places(new, points)) if new > 0 else []


def successes(columns: Columns, kind: int) -> list[Success]:
    """By a part of the tallies' keys, of which seeds have the first alone: operator, policy, position of the answer."""
    found: dict[Any, OutcomeTally] = {}
    for key, tally in columns.tallies.items():
        if (kind and key[2] < 0) or (kind == _POLICY and not key[_POLICY]):  # a person asked no policy
            continue
        total = found.setdefault(key[kind], OutcomeTally())
        total.evaluations += tally.evaluations
        total.valid += tally.valid
        total.improvements += tally.improvements
        total.fitness += tally.fitness
        total.gain += tally.gain
        total.seconds += tally.seconds
    return [_success(str(name), found[name]) for name in sorted(found)]


def _success(name: str, tally: OutcomeTally) -> Success:
    return Success(
        name=name,
        evaluations=tally.evaluations,
        valid=tally.valid,
        improvements=tally.improvements,
        mean_fitness=tally.fitness / tally.valid if tally.valid else None,
        gain=tally.gain,
        seconds=tally.seconds,
    )


def policy_curves(columns: Columns, taken: NDArray[np.intp]) -> list[PolicyCurve]:
    """Each policy at some moments, which are numbers of evaluations; seeds and programs of people are nobody's."""
    paid = counts_until(columns.at[taken - 1], columns.paid)
    best = best_so_far(columns.fitness)
    before = np.concatenate([[-np.inf], best[:-1]])
    gains = np.zeros(len(best))
    raised = np.isfinite(before) & (best > before)
    gains[raised] = best[raised] - before[raised]
    answers = np.array(columns.numbers) > 0
    found = []
    for name in sorted(filter(None, {*columns.policies.names, *columns.costs.by_policy()})):
        own = ~columns.policies.unlike(name) & answers
        found.append(
            PolicyCurve(
                name=name,
                evaluations=np.cumsum(own)[taken - 1].tolist(),
                gain=np.cumsum(np.where(own, gains, 0.0))[taken - 1].tolist(),
                tokens=columns.policy_spending.tokens(name, paid),
                cost=columns.policy_spending.money(name, paid),
            )
        )
    return found


def places(total: int, points: int) -> NDArray[np.intp]:
    """At most so many places among the numbers from 1 to a total, evenly, the last one among them."""
    count = min(points, total)
    return np.asarray(-(-np.arange(1, count + 1) * total // count), dtype=np.intp)


def finite_or_none(value: float) -> float | None:
    """A number as JSON has it."""
    return float(value) if math.isfinite(value) else None


def _moments(columns: Columns, taken: NDArray[np.intp]) -> list[SeriesSample]:
    at, fitness = columns.at, columns.fitness
    best, valid = best_so_far(fitness), np.cumsum(~np.isnan(fitness))
    times = [columns.times(kind) for kind in (EventKind.CANDIDATE_DUPLICATE, EventKind.CANDIDATE_REJECTED)]
    duplicates, rejected, paid = (counts_until(at[taken - 1], one) for one in (*times, columns.paid))
    answers = _answers(columns, taken, duplicates + rejected)
    sent, cached, written = (np.concatenate([[0], np.cumsum(tokens)]) for tokens in columns.tokens)
    scores = _best_scores(columns, taken)
    volumes, covered = _volumes(columns, taken), cover(columns)
    varied, seconds = varieties(columns, taken), np.cumsum(columns.seconds)
    return [
        SeriesSample(
            evaluations=int(count),
            at=datetime.fromtimestamp(at[count - 1], UTC),
            best_fitness=finite_or_none(best[count - 1]),
            best_scores=scores[place],
            valid=float(valid[count - 1] / count),
            duplicates=float(duplicates[place] / max(1, answers[place])),
            rejected=float(rejected[place] / max(1, answers[place])),
            hypervolume=None if volumes is None else finite_or_none(volumes[place]),
            cells=None if covered is None else int(covered[0][count - 1]),
            qd_score=None if covered is None else finite_or_none(covered[1][count - 1]),
            tokens_input=int(sent[paid[place]]),
            tokens_cached=int(cached[paid[place]]),
            tokens_output=int(written[paid[place]]),
            cost=columns.spent[paid[place]],
            seconds=float(seconds[count - 1]),
            variety=varied[place],
        )
        for place, count in enumerate(taken)
    ]


def _answers(columns: Columns, taken: NDArray[np.intp], wasted: NDArray[np.intp]) -> NDArray[np.intp]:
    """Answers until each moment. Some are evaluated or wasted before their proposal is answered as a whole."""
    evaluated = np.cumsum(np.array(columns.numbers) > 0)[taken - 1]
    return np.asarray(np.maximum(counts_until(columns.at[taken - 1], columns.answered), evaluated + wasted))


def _best_scores(columns: Columns, taken: NDArray[np.intp]) -> list[dict[str, float]]:
    """The best score of each objective at each moment, as the evaluator names and signs it."""
    if not columns.objectives:
        return [{}] * len(taken)
    signs = np.array([objective.signed(1.0) for objective in columns.objectives])
    signed = np.where(np.isnan(columns.signed_scores), -np.inf, columns.signed_scores)
    best = np.maximum.accumulate(signed)[taken - 1]
    rows = (signs * best).tolist()
    return [
        {name: score for name, score in zip(columns.names, row, strict=True) if math.isfinite(score)} for row in rows
    ]


def _volumes(columns: Columns, taken: NDArray[np.intp]) -> list[float] | None:
    """The hypervolume at each moment; None without several objectives that all have a reference."""
    floors = [objective.floor for objective in objectives_of(columns.run)]
    reference = np.array([floor for floor in floors if floor is not None])
    if len(floors) < 2 or len(reference) < len(floors):
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # far beyond their bounds, several objectives have no product
        if len(floors) > EXACT_OBJECTIVES:
            return columns.volumes(reference, taken)
        parts = np.split(columns.rewards, taken[:-1])
        return _exact([part[np.isfinite(part).all(axis=1)] for part in parts], reference)


def _exact(points: Sequence[Floats], reference: Floats) -> list[float]:
    """Areas under staircases that grow: of each only the steps are kept, in falling order of the first objective."""
    found, steps = [], np.zeros((0, len(reference)))
    for new in points:
        steps = np.concatenate([steps, (new - reference)[(new > reference).all(axis=1)]])
        steps = steps[np.argsort(-steps[:, 0], kind="stable")]
        height = np.maximum.accumulate(np.concatenate([[0.0], steps[:, 1]]))
        rises = np.diff(height)
        found.append(float((steps[:, 0] * rises).sum()))
        steps = steps[rises > 0]
    return found
