"""Programs: candidates of runs, their sources, lineages, diffs and evaluations."""

import hashlib
import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response

from evolve.evaluation import Outcome
from evolve.views.candidate_view import HTML_POLICY, MEDIA_TYPES
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, missing, requires
from service.api.error_responses import raises
from service.api.etags import seen
from service.api.idempotency import OnceDep, made
from service.api.openapi_responses import NOT_MODIFIED, REPLAY_HEADER
from service.api.pagination import DEFAULT_LIMIT, Cursor, Include, Limit, Paging
from service.api.range_responses import CHANGING, IMMUTABLE, IfRange, Range, ranged, served
from service.api.routes.runs import Reading, RunId, Steering, reader_of
from service.api.serializers.candidates import shown_candidate, shown_evaluation
from service.errors import ConflictError, NotFoundError
from service.ports import Caller, CandidateFilter, CandidateRecord, RunReader, Scope
from service.projections.candidates import parent_of
from service.projections.diff import file_diffs
from service.projections.failures import reasons_like
from service.projections.sides import sides_of
from service.schemas.candidates import (
    Candidate,
    CandidateDiff,
    CandidatePage,
    Direction,
    EvaluationPage,
    FileChange,
    Lineage,
    ReevaluationReply,
    Source,
    SourceFile,
)

router = APIRouter(prefix="/v1", tags=["candidates"], route_class=ApiRoute)

NAME = r"^[^\x00]*$"
WHOLE = r"^[0-9]{0,9}$"
NOTHING = "nothing"
Texts = Annotated[Caller, Depends(requires(Scope.PROGRAMS_READ, shared=True))]
CandidateId = Annotated[
    str,
    Path(
        pattern=r"^[A-Za-z0-9_.-]{1,100}$",
        description="Id of a candidate (`cnd_...`), its beginning, or `RUN.28.0`: a run and the name of its candidate.",
    ),
]
Status = Annotated[
    str,
    Query(pattern=r"^(pending|evaluating|evaluated|duplicate|rejected)?$", description="Only of this status."),
]
Result = Annotated[str, Query(pattern=r"^[a-z]{0,20}$", description="Only with this outcome: `ok`, `timeout`, ...")]
Island = Annotated[str, Query(pattern=WHOLE, description="Only of this island.")]
Operator = Annotated[str, Query(pattern=NAME, max_length=100, description="Only by this operator. `seed`: seeds.")]
Policy = Annotated[str, Query(pattern=NAME, max_length=200, description="Only by this policy.")]
Number = Annotated[str, Query(pattern=WHOLE, description="Only of the proposal with this number.")]
SourceText = Annotated[
    str,
    Query(
        pattern=NAME,
        max_length=200,
        description=("Only with exactly this text in a source file, in upper or lower case. Needs `programs:read`."),
    ),
]
Reason = Annotated[
    str,
    Query(
        pattern=NAME,
        max_length=300,
        description="Only those that failed for this reason, whatever its numbers and quoted values. A group of"
        " `/v1/runs/{run_id}/failures` tells its reason. Needs `programs:read`.",
    ),
]
Order = Annotated[
    Literal["age", "fitness"],
    Query(description="`age`: oldest first. `fitness`: only candidates with a fitness, fittest first."),
]
Other = Annotated[str, Query(pattern=r"^([A-Za-z0-9_.-]{6,100})?$", description="Another candidate, as in the path.")]
Family = Annotated[int, Query(ge=1, description="Maximum number of programs. More than 1000 counts as 1000.")]
FilePath = Annotated[str, Path(max_length=1000, description="Path of a file of the program.")]
Key = tuple[int, int]

_TAKEN: dict[int | str, dict[str, Any]] = {202: {"model": ReevaluationReply, "headers": REPLAY_HEADER}}
_TEXT = "text/plain; charset=utf-8"
# Wherever it is opened, a view is in an origin of its own, and neither runs nor loads anything.
_CONFINED = {
    "Content-Security-Policy": f"sandbox; {HTML_POLICY}; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}
_WHOLE_ID = re.compile(r"cnd_[0-9a-f]{20}_[0-9]+_[0-9]+", re.ASCII)


async def wanted(
    status: Status = "",
    outcome: Result = "",
    island: Island = "",
    operator: Operator = "",
    policy: Policy = "",
    proposal_number: Number = "",
) -> CandidateFilter:
    """Which candidates are asked for; not in a thread, which takes longer to reach."""
    return CandidateFilter(
        status=status,
        outcome=outcome,
        island=_number(island),
        operator=operator,
        policy=policy,
        proposal_number=_number(proposal_number),
    )


Wanted = Annotated[CandidateFilter, Depends(wanted)]


@router.get("/runs/{run_id}/candidates", response_model=CandidatePage, operation_id="list_candidates")
def list_candidates(
    run_id: RunId,
    caller: Reading,
    parts: PartsDep,
    only: Wanted,
    text: SourceText = "",
    reason: Reason = "",
    order: Order = "age",
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = "",
    include: Include = "",
) -> CandidatePage:
    """List the candidates of a run: all by age, or the valid candidates by fitness.

    With `text`, a page may hold fewer programs than `limit`, even none, and have a `next_cursor`. Each page searches
    at most 10,000 programs. Such a list has no count.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    if (text or reason) and Scope.PROGRAMS_READ not in caller.scopes:
        raise missing(Scope.PROGRAMS_READ)
    about = {"list": "candidates", "run": run.id, "only": only, "order": order, "text": text, "reason": reason}
    paging = Paging(parts.signer, cursor, limit, about)
    if reason:
        only = replace(only, reasons=reasons_like(reason, reader.outcomes(run.id)))
    if text:
        after = tuple(paging.after) if paging.after else None
        found = reader.search(run.id, text, paging.limit, after, only, ranked=order == "fitness")
        items = [shown_candidate(row, caller) for row in found.candidates]
        return CandidatePage(items=items, next_cursor=paging.behind(found.reached) if found.reached else None)
    if order == "fitness":
        after = tuple(paging.after) if paging.after else None
        rows, following = paging.cut(reader.best(run.id, paging.limit + 1, after, only), _by_fitness)
    else:
        rows, following = paging.cut(reader.candidates(run.id, _after(paging), paging.limit + 1, only), _by_age)
    count = _count(reader, run.id, only, order) if include else None
    return CandidatePage(items=[shown_candidate(row, caller) for row in rows], next_cursor=following, count=count)


@router.get("/candidates/{candidate_id}", response_model=Candidate, operation_id="get_candidate")
def get_candidate(candidate_id: CandidateId, caller: Reading, parts: PartsDep) -> Candidate:
    """Read a candidate with its origin and its scores."""
    return shown_candidate(reader_of(parts, caller).candidate(candidate_id), caller)


@router.get(
    "/candidates/{candidate_id}/source",
    response_model=Source,
    responses=NOT_MODIFIED,
    operation_id="get_candidate_source",
)
def get_candidate_source(request: Request, candidate_id: CandidateId, caller: Texts, parts: PartsDep) -> Response:
    """Read the source text of a candidate. It never changes, and its ETag is the id of its content."""
    reader = reader_of(parts, caller)
    candidate = reader.candidate(candidate_id)
    program = reader.program(candidate.id)
    headers = {"ETag": f'"{program.id}"', **_lasting(candidate_id)}
    if seen(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    files = [SourceFile(path=path, text=text) for path, text in program.files]
    return made(Source(candidate_id=candidate.id, program_id=program.id, files=files), 200, headers)


@router.get(
    "/candidates/{candidate_id}/files/{path:path}",
    response_class=Response,
    responses=ranged("text/plain"),
    operation_id="get_candidate_file",
)
def get_candidate_file(
    request: Request,
    candidate_id: CandidateId,
    path: FilePath,
    caller: Texts,
    parts: PartsDep,
    _range: Range = "",
    _if_range: IfRange = "",
) -> Response:
    """Read a file of a candidate, whole or in part."""
    reader = reader_of(parts, caller)
    program = reader.program(reader.candidate(candidate_id).id)
    for place, (name, text) in enumerate(program.files):
        if name == path:
            content = text.encode("utf-8", "backslashreplace")
            return served(request, content, f'"{program.id}-{place}"', _TEXT, _lasting(candidate_id))
    raise NotFoundError(f"the program of {candidate_id} has no file {path[:100]!r}: its source lists them")


@router.get(
    "/candidates/{candidate_id}/view",
    response_class=Response,
    responses=ranged(*MEDIA_TYPES),
    operation_id="get_candidate_view",
)
def get_candidate_view(
    request: Request,
    candidate_id: CandidateId,
    caller: Texts,
    parts: PartsDep,
    _range: Range = "",
    _if_range: IfRange = "",
) -> Response:
    """Read what a candidate looks like: an SVG, a PNG or a page that runs and loads nothing."""
    reader = reader_of(parts, caller)
    candidate = reader.candidate(candidate_id)
    view = reader.view(candidate.id)
    if view is not None and view.on_demand:
        raise NotFoundError(f"the view of {candidate_id} is not drawn yet: POST /v1/candidates/{candidate.id}/drawing")
    if view is None or not view.media_type:
        raise NotFoundError(f"{candidate_id} has no view: {view.reason if view else 'its evaluator drew nothing'}")
    tag = f'"{hashlib.sha256(view.data).hexdigest()[:32]}"'
    headers = _CONFINED | {**_lasting(candidate_id)}
    return served(request, view.data, tag, view.media_type, headers)


@router.get("/candidates/{candidate_id}/lineage", response_model=Lineage, operation_id="get_lineage")
def get_lineage(
    candidate_id: CandidateId,
    caller: Reading,
    parts: PartsDep,
    direction: Annotated[Direction, Query(description="Which way to look.")] = "ancestors",
    to: Other = "",
    limit: Family = 1000,
) -> Lineage:
    """Read the ancestors or the descendants of a candidate, or its path to another candidate.

    `ancestors`: the line of first parents, from the candidate itself to its seed. `descendants`: its descendants
    over parents and crossover, without itself, oldest first. `path`: a shortest line over parents and crossover
    between it and `to`, the older first. Empty if neither descends from the other. Without `to`, it begins at
    the seed that the first parents lead to.
    """
    reader = reader_of(parts, caller)
    candidate, maximum = reader.candidate(candidate_id), min(limit, 1000)
    if direction == "path":
        found = _path(reader, candidate, to)
    elif direction == "ancestors":
        found = reader.ancestors(candidate.id)
    else:
        found = reader.descendants(candidate.id, maximum + 1)
    items = [shown_candidate(row, caller) for row in found[:maximum]]
    return Lineage(candidate_id=candidate.id, direction=direction, items=items, truncated=len(found) > maximum)


@router.get("/candidates/{candidate_id}/children", response_model=CandidatePage, operation_id="list_children")
def list_children(
    candidate_id: CandidateId, caller: Reading, parts: PartsDep, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = ""
) -> CandidatePage:
    """List the children of a candidate by age, those by crossover included."""
    reader = reader_of(parts, caller)
    candidate = reader.candidate(candidate_id)
    paging = Paging(parts.signer, cursor, limit, {"list": "children", "of": candidate.id})
    rows, following = paging.cut(reader.children(candidate.id, _after(paging), paging.limit + 1), _by_age)
    return CandidatePage(items=[shown_candidate(row, caller) for row in rows], next_cursor=following)


@router.get("/candidates/{candidate_id}/diff", response_model=CandidateDiff, operation_id="get_diff")
def get_diff(candidate_id: CandidateId, caller: Texts, parts: PartsDep, against: Other = "") -> CandidateDiff:
    """Compare a candidate with another, or with its first parent.

    A seed is compared with the empty program. In a run over a repository it is compared with the commit.
    """
    reader = reader_of(parts, caller)
    candidate = reader.candidate(candidate_id)
    other = reader.candidate(against).id if against else parent_of(candidate)
    run = reader.run(candidate.run_id)
    before, after = sides_of(
        reader.program(other) if other else None,
        reader.program(candidate.id),
        lambda: parts.repositories(run.bundle_hash),
    )
    changes = [
        FileChange(path=diff.path, change=diff.change, added=diff.added, removed=diff.removed, diff=diff.text)
        for diff in file_diffs(before, after, other or NOTHING, candidate.id)
    ]
    return CandidateDiff(
        candidate_id=candidate.id,
        against=other,
        added=sum(change.added or 0 for change in changes),
        removed=sum(change.removed or 0 for change in changes),
        files=changes,
    )


@router.get("/candidates/{candidate_id}/evaluations", response_model=EvaluationPage, operation_id="list_evaluations")
def list_evaluations(
    candidate_id: CandidateId, caller: Reading, parts: PartsDep, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = ""
) -> EvaluationPage:
    """List all evaluations of a candidate, oldest first."""
    reader = reader_of(parts, caller)
    candidate = reader.candidate(candidate_id)
    paging = Paging(parts.signer, cursor, limit, {"list": "evaluations", "of": candidate.id})
    behind = (row for row in reader.evaluations(candidate.id) if row.attempt > (paging.after or 0))
    rows, following = paging.cut(list(itertools.islice(behind, paging.limit + 1)), lambda row: row.attempt)
    return EvaluationPage(items=[shown_evaluation(row, caller) for row in rows], next_cursor=following)


@router.post(
    "/candidates/{candidate_id}/evaluations",
    status_code=202,
    response_model=ReevaluationReply,
    responses=_TAKEN | raises(ConflictError),
    operation_id="reevaluate_candidate",
)
def reevaluate_candidate(candidate_id: CandidateId, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Evaluate a candidate of a paused or ended run once more. Repeating has no effect until it is done."""
    candidate = reader_of(parts, caller).candidate(candidate_id)

    def effect() -> Response:
        intents, now = parts.intents(caller.tenant), parts.clock.now()
        new = intents.reevaluate(candidate.run_id, [candidate.id], caller.actor, now) > 0
        body = ReevaluationReply(candidate_id=candidate.id, run_id=candidate.run_id, requested=new)
        return made(body, 202, {"Location": f"/v1/candidates/{candidate.id}/evaluations"})

    return once(effect)


def _number(text: str) -> int | None:
    return int(text) if text else None


def _by_age(candidate: CandidateRecord) -> Key:
    return candidate.proposal_number, candidate.position


def _by_fitness(candidate: CandidateRecord) -> tuple[float | None, int, int]:
    return candidate.fitness, candidate.proposal_number, candidate.position


def _after(paging: Paging) -> Key:
    return tuple(paging.after) if paging.after else (-1, -1)


def _count(reader: RunReader, run_id: str, only: CandidateFilter, order: str) -> int:
    if order == "age":
        return reader.count_candidates(run_id, only)
    # What has a fitness was evaluated with success, and the other way round.
    if only.outcome not in ("", Outcome.OK):
        return 0
    return reader.count_candidates(run_id, replace(only, outcome=str(Outcome.OK)))


def _path(reader: RunReader, candidate: CandidateRecord, to: str) -> list[CandidateRecord]:
    if not to:
        return reader.ancestors(candidate.id)[::-1]
    other = reader.candidate(to)
    return reader.path(candidate.id, other.id) or reader.path(other.id, candidate.id)


def _lasting(candidate_id: str) -> Mapping[str, str]:
    """The content behind a whole id never changes; a beginning of one may come to be that of several."""
    return IMMUTABLE if _WHOLE_ID.fullmatch(candidate_id) else CHANGING


__all__ = ["CandidateId", "Texts", "router"]
