"""What a keeper reported, as an evaluation."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evolve.evaluation import MAX_ARTIFACTS, MAX_TRACE_CHARACTERS, Evaluation, Outcome, Trace, read_result
from evolve.problem import Integrity, Problem
from evolve.views.candidate_view import read_view, undrawn_view

_FEEDBACK_CHARACTERS = 2000


def read_reply(reply: Mapping[str, Any], problem: Problem, *, traced: bool = False) -> Evaluation:
    """An evaluation of what a keeper reported, with its trace where one is wanted."""
    evaluation = _read(reply, problem)
    return replace(evaluation, trace=_trace(reply, problem)) if traced and evaluation.ok else evaluation


def read_drawing(reply: Mapping[str, Any]) -> Evaluation:
    """What a keeper reported of a view that was to be drawn. Its outcome is ok wherever there is a view or a reason."""
    outcome, reason, result = Outcome(reply["outcome"]), str(reply.get("reason", "")), reply.get("result")
    if outcome in (Outcome.CANCELLED, Outcome.LOST):
        return Evaluation(outcome=outcome, reason=reason)
    if outcome is not Outcome.OK:
        return Evaluation(outcome=Outcome.OK, view=undrawn_view(reason))
    view = read_view(result.get("view")) if isinstance(result, Mapping) else None
    drawn = view is not None and not view.on_demand
    return Evaluation(outcome=Outcome.OK, view=view if drawn else undrawn_view("render() returned None."))


def _read(reply: Mapping[str, Any], problem: Problem) -> Evaluation:
    outcome, reason = Outcome(reply["outcome"]), str(reply.get("reason", ""))
    if outcome is Outcome.OK:
        return read_result(reply.get("result"), problem)
    if outcome is Outcome.STAGE and problem.evaluator.lenient:
        found = read_result(reply.get("result"), problem)
        if not found.ok:  # a later stage would have brought what is missing
            return replace(found, outcome=outcome, reason=f"{reason}; {found.reason}")
        return replace(found, feedback="\n".join(filter(None, (found.feedback, reason))))
    if outcome is Outcome.STAGE:
        return replace(read_result(reply.get("result"), problem), outcome=outcome, reason=reason)
    printed = str(reply.get("printed", "")).strip()[-_FEEDBACK_CHARACTERS:]
    return Evaluation(outcome=outcome, reason=reason, feedback=f"it printed:\n{printed}" if printed else "")


def _trace(reply: Mapping[str, Any], problem: Problem) -> Trace:
    result = reply.get("result")
    raw = dict(result) if isinstance(result, Mapping) else {}
    given = raw.pop("artifacts", None)
    artifacts = given if isinstance(given, Mapping) else {"artifacts": given} if given else {}
    program = reply.get("program", {})
    whole = "both" if problem.evaluator.integrity is Integrity.SHARED else "evaluator"
    printed = {"program": program.get("printed", ""), whole: reply.get("printed", "")}
    imports = Counter(program.get("imports", {}))
    imports.update(reply.get("imports", {}))
    return Trace(
        printed={who: end for who, text in printed.items() if (end := _end(text))},
        artifacts={str(name): _end(str(text)) for name, text in list(artifacts.items())[:MAX_ARTIFACTS]},
        feedback=read_result(raw, problem).feedback,
        imports=dict(imports),
    )


def _end(text: str) -> str:
    """The end of a text without what neither databases nor the wire take."""
    text = text.strip().encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    return text if len(text) <= MAX_TRACE_CHARACTERS else f"…{text[1 - MAX_TRACE_CHARACTERS :]}"


def combine(rounds: Sequence[Evaluation]) -> Evaluation:
    """Several evaluations of one program as one: means, the sample standard deviation of each score, the usual answer.

    The first that is not ok stands for all.
    """
    if len(rounds) == 1 or not rounds[-1].ok:
        return replace(rounds[-1], repeats=len(rounds))
    scores = _means([one.scores for one in rounds])
    spread = {
        name: statistics.stdev(one.scores[name] for one in rounds)
        for name in scores
        if all(name in one.scores for one in rounds)
    }
    return replace(
        rounds[-1],
        scores=scores,
        measures=_means([one.measures for one in rounds]),
        cases=_means([one.cases for one in rounds]),
        spread=spread,
        repeats=len(rounds),
        answer=_usual([one.answer for one in rounds]),
    )


def _usual(answers: Sequence[str | None]) -> str | None:
    """The one given most often, of several the first."""
    given = Counter(answer for answer in answers if answer is not None)
    return given.most_common(1)[0][0] if given else None


def _means(maps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = [name for name in maps[0] if all(name in other for other in maps)]
    return {name: math.fsum(one[name] for one in maps) / len(maps) for name in names}
