"""Problems: submit, check, look at."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from evolve.evaluation import Trace
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.error_responses import raises
from service.api.idempotency import OnceDep, made
from service.api.openapi_responses import EMPTY, LOCATION, REPLAY_HEADER
from service.api.pagination import DEFAULT_LIMIT, Cursor, Limit, Paging
from service.api.problem_errors import ApiFault
from service.errors import ConflictError, InvalidProblemError, RefusedError
from service.ports import Caller, NewProblem, ProblemRecord, ProblemReport, Scope, SeedReport, Upload
from service.schemas.problem_details import Code
from service.schemas.problems import Problem, ProblemCheck, ProblemCreate, ProblemPage, SeedScore

router = APIRouter(prefix="/v1/problems", tags=["problems"], route_class=ApiRoute)

Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ))]
Downloading = Annotated[Caller, Depends(requires(Scope.RUNS_READ, Scope.PROGRAMS_READ))]
Writing = Annotated[Caller, Depends(requires(Scope.RUNS_WRITE))]
ProblemId = Annotated[
    str,
    Path(pattern=r"^[^\x00/]{1,210}$", description="Id of a version, name for the latest version, or `name@version`."),
]
_MADE: dict[int | str, dict[str, Any]] = raises(InvalidProblemError, RefusedError) | {
    201: {"model": Problem, "headers": LOCATION | REPLAY_HEADER}
}


@router.post("", status_code=201, response_model=Problem, responses=_MADE, operation_id="create_problem")
def create_problem(body: ProblemCreate, caller: Writing, parts: PartsDep, once: OnceDep) -> Response:
    """Submit a problem. Another content under the same name is a new version. The same content is not."""
    problem = replace(parts.submissions.read_problem(_upload(body)), tenant=caller.tenant)

    def effect() -> Response:
        record = parts.problems.add(problem)
        return made(shown(record), 201, {"Location": f"/v1/problems/{record.id}"})

    return once(effect)


@router.post(
    "/check",
    response_model=ProblemCheck,
    responses=raises(InvalidProblemError, RefusedError),
    operation_id="check_problem",
)
async def check_problem(
    body: ProblemCreate,
    caller: Writing,
    parts: PartsDep,
    seeds: Annotated[bool, Query(description="false: its files are read, and nothing is run.")] = True,
) -> ProblemCheck:
    """Check a problem without saving it: list every complaint, and score its seeds in the sandbox."""
    del caller
    upload = _upload(body)
    try:
        if seeds:
            return _checked(await parts.submissions.check_problem(upload))
        return _read(await run_in_threadpool(parts.submissions.read_problem, upload))
    except InvalidProblemError as error:
        complaints = list(error.complaints)
        return ProblemCheck(name=body.name or "", ok=False, complaints=complaints, warnings=[], document={}, seeds=[])


@router.get("", response_model=ProblemPage, operation_id="list_problems")
def list_problems(
    caller: Reading,
    parts: PartsDep,
    name: Annotated[str, Query(pattern=r"^[^\x00]*$", max_length=200, description="Only versions of this name.")] = "",
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = "",
) -> ProblemPage:
    """List problems, newest first."""
    paging = Paging(parts.signer, cursor, limit, {"list": "problems", "tenant": caller.tenant, "name": name})
    rows = parts.problems.problems(caller.tenant, name, paging.after or "", paging.limit + 1)
    page, following = paging.cut(rows, lambda row: row.id)
    return ProblemPage(items=[shown(row) for row in page], next_cursor=following)


@router.get("/{problem_id}", response_model=Problem, operation_id="get_problem")
def get_problem(problem_id: ProblemId, caller: Reading, parts: PartsDep) -> Problem:
    """Read a version of a problem."""
    return shown(parts.problems.get(caller.tenant, problem_id))


@router.get(
    "/{problem_id}/bundle",
    response_class=Response,
    responses={200: {"content": {"application/gzip": {}}, "description": "The folder as tar.gz."}},
    operation_id="download_problem",
)
def download_problem(problem_id: ProblemId, caller: Downloading, parts: PartsDep) -> Response:
    """Download a problem's folder as it was submitted."""
    record = parts.problems.get(caller.tenant, problem_id)
    headers = {
        "Content-Disposition": f'attachment; filename="{record.id}.tar.gz"',
        "Cache-Control": "private, max-age=31536000, immutable",
        "ETag": f'"{record.bundle_hash}"',
    }
    return Response(parts.problems.bundle(record.bundle_hash).content, 200, headers, "application/gzip")


@router.delete("/{problem_id}", status_code=204, responses=EMPTY | raises(ConflictError), operation_id="delete_problem")
def delete_problem(problem_id: ProblemId, caller: Writing, parts: PartsDep) -> Response:
    """Delete a version of a problem that has no runs."""
    parts.problems.delete(caller.tenant, parts.problems.get(caller.tenant, problem_id).id)
    return Response(status_code=204)


def shown(record: ProblemRecord) -> Problem:
    """A problem as it goes over the wire."""
    return Problem(
        id=record.id,
        name=record.name,
        version=record.version,
        bundle_hash=record.bundle_hash,
        document={key: value for key, value in record.document.items() if key != "warnings"},
        warnings=list(record.document.get("warnings", ())),
        created_at=record.created_at,
    )


def _upload(body: ProblemCreate) -> Upload:
    if twice := set(body.files) & set(body.binary_files):
        raise ApiFault(
            422, Code.INVALID_REQUEST, f"{min(twice)!r} stands in files and in binary_files: leave it in one"
        )
    return Upload(name=body.name or "", files=body.contents(), executable=frozenset(body.executable))


def _read(problem: NewProblem) -> ProblemCheck:
    document = dict(problem.document)
    warnings = list(document.pop("warnings", ()))
    return ProblemCheck(name=problem.name, ok=True, complaints=[], warnings=warnings, document=document, seeds=[])


def _score(seed: SeedReport) -> SeedScore:
    evaluation, trace = seed.evaluation, seed.evaluation.trace or Trace()
    return SeedScore(
        seed=seed.name,
        outcome=str(evaluation.outcome),
        reason=evaluation.reason,
        scores=dict(evaluation.scores),
        measures=dict(evaluation.measures),
        feedback=evaluation.feedback,
        answer=evaluation.answer,
        seconds=evaluation.seconds,
        fitness=seed.fitness,
        printed=dict(trace.printed),
        artifacts=dict(trace.artifacts),
        feedback_without_artifacts=trace.feedback,
        imports=dict(trace.imports),
    )


def _checked(report: ProblemReport) -> ProblemCheck:
    return ProblemCheck(
        name=report.name,
        ok=not report.complaints,
        complaints=list(report.complaints),
        warnings=list(report.warnings),
        document=report.document,
        seeds=[_score(seed) for seed in report.seeds],
        errors=list(report.errors),
        advice=list(report.advice),
    )
