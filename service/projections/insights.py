"""Facts of a run in a few lines, for people and for prompts: gains, failures by reason, approaches tried."""

import difflib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from evolve.identity import candidate_name
from evolve.program import Program
from evolve.search.hints import MAX_HINT_CHARACTERS
from service.ports import CandidateRecord, ResultReader, RunReader, RunRecord
from service.projections.candidates import objectives_of

if TYPE_CHECKING:
    from service.schemas.failures import RunFailures
    from service.schemas.statistics import RunStatistics

MAX_GAINS, MAX_FAILURES, MAX_CHANGED, MAX_CHARACTERS = 5, 5, 2, 100
DUPLICATE, SEED = "duplicate", "seed"


def facts_of(reader: ResultReader, run: RunRecord, failures: "RunFailures", statistics: "RunStatistics") -> str:
    """The facts, as short as a hint; the most useful come first, and whole lines are left out at the end."""
    lines: list[str] = []
    for line in _lines(reader, run, failures, statistics):
        if sum(len(one) + 1 for one in lines) + len(line) > MAX_HINT_CHARACTERS:
            break
        lines.append(line)
    return "\n".join(lines)


def stored_facts(reader: RunReader, run_id: str) -> str:
    """The facts of a run in a database."""
    from service.projections.columns import columns_of
    from service.projections.failures import group_failures
    from service.projections.statistics import fold_statistics

    run = reader.run(run_id)
    failures = group_failures(run.id, reader.outcomes(run.id))
    return facts_of(reader, run, failures, fold_statistics(reader, columns_of(reader, run), run))


def _lines(reader: ResultReader, run: RunRecord, failures: "RunFailures", statistics: "RunStatistics") -> Iterator[str]:
    yield f"Facts from {run.counters.evaluations} evaluated candidates of this run:"
    gains = list(_gains(reader, run))
    if gains:
        yield "Changes that improved the best program, largest gain first:"
        yield from gains
    groups = [group for group in failures.items if group.outcome != DUPLICATE][:MAX_FAILURES]
    if groups:
        yield "Failures to avoid:"
    for group in groups:
        yield f"- {group.count} x {group.outcome}" + (f": {_short(group.reason)}" if group.reason else "")
    tried = [entry for entry in statistics.operators if entry.evaluations and entry.name != SEED]
    if tried:
        yield "Approaches tried:"
    for entry in tried:
        better = f"{entry.improvements} of {entry.evaluations} improved the best"
        yield f"- {_short(entry.name)}: {better}, {entry.valid} were valid, {entry.duplicates} repeated a program"
    untried = sorted(set(run.config.get("operators", {})) - {entry.name for entry in tried})
    if untried:
        yield f"Untried so far: {', '.join(map(_short, untried))}"


def _gains(reader: ResultReader, run: RunRecord) -> Iterator[str]:
    """The steps of the best candidate's line that gained, each with the first lines that it changed."""
    if run.best_candidate_id is None:
        return
    line = list(reversed(reader.ancestors(run.best_candidate_id)))
    steps = [(_gain(before, after), before, after) for before, after in pairwise(line)]
    for gain, before, after in sorted(steps, key=lambda step: -step[0])[:MAX_GAINS]:
        if gain > 0:
            changed = _changed(reader.program(before.id), reader.program(after.id))
            scores = f"{_score(run, before)} to {_score(run, after)}"
            yield f"- {scores} ({candidate_name(after.id)}, {after.operator}): {changed}"


def _gain(before: CandidateRecord, after: CandidateRecord) -> float:
    return after.fitness - before.fitness if before.fitness is not None and after.fitness is not None else 0.0


def _score(run: RunRecord, candidate: CandidateRecord) -> str:
    objectives = objectives_of(run)
    sign = objectives[0].sign if len(objectives) == 1 else 1.0
    return "none" if candidate.fitness is None else f"{sign * candidate.fitness:.6g}"


def _changed(before: Program, after: Program) -> str:
    lines = list(difflib.unified_diff(before.text.splitlines(), after.text.splitlines(), n=0, lineterm=""))[2:]
    old, new = (_quoted([one[1:] for one in lines if one.startswith(sign)]) for sign in ("-", "+"))
    if old and new:
        return f"replaced {old} by {new}"
    return f"added {new}" if new else f"removed {old}" if old else "moved lines"


def _quoted(lines: Sequence[str]) -> str:
    kept = [f"`{_short(line)}`" for line in lines if line.strip()]
    rest = f" and {len(kept) - MAX_CHANGED} more lines" if len(kept) > MAX_CHANGED else ""
    return ", ".join(kept[:MAX_CHANGED]) + rest


def _short(text: str) -> str:
    """Text of others in one line, without characters that a hint may not hold."""
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return words if len(words) <= MAX_CHARACTERS else f"{words[: MAX_CHARACTERS - 1]}…"
