"""What a candidate was worth beside another: every score with its difference, and whether that is for the better."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.schemas.candidates import Candidate
from service.schemas.runs import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One number of a candidate.

    Attributes:
        direction: `maximize` or `minimize`; empty where neither is wanted.
        other: the same number of the other candidate.
        spread: over repeats of a noisy evaluation.
    """

    name: str
    value: float | None
    other: float | None = None
    direction: str = ""
    spread: float | None = None

    @property
    def delta(self) -> float | None:
        """How much more it is than the other."""
        return None if self.value is None or self.other is None else self.value - self.other

    @property
    def verdict(self) -> str:
        """`better`, `worse`, `equal`; empty where nobody can say."""
        if self.delta is None or not self.direction:
            return ""
        if self.delta == 0:
            return "equal"
        return "better" if (self.delta > 0) == (self.direction == "maximize") else "worse"


def scores_of(run: Run, candidate: Candidate, other: Candidate | None) -> list[Score]:
    """Fitness, the objectives of the run, then whatever else the evaluator told."""
    directions = {str(one["name"]): str(one.get("direction", "maximize")) for one in run.objectives}
    names = [*directions, *(name for name in candidate.scores if name not in directions)]
    fitness = Score(
        name="fitness",
        value=candidate.fitness,
        other=other.fitness if other else None,
        direction="maximize",
        spread=candidate.spread.get("fitness"),
    )
    return [
        fitness,
        *(
            Score(
                name=name,
                value=candidate.scores.get(name),
                other=other.scores.get(name) if other else None,
                direction=directions.get(name, ""),
                spread=candidate.spread.get(name),
            )
            for name in names
        ),
    ]


def plain_scores(mine: Mapping[str, float], others: Mapping[str, float]) -> list[Score]:
    """Measures or cases, which are for neither side."""
    return [Score(name=name, value=value, other=others.get(name)) for name, value in mine.items()]


def names_of(run: Run, candidates: Sequence[Candidate]) -> list[str]:
    """Everything that can be a column: objectives, measures, and what these candidates have beside."""
    return list(dict.fromkeys(_names(run, candidates)))


def value_of(candidate: Candidate, name: str) -> float | None:
    """A score or measure by its name."""
    return candidate.scores.get(name, candidate.measures.get(name))


def _names(run: Run, candidates: Sequence[Candidate]) -> Iterator[str]:
    for one in (*run.objectives, *run.measures):
        yield str(one["name"])
    for candidate in candidates:
        yield from candidate.scores
        yield from candidate.measures
