"""Programs that users insert into runs at work."""

from fastapi import APIRouter
from fastapi.responses import Response

from evolve.change_events import RequestedChange
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.error_responses import raises
from service.api.idempotency import OnceDep
from service.api.routes.runs import CHANGED, RunId, Steering, reader_of, steered
from service.errors import NotFoundError, UsageError
from service.identifiers import CHANGE, new_id
from service.projections.insertion import InsertedProgram, insertion_change
from service.schemas.changes import ChangedRun
from service.schemas.insertions import CandidateInsert

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=ApiRoute)
_INSERTED = CHANGED | raises(NotFoundError, UsageError)


@router.post(
    "/{run_id}/candidates",
    status_code=202,
    response_model=ChangedRun,
    responses=_INSERTED,
    operation_id="insert_candidate",
)
def insert_candidate(
    run_id: RunId, body: CandidateInsert, caller: Steering, parts: PartsDep, once: OnceDep
) -> Response:
    """Insert a program that you wrote. The workers of the run evaluate it, and its operator is `manual`.

    It is checked first: its size, its syntax, and that only EVOLVE-BLOCK regions differ from the parent. The search
    receives it within a second, as the event `program.inserted`. It counts as an answer and an evaluation.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)

    def check() -> RequestedChange:
        language = parts.problems.get(caller.tenant, run.problem_id).document.get("language", "")
        insertion = InsertedProgram(files=body.files, removed=body.removed, parent=body.parent, island=body.island)
        change_id = new_id(CHANGE, parts.clock.now())
        return insertion_change(reader, run, language, insertion, change_id, caller.actor, parts.repositories)

    return once.after(check, lambda change: steered(parts, caller, run, change))
