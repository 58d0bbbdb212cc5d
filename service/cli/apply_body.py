"""The text of a pull request for the winner of a run, with its proof: scores, lineage, cost and audit."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from evolve.evaluation import Evaluation
from evolve.problem import Objective
from service.cli import formatting
from service.cli.assessment import assessment_rows
from service.cli.lineage import LineageStep, walk
from service.cli.records import as_score, policy_names
from service.cli.summary import SCALAR
from service.cli.terminal import plain
from service.ports import CandidateRecord, RunRecord
from service.projections.candidates import objectives_of

if TYPE_CHECKING:
    from service.projections.run_site import RunSite
    from service.usecases.apply_winner import RescoringResult

MAX_STEPS = 20


def body_of(
    site: "RunSite", run: RunRecord, seed: CandidateRecord, winner: CandidateRecord, scored: "RescoringResult"
) -> str:
    """The text, in Markdown, ended by a new line.

    Args:
        site: where the run is.
        run: the run.
        seed: the candidate that it began from.
        winner: the candidate that replaces it.
        scored: the two, scored again.
    """
    lines = [
        f"## {title_of(run, seed, winner)}",
        "",
        *_scores(run, seed, winner, scored),
        "",
        *_verdict(run, scored),
        "",
        "### Lineage",
        "",
        *_lineage(site, run, winner),
        "",
        "### Cost and origin",
        "",
        *_facts(site, run, winner),
    ]
    return "\n".join(lines) + "\n"


def title_of(run: RunRecord, seed: CandidateRecord, winner: CandidateRecord) -> str:
    """One line on what the winner brings."""
    name, (before, after) = run.problem_name, (as_score(run, one.fitness) for one in (seed, winner))
    objectives = objectives_of(run)
    label = objectives[0].name if len(objectives) == 1 else "fitness"
    return plain(f"{name}: {label} from {formatting.number(before)} to {formatting.number(after)}")


def message_of(site: "RunSite", run: RunRecord, seed: CandidateRecord, winner: CandidateRecord, body: str) -> str:
    """The message of a commit: the body of the pull request where there is one, else where the change comes from."""
    if body:
        return body.removeprefix("## ")
    return "\n".join([title_of(run, seed, winner), "", *_facts(site, run, winner)]) + "\n"


def _names(run: RunRecord) -> tuple[Objective, ...]:
    return objectives_of(run) or (Objective(name=SCALAR),)


def _scores(run: RunRecord, seed: CandidateRecord, winner: CandidateRecord, scored: "RescoringResult") -> Iterator[str]:
    yield "| score | before | after | before, scored again | after, scored again |"
    yield "|---|---|---|---|---|"
    for objective in _names(run):
        name = objective.name
        recorded = [formatting.exact(one.scores.get(name, one.fitness)) for one in (seed, winner)]
        again = [_again(one, name) for one in (scored.before, scored.after)]
        better = "lower" if objective.sign < 0 else "higher"
        yield f"| `{plain(name)}` ({better} is better) | {' | '.join([*recorded, *again])} |"


def _again(evaluation: Evaluation, name: str) -> str:
    if not evaluation.ok:
        return plain(f"{evaluation.outcome}: {evaluation.reason}").replace("|", "\\|").replace("\n", " ")
    spread = evaluation.spread.get(name)
    return formatting.exact(evaluation.scores.get(name)) + (f" ± {formatting.number(spread)}" if spread else "")


def _verdict(run: RunRecord, scored: "RescoringResult") -> Iterator[str]:
    times = formatting.plural(scored.repeats, "run")
    today = datetime.now(UTC).date().isoformat()
    yield f"Scored again on {today} in the sandbox ({scored.isolation}), {times} each."
    gains = [_gain(objective, scored) for objective in _names(run)]
    if not scored.after.ok:
        yield "**The winner fails now. Do not merge it.**"
    elif not scored.before.ok:
        yield "The program before fails now, so the two cannot be compared."
    elif all(gain > 0 for gain in gains):
        yield "The gain is confirmed."
    elif not any(gain > 0 for gain in gains):
        yield "**The gain is not confirmed: no score is better than before by more than its noise.**"
    else:
        yield "Some scores are better than before by more than their noise, and others are not."


def _gain(objective: Objective, scored: "RescoringResult") -> float:
    """How far a score is better than before, less twice the standard error of the difference."""
    before, after = (one.scores.get(objective.name) for one in (scored.before, scored.after))
    if before is None or after is None:
        return 0.0
    spread = sum(one.spread.get(objective.name, 0.0) ** 2 for one in (scored.before, scored.after))
    return objective.sign * (after - before) - 2 * math.sqrt(spread / scored.repeats)


def _lineage(site: "RunSite", run: RunRecord, winner: CandidateRecord) -> Iterator[str]:
    steps = list(walk(site, list(reversed(site.reader.ancestors(winner.id)))))
    shown = steps if len(steps) <= MAX_STEPS else [steps[0], *steps[1 - MAX_STEPS :]]
    yield "| candidate | score | change | lines | how |"
    yield "|---|---|---|---|---|"
    for step in shown:
        yield _step(run, step)
    if len(shown) < len(steps):
        yield ""
        yield f"{len(steps) - len(shown)} steps behind the first are left out."


def _step(run: RunRecord, step: LineageStep) -> str:
    one = step.candidate
    lines = "" if step.added is None else f"+{step.added} −{step.removed}"
    how = "seed" if one.proposal_number == 0 else plain(f"{one.operator} by {one.policy}").replace("|", "\\|")
    score, change = (as_score(run, value) for value in (one.fitness, step.delta))
    cells = [formatting.short(one.id), formatting.exact(score), formatting.signed(change), lines, how]
    return f"| {' | '.join(cells)} |"


def _facts(site: "RunSite", run: RunRecord, winner: CandidateRecord) -> Iterator[str]:
    counters = run.counters
    tokens = counters.tokens_input + counters.tokens_output
    cost = [
        formatting.plural(counters.evaluations, "evaluation"),
        *([f"{formatting.count(tokens)} tokens", f"cost {counters.cost or 'not known'}"] if tokens else []),
        formatting.duration(run.active_seconds),
    ]
    yield f"* Run `{run.id}`, candidate {formatting.short(winner.id)}"
    yield f"* Policy: {policy_names(run)}. {', '.join(cost)}"
    for label, value in assessment_rows(run, site.assessment(run)):
        if value:
            yield f"* {label}: {str(value).replace(chr(10), ', ')}"
