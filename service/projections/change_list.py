"""Changes of a run by people, with their effects, as the API and the command line show them."""

from collections.abc import Sequence

from evolve.change_events import (
    BanLifted,
    CandidateBanned,
    ChangeData,
    ChangeRefused,
    HintGiven,
    InsightsWritten,
    PriorityGiven,
    PriorityLifted,
    ProgramInserted,
    RequestedChange,
    SettingsChanged,
)
from service.ports import CandidateRecord, RunReader, RunRecord
from service.projections.changes import ChangeEffect, change_effects, read_changes
from service.projections.columns import columns_of
from service.schemas.changes import Change, ChangeList


def change_list(reader: RunReader, run: RunRecord, waiting: Sequence[RequestedChange]) -> ChangeList:
    """The newest changes of a run, the newest first."""
    changes = read_changes(reader, run, waiting)
    effects = change_effects(changes, columns_of(reader, run))
    return ChangeList(run_id=run.id, items=[describe_change(one) for one in effects])


def describe_change(one: ChangeEffect) -> Change:
    """A change with its effect."""
    change, candidate = one.change, one.candidate
    return Change.model_validate(
        {
            "id": change.change_id,
            "kind": str(change.kind),
            "by": change.by,
            "at": one.at,
            "text": change.text if isinstance(change, HintGiven | InsightsWritten) else "",
            "island": change.island if isinstance(change, HintGiven) else None,
            "wanted": change.proposals if isinstance(change, HintGiven | PriorityGiven) else 0,
            "candidate_id": candidate.id if candidate else _subject(change),
            "descendants": isinstance(change, CandidateBanned) and change.descendants,
            "settings": dict(change.settings) if isinstance(change, SettingsChanged) else {},
            "requested": change.requested if isinstance(change, ChangeRefused) else "",
            "reason": change.reason if isinstance(change, ChangeRefused) else "",
            "outcome": _outcome(candidate) if candidate else "",
            "parent": change.parent if isinstance(change, ProgramInserted) else None,
            "proposals": one.proposals,
            "evaluations": one.evaluations,
            "valid": one.valid,
            "improvements": one.improvements,
            "best_fitness": one.best_fitness,
            "evaluations_before": one.evaluations_before,
            "valid_before": one.valid_before,
            "improvements_before": one.improvements_before,
        }
    )


def _subject(change: ChangeData) -> str | None:
    """The candidate that a change is about."""
    if isinstance(change, CandidateBanned | BanLifted | PriorityGiven | PriorityLifted):
        return change.candidate_id
    return None


def _outcome(candidate: CandidateRecord) -> str:
    return "duplicate" if candidate.status == "duplicate" else candidate.outcome or ""
