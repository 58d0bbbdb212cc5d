"""Changes that users made of runs at work, each with its effect."""

from typing import Annotated

from fastapi import APIRouter, Depends

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
    SettingsChanged,
)
from service.api.auth import PartsDep, requires
from service.api.request_bodies import JsonRoute
from service.api.routes.runs import RunId, reader_of
from service.api.run_cache import FoldsDep
from service.ports import Caller, CandidateRecord, Scope
from service.projections.changes import ChangeEffect
from service.schemas.changes import Change, ChangeList

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=JsonRoute)

# Hints are words of people, as prompts hold them.
Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ, Scope.PROGRAMS_READ, shared=True))]


@router.get("/{run_id}/changes", response_model=ChangeList, operation_id="list_changes")
def list_changes(run_id: RunId, caller: Reading, parts: PartsDep, run_cache: FoldsDep) -> ChangeList:
    """List the changes of a run that users asked for, each with its effect."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    waiting = parts.intents(caller.tenant).changes(run.id)
    return ChangeList(run_id=run.id, items=[_change(one) for one in run_cache.changes(reader, run, waiting)])


def _change(one: ChangeEffect) -> Change:
    change, candidate = one.change, one.candidate
    return Change.model_validate(
        {
            "id": change.change_id,
            "kind": str(change.kind),
            "by": change.by,
            "at": one.at,
            "text": change.text if isinstance(change, HintGiven | InsightsWritten) else "",
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
