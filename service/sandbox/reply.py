"""What a keeper reported, as an evaluation."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evolve.evaluation import Evaluation, Outcome, read_result
from evolve.problem import Problem

_FEEDBACK_CHARACTERS = 2000


def read_reply(reply: Mapping[str, Any], problem: Problem) -> Evaluation:
    """An evaluation of what a keeper reported."""
    outcome, reason = Outcome(reply["outcome"]), str(reply.get("reason", ""))
    if outcome is Outcome.OK:
        return read_result(reply.get("result"), problem)
    printed = str(reply.get("printed", "")).strip()[-_FEEDBACK_CHARACTERS:]
    if outcome is Outcome.STAGE and problem.evaluator.lenient:
        found = read_result(reply.get("result"), problem)
        return replace(found, feedback="\n".join(filter(None, (found.feedback, reason))))
    if outcome is Outcome.STAGE:
        return replace(read_result(reply.get("result"), problem), outcome=outcome, reason=reason)
    return Evaluation(outcome=outcome, reason=reason, feedback=f"it printed:\n{printed}" if printed else "")


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
