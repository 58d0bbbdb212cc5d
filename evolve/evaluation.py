"""Evaluations: what came of scoring one program, and its fitness."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from evolve.problem import BUILT_IN_MEASURES, MAX_MAGNITUDE, Objective, Problem
from evolve.views.candidate_view import CandidateView, read_view

COMBINED, ANSWER, VIEW = "combined_score", "answer", "view"
ANSWER_CHARACTERS = 1000
MAX_TRACE_CHARACTERS, MAX_ARTIFACTS = 2000, 20
_TEXT_KEYS = ("artifacts", "feedback")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringRequest:
    """What is wanted of one evaluation beside what its problem says.

    Attributes:
        early_stop_threshold: fitness of what the program would have to beat, as it was when the evaluation was ordered.
            Repeats that are not needed to see that it falls short may be spared. None: all are made.
        holdout: whether the evaluator's `holdout` scores it, in place of what a search goes by.
        draw: which of the seeds that program and scorer get: 0 those of a search, each other number others.
        traced: whether the evaluation has a trace, for people.
        render: whether the evaluator's `render` draws the program, in place of a score.
    """

    early_stop_threshold: float | None = None
    holdout: bool = False
    draw: int = 0
    traced: bool = False
    render: bool = False


PLAIN = ScoringRequest()


class Outcome(StrEnum):
    """How an evaluation ended. Only `ok` enters an archive."""

    OK = "ok"
    INVALID = "invalid"
    ERROR = "error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASH = "crash"
    OUTPUT = "output"
    STAGE = "stage"
    CANCELLED = "cancelled"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """For people, beside the result of an evaluation that succeeded; a search never sees it.

    Attributes:
        printed: the end of the printed text, by who printed it: `program`, `evaluator`, with shared integrity `both`.
        artifacts: texts that the evaluator returned as artifacts, by name; bounded.
        feedback: the feedback without the artifacts.
        imports: seconds that importing took, by module, of those modules that took long.
    """

    printed: Mapping[str, str] = field(default_factory=dict)
    artifacts: Mapping[str, str] = field(default_factory=dict)
    feedback: str = ""
    imports: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Outcome of one attempt at scoring a program.

    Attributes:
        reason: one sentence; empty when the outcome is ok.
        scores: finite numbers in the objectives' own units, objectives and further metrics alike.
        measures: finite behaviour descriptors that the evaluator returned.
        cases: per-case results in [0, 1], by name.
        feedback: text for the next prompt.
        seconds: wall-clock time of the evaluation.
        spread: with repeats, the sample standard deviation of each score.
        repeats: how often the program was scored; 0: not known.
        isolation: the sandbox level and integrity the evaluation ran under, such as `strong/separate`.
        answer: what the program answers, as `canonical_answer` writes it, so that equal answers are equal texts; None:
            it gives none that could be compared with those of others.
        view: what the program looks like, as the evaluator drew it or would on demand, for people alone; None: it draws
            nothing.
        trace: None: none was asked for, or the evaluation failed.
    """

    outcome: Outcome
    reason: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)
    cases: Mapping[str, float] = field(default_factory=dict)
    feedback: str = ""
    seconds: float = 0.0
    spread: Mapping[str, float] = field(default_factory=dict)
    repeats: int = 1
    worker: str = ""
    isolation: str = ""
    answer: str | None = None
    view: CandidateView | None = None
    trace: Trace | None = None

    @property
    def ok(self) -> bool:
        """Whether the program may enter an archive."""
        return self.outcome is Outcome.OK


def read_result(raw: object, problem: Problem) -> Evaluation:
    """Turn what an evaluator returned (a JSON value) into an evaluation.

    A number alone is the score of a problem with one objective, and a pair `[score, info]` that score with further
    entries, or with text as feedback. Numbers in a table within become metrics whose names have dots, as `public.a`.
    In a problem without objectives they do so beside a `combined_score` or where no other number stands, so that the
    mean of metrics stays that of the upper ones.

    Numeric entries are metrics, booleans count as 0 or 1; `cases`, `artifacts` and `feedback` are reserved; other
    entries become feedback. A missing objective, NaN, infinity or a number beyond `MAX_MAGNITUDE` makes the outcome
    `invalid`. `answer` is reserved in a problem that names its objectives, unless one of them or a measure is called
    so; in one that names none it stays what it is for OpenEvolve, a metric or feedback, and is the answer as well
    where it is not a number. So is `view`, which people are shown and no search and no policy sees.

    A lenient evaluator's result is read as OpenEvolve reads it (its `get_fitness_score`): `combined_score` counts
    whatever stands beside it, an `error` included; booleans, and numbers that are not finite, are no metrics; where all
    metrics are measures, these are the scores.
    """
    raw = _spread(_as_scores(raw, problem), problem)
    if not isinstance(raw, Mapping):
        return Evaluation(
            outcome=Outcome.INVALID, reason=f"the evaluator returned {_describe(raw)} instead of a dict of scores"
        )
    answer, lack = _answer(raw, problem)
    raw, view = _view(raw, problem)
    raw = {key: value for key, value in raw.items() if key != ANSWER or problem.scalar or _is_named(problem)}
    lenient = problem.evaluator.lenient
    metrics = _lenient_metrics(raw) if lenient else _metrics(raw)
    cases, complaint = ({}, "") if lenient else _cases(raw.get("cases"))
    feedback = "\n".join(filter(None, (_feedback(raw, flags=lenient), lack)))
    complaint = complaint or _complain(metrics, raw, problem)
    finite = {name: value for name, value in metrics.items() if abs(value) <= MAX_MAGNITUDE}
    measures = {measure.name for measure in problem.measures}
    objectives = set(problem.objective_names)
    scores = {name: value for name, value in finite.items() if name not in measures or name in objectives}
    evaluation = Evaluation(
        outcome=Outcome.OK,
        scores=scores or (finite if lenient else {}),
        measures={name: value for name, value in finite.items() if name in measures},
        cases=cases,
        feedback=feedback,
        answer=answer,
        view=view,
    )
    return replace(evaluation, outcome=Outcome.INVALID, reason=complaint) if complaint else evaluation


def canonical_answer(value: object) -> str | None:
    """An answer as the text under which equal ones are counted; None: there is none.

    A text without white space at its ends and with single blanks inside; any other JSON value as JSON with sorted keys,
    its texts folded likewise and its whole numbers written without a point, so that 1 and 1.0 are the same.

    Raises:
        ValueError: it is not JSON value.
    """
    try:
        plain = _folded(value)
        text = (
            plain
            if isinstance(plain, str)
            else json.dumps(plain, allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        )
    except (TypeError, RecursionError) as error:
        raise ValueError("it is not JSON value") from error
    return None if plain is None or not text else text


def fitness(problem: Problem, evaluation: Evaluation) -> float | None:
    """The one number for curves, `best` and top-k; None unless the outcome is ok. More is better.

    One objective: its score with the direction's sign. Several: `combined_score` if the evaluator gives one, else
    the weighted mean of the scores over declared bounds, in [0, 1]. None declared: `combined_score`, else the mean.
    """
    if not evaluation.ok:
        return None
    scores = evaluation.scores
    if problem.scalar:
        rest = [value for name, value in scores.items() if name != COMBINED]
        return scores[COMBINED] if COMBINED in scores else math.fsum(rest) / len(rest)
    if len(problem.objectives) == 1:
        return problem.objectives[0].sign * scores[problem.objectives[0].name]
    if COMBINED in scores:
        return scores[COMBINED]
    total = math.fsum(objective.weight for objective in problem.objectives)
    return math.fsum(o.weight * o.normalise(scores[o.name]) for o in problem.objectives) / total


def reward_vector(problem: Problem, evaluation: Evaluation) -> tuple[float, ...]:
    """Scores of the objectives as `Objective.scale` gives them (more is better), in the order of the problem."""
    if problem.scalar:
        value = fitness(problem, evaluation)
        return () if value is None else (value,)
    return tuple(objective.scale(evaluation.scores[objective.name]) for objective in problem.objectives)


def signed_scores(objectives: Sequence[Objective], scores: Mapping[str, float], worth: float) -> tuple[float, ...]:
    """Scores of the objectives with the direction's sign, in their order: what dominance is decided by.

    Args:
        objectives: of the problem; none: the fitness is the only objective.
        scores: of the candidate, by name.
        worth: its fitness.
    """
    return tuple(objective.signed(scores[objective.name]) for objective in objectives) or (worth,)


def _as_scores(raw: object, problem: Problem) -> object:
    """A number, or a pair of a score and what is said of it, as a table; everything else as it is."""
    if isinstance(raw, list | tuple) and len(raw) == 2 and isinstance(raw[1], Mapping | str | None):
        score = _as_scores(raw[0], problem)
        if isinstance(score, Mapping):
            return {**(raw[1] if isinstance(raw[1], Mapping) else {"feedback": raw[1]}), **score}
    single = isinstance(raw, int | float) and len(problem.objective_names) == 1
    return {problem.objective_names[0]: raw} if single else raw


def _spread(raw: object, problem: Problem) -> object:
    """A result with the numbers of tables within under names with dots."""
    if not isinstance(raw, Mapping) or not any(isinstance(value, Mapping) for value in raw.values()):
        return raw
    upper = any(map(_is_number, raw.values()))
    if problem.scalar and upper and COMBINED not in raw:
        return raw
    spread: dict[Any, Any] = {}
    for key, value in raw.items():
        if not isinstance(value, Mapping) or key in (*_TEXT_KEYS, "cases", ANSWER, VIEW):
            spread[key] = value
            continue
        within = dict(_entries_within(str(key), value))
        numbers = {name: item for name, item in within.items() if _is_number(item)}
        spread |= {name: item for name, item in (within if numbers else {key: value}).items() if name not in spread}
    return spread


def _entries_within(place: str, table: Mapping[Any, Any]) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _entries_within(f"{place}.{key}", value)
        else:
            yield f"{place}.{key}", value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_named(problem: Problem, key: str = ANSWER) -> bool:
    return key in problem.objective_names or any(measure.name == key for measure in problem.measures)


def _view(raw: Mapping[Any, Any], problem: Problem) -> tuple[Mapping[Any, Any], CandidateView | None]:
    """A result without its view, and the view; a number of that name is a metric."""
    if not isinstance(raw.get(VIEW), str | Mapping) or _is_named(problem, VIEW):
        return raw, None
    return {key: value for key, value in raw.items() if key != VIEW}, read_view(raw[VIEW])


def _answer(raw: Mapping[Any, Any], problem: Problem) -> tuple[str | None, str]:
    """The answer of a result, and one sentence where it has one that cannot be compared."""
    value = raw.get(ANSWER)
    if _is_named(problem) or (problem.scalar and isinstance(value, bool | int | float)):
        return None, ""
    try:
        answer = canonical_answer(value)
    except ValueError:
        return None, "The answer is not JSON value, so it is not compared with others."
    if answer is not None and len(answer) > ANSWER_CHARACTERS:
        return (
            None,
            f"The answer has {len(answer)} characters: beyond {ANSWER_CHARACTERS} it is not compared with others.",
        )
    return answer, ""


def _folded(value: object) -> object:
    if isinstance(value, str):
        # Without what neither databases nor the wire take.
        return " ".join(value.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00").split())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {_folded(str(key)): _folded(item) for key, item in value.items()}
    return [_folded(item) for item in value] if isinstance(value, list | tuple) else value


def _metrics(raw: Mapping[Any, Any]) -> dict[str, float]:
    return {str(key): _metric(value) for key, value in raw.items() if isinstance(value, bool | int | float)}


def _lenient_metrics(raw: Mapping[Any, Any]) -> dict[str, float]:
    numbers = {
        str(key): _metric(value)
        for key, value in raw.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if COMBINED in raw and COMBINED not in numbers:
        with suppress(TypeError, ValueError):
            numbers[COMBINED] = float(raw[COMBINED])
    beside = COMBINED in numbers  # without it an infinite metric makes the mean infinite
    return {
        name: value
        for name, value in numbers.items()
        if name == COMBINED or not (math.isnan(value) or (beside and abs(value) > MAX_MAGNITUDE))
    }


def _metric(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond every float
        return math.inf if value > 0 else -math.inf


def _complain(metrics: Mapping[str, float], raw: Mapping[Any, Any], problem: Problem) -> str:
    for name, value in metrics.items():
        if not math.isfinite(value):
            return f"the score {name} is {value}, not a finite number"
        if abs(value) > MAX_MAGNITUDE:
            return f"the score {name} is {value:g}, and numbers beyond {MAX_MAGNITUDE:g} cannot be compared"
    if isinstance(raw.get("error"), str) and raw["error"] and not (problem.evaluator.lenient and metrics):
        return f"the evaluator says: {raw['error'][:300]}"
    for name in () if problem.scalar else problem.objective_names:
        if name not in metrics:
            found = f"it is {_describe(raw[name])}" if name in raw else "it is missing"
            return f"the evaluator returned no number for the objective {name}: {found}"
    measures = [measure.name for measure in problem.measures]
    for name in measures:
        if name not in metrics and name not in BUILT_IN_MEASURES:
            return f"the evaluator returned no number for the measure {name}"
    if problem.scalar and not (metrics if problem.evaluator.lenient else set(metrics) - set(measures)):
        return "the evaluator returned no numeric score"
    if problem.scalar and COMBINED in raw and COMBINED not in metrics and not problem.evaluator.lenient:
        return f"{COMBINED} is {_describe(raw[COMBINED])} instead of a number"
    return ""


def _cases(raw: object) -> tuple[dict[str, float], str]:
    if raw is None:
        return {}, ""
    pairs = list(raw.items()) if isinstance(raw, Mapping) else list(enumerate(raw)) if isinstance(raw, list) else None
    if pairs is None:
        return {}, f"cases is {_describe(raw)} instead of a list or dict of numbers in [0, 1]"
    cases = {}
    for name, value in pairs:
        if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
            return {}, f"the case {name} is {_describe(value)} instead of a number in [0, 1]"
        cases[str(name)] = float(value)
    return cases, ""


def _feedback(raw: Mapping[Any, Any], *, flags: bool) -> str:
    """What of a result is text, a line each; with `flags` also what is true or false."""
    lines = []
    for key, value in raw.items():
        number = isinstance(value, bool | int | float) and not (flags and isinstance(value, bool))
        if number or (key == "cases" and not flags) or value is None:
            continue
        if key in _TEXT_KEYS and isinstance(value, Mapping):
            lines += [f"{name}: {text}" for name, text in value.items()]
        else:
            lines.append(str(value) if key in _TEXT_KEYS else f"{key}: {value}")
    return "\n".join(lines)


def _describe(value: object) -> str:
    if isinstance(value, str):
        return f"the text {value[:60]!r}"
    return f"the number {value}" if isinstance(value, int | float) else f"a {type(value).__name__}"
