"""The closing assessment of a run in words and as JSON: what was held out, and the audit of the best."""

from dataclasses import asdict
from typing import Any

from evolve.search.assessment import Assessment, Audit, HeldOut
from service.cli import formatting
from service.cli.records import as_score
from service.cli.terminal import plain
from service.ports import RunRecord


def assessment_json(assessment: Assessment | None) -> dict[str, Any] | None:
    """An assessment as commands give it."""
    if assessment is None:
        return None
    audit = assessment.audit
    return {
        "holdout": [{**asdict(one), "difference": one.difference} for one in assessment.holdout],
        "audit": None if audit is None else {**asdict(audit), "holds": audit.holds, "sentence": audit.sentence},
    }


def assessment_rows(run: RunRecord, assessment: Assessment | None) -> list[tuple[str, Any]]:
    """What there is to say of it."""
    if assessment is None:
        return []
    held = "\n".join(_held_out(run, one) for one in assessment.holdout)
    audit = assessment.audit
    return [("held out", held or None), ("audit", _audit(audit) if audit else None)]


def _held_out(run: RunRecord, one: HeldOut) -> str:
    name = formatting.short(one.candidate_id)
    if one.fitness is None:
        return plain(f"{name}  not scored: {one.reason or one.outcome or 'the run did not come to it'}")
    there, before = as_score(run, one.fitness), as_score(run, one.recorded_fitness)
    return f"{formatting.exact(there)}  {name} (scored {formatting.exact(before)})"


def _audit(audit: Audit) -> str:
    ranges = [
        f"{one.name} {formatting.number(one.low)} to {formatting.number(one.high)}"
        f" (scored {formatting.number(one.recorded)})"
        for one in audit.ranges
    ]
    return plain("\n".join([audit.sentence, *ranges]))
