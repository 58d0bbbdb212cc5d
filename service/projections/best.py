"""The best candidate of a run under weights that somebody names."""

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evolve.evaluation import Outcome
from evolve.problem import LARGEST, Objective
from service.errors import NotFoundError, UsageError
from service.ports import RunReader, RunRecord
from service.projections.candidates import every_candidate, objectives_of


@dataclass(frozen=True, slots=True)
class _Entry:
    """A candidate and its gains by name: scores, larger is better."""

    candidate_id: str
    number: int
    position: int
    gains: Mapping[str, float]


Worth = Callable[[_Entry], float]


def read_weights(text: str) -> dict[str, float]:
    """Weights written as `accuracy=1,speed=2`.

    Raises:
        UsageError: a part is no NAME=NUMBER, a number is below 0 or not finite, or all are 0.
    """
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        try:
            weight = float(value)
        except ValueError:
            weight = math.nan
        if not (equals and name.strip() and 0 <= weight <= LARGEST):
            raise UsageError(f"weights: {part.strip()!r} is no NAME=NUMBER with a number from 0 to {LARGEST:g}")
        weights[name.strip()] = weight
    if not any(weights.values()):
        raise UsageError("weights need a number above 0")
    return weights


def none_yet(run: RunRecord) -> NotFoundError:
    """What is said of a run that has no best candidate."""
    return NotFoundError(f"no candidate of {run.id} was evaluated with success: evolve programs --all shows why")


def weighted_best(reader: RunReader, run: RunRecord, weights: Mapping[str, float]) -> tuple[str, float]:
    """The candidate with the highest weighted mean of normalised scores, and that mean; ties go to the oldest.

    Scores are normalised by the objective's declared bounds, else by their range in the run.

    Raises:
        UsageError: a name is no objective (without objectives: no score) of the run.
        NotFoundError: nothing was evaluated with success.
    """
    objectives = {objective.name: objective for objective in objectives_of(run)}
    entries = list(_by_objectives(reader, run, list(objectives)) if objectives else _by_scores(reader, run, weights))
    if not entries:
        raise none_yet(run)
    known = list(objectives) or sorted({name for entry in entries for name in entry.gains})
    for name in weights:
        if name not in known:
            near = "".join(difflib.get_close_matches(name, known, n=1, cutoff=0))
            raise UsageError(f"weights: {name} is no objective of this run; the nearest is {near}")
    rules = {name: _normaliser(name, objectives.get(name), entries) for name in weights}
    total = math.fsum(weights.values())

    def value(entry: _Entry) -> float:
        return math.fsum(weight / total * rules[name](entry) for name, weight in weights.items())

    winner = max(entries, key=lambda entry: (value(entry), -entry.number, -entry.position))
    return winner.candidate_id, value(winner)


def _by_objectives(reader: RunReader, run: RunRecord, names: Sequence[str]) -> Iterator[_Entry]:
    for scored in reader.scored(run.id):
        if scored.outcome == Outcome.OK and scored.rewards is not None:
            gains = dict(zip(names, scored.rewards, strict=False))
            yield _Entry(scored.candidate_id, scored.number, scored.position, gains)


def _by_scores(reader: RunReader, run: RunRecord, weights: Mapping[str, float]) -> Iterator[_Entry]:
    """Where the evaluator gives one number its scores may be weighed; of the first all are kept, for their names."""
    for place, candidate in enumerate(c for c in every_candidate(reader, run.id) if c.outcome == Outcome.OK):
        gains = {name: score for name, score in candidate.scores.items() if name in weights or not place}
        yield _Entry(candidate.id, candidate.number, candidate.position, gains)


def _normaliser(name: str, objective: Objective | None, entries: Sequence[_Entry]) -> Worth:
    if objective is not None and objective.bounded:
        return lambda entry: min(1.0, max(0.0, entry.gains[name]))
    seen = [entry.gains[name] for entry in entries if name in entry.gains]
    low, high = min(seen), max(seen)

    def normalised(entry: _Entry) -> float:
        if name not in entry.gains:
            return 0.0
        return (entry.gains[name] - low) / (high - low) if high > low else 1.0

    return normalised
