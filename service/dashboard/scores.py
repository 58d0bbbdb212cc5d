"""What a candidate was worth beside another: every score with its difference, and whether that is for the better."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.schemas.batches import GroupSummary
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


def sign_of(run: Run | GroupSummary) -> int:
    """What makes of a run's fitness the score that people know: -1 where it has one objective that is minimised."""
    return -1 if len(run.objectives) == 1 and run.objectives[0].get("direction") == "minimize" else 1


def shared_sign(runs: Sequence[Run]) -> int:
    """The sign of several runs that are shown in one chart; 1, the fitness itself, where theirs differ."""
    signs = {sign_of(run) for run in runs}
    return signs.pop() if len(signs) == 1 else 1


def chart_word(runs: Sequence[Run]) -> str:
    """What the number of several runs is called in one chart; `fitness`, which it is, where their signs differ."""
    return shared_word(runs) if len({sign_of(run) for run in runs}) == 1 else "fitness"


def as_score(fitness: float | None, run: Run | GroupSummary) -> float | None:
    """A fitness, or a change of one, as the score that people know."""
    return None if fitness is None else sign_of(run) * fitness + 0.0  # no negative zero


def score_word(run: Run | GroupSummary) -> str:
    """What the number is called that a run's candidates are ranked by."""
    return "score" if len(run.objectives) == 1 else "fitness"


def shared_word(runs: Sequence[Run] | Sequence[GroupSummary]) -> str:
    """What that number is called over several runs: `score`, even where the evaluators of some give a single number."""
    words = {score_word(run) for run in runs}
    return words.pop() if len(words) == 1 else "score" if words else "fitness"


def scores_of(run: Run, candidate: Candidate, other: Candidate | None) -> list[Score]:
    """The fitness of several objectives, the objectives of the run, then whatever else the evaluator told."""
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
        *([fitness] if len(run.objectives) != 1 else []),
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
