"""Exports and artifacts: a run to take away."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response, StreamingResponse

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.dependencies import ApiDependencies
from service.api.pagination import DEFAULT_LIMIT, Cursor, Limit, Paging
from service.api.range_responses import CHANGING, IfRange, Range, ranged, served
from service.api.routes.candidates import Texts
from service.api.routes.runs import RunId, reader_of
from service.errors import NotFoundError
from service.ports import RunReader, RunRecord
from service.projections.export import lines_of
from service.schemas.artifacts import Artifact, ArtifactPage
from service.schemas.export_form import ExportForm

router = APIRouter(prefix="/v1/runs/{run_id}", tags=["exports"], route_class=ApiRoute)

Format = Annotated[
    ExportForm,
    Query(
        description="`jsonl`: candidates with their files. `csv`: candidates without files. `training`: prompts and"
        " rewards. `events`: the event log."
    ),
]
ArtifactName = Annotated[str, Path(max_length=1100, description="Name of an artifact of the run.")]
BUNDLE, BEST = "problem.tar.gz", "best/"
CHUNK = 64 * 1024
_JSONL, _GZIP = "application/x-ndjson", "application/gzip"
_CSV, _TEXT = "text/csv; charset=utf-8", "text/plain; charset=utf-8"
_STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The run, line by line.",
        "content": {_JSONL: {"schema": {"type": "string"}}, "text/csv": {"schema": {"type": "string"}}},
        "headers": {"Content-Disposition": {"schema": {"type": "string"}}},
    }
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    name: str
    content: bytes
    media_type: str

    @property
    def tag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'


@router.get("/export", response_class=Response, responses=_STREAMED, operation_id="export_run")
def export_run(run_id: RunId, caller: Texts, parts: PartsDep, format: Format = "jsonl") -> Response:  # noqa: A002 -- the name on the wire
    """Export a run, line by line.

    `jsonl` is the format of `evolve export`. `csv` has a row per candidate. A text that a spreadsheet would read as a
    formula begins with an apostrophe there. `training` has a line per answered proposal: the messages of the prompt,
    the completions, and for every answer its candidate, status, outcome, reward vector, fitness and original if it is a
    duplicate. It also has the requested form of the answers, and the files of the parent. `events` has a line per
    event, in order.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    ending = f"-{format}.jsonl" if format in ("training", "events") else f".{format}"
    headers = {"Content-Disposition": f'attachment; filename="{run.id}{ending}"'}
    media_type = _CSV if format == "csv" else _JSONL
    return StreamingResponse(_chunks(lines_of(reader, run, format)), 200, headers, media_type)


@router.get("/artifacts", response_model=ArtifactPage, operation_id="list_artifacts")
def list_artifacts(
    run_id: RunId, caller: Texts, parts: PartsDep, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = ""
) -> ArtifactPage:
    """List the files of a run: the problem's folder, and the files of the best program so far."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    paging = Paging(parts.signer, cursor, limit, {"list": "artifacts", "run": run.id})
    behind = [file for file in _files(parts, reader, run) if paging.after is None or _order(file) > tuple(paging.after)]
    rows, following = paging.cut(behind[: paging.limit + 1], _order)
    items = [
        Artifact(
            name=file.name,
            media_type=file.media_type,
            bytes=len(file.content),
            etag=file.tag,
            url=f"/v1/runs/{run.id}/artifacts/{file.name}",
        )
        for file in rows
    ]
    return ArtifactPage(items=items, next_cursor=following)


@router.get(
    "/artifacts/{name:path}",
    response_class=Response,
    responses=ranged("text/plain", _GZIP),
    operation_id="get_artifact",
)
def get_artifact(
    request: Request,
    run_id: RunId,
    name: ArtifactName,
    caller: Texts,
    parts: PartsDep,
    _range: Range = "",
    _if_range: IfRange = "",
) -> Response:
    """Read a file of a run, whole or in part."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    for file in _files(parts, reader, run):
        if file.name == name:
            return served(request, file.content, file.tag, file.media_type, CHANGING)
    raise NotFoundError(f"run {run.id} has no artifact {name[:100]!r}: /v1/runs/{run.id}/artifacts lists them")


def _chunks(lines: Iterable[str]) -> Iterator[bytes]:
    """Lines in portions that are worth sending."""
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        waiting.append(line.encode())
        size += len(waiting[-1])
        if size >= CHUNK:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


def _files(parts: ApiDependencies, reader: RunReader, run: RunRecord) -> Iterator[_File]:
    yield _File(name=BUNDLE, content=parts.problems.bundle(run.bundle_hash).content, media_type=_GZIP)
    if run.best_candidate_id:
        for path, text in reader.program(run.best_candidate_id).files:
            yield _File(name=BEST + path, content=text.encode("utf-8", "backslashreplace"), media_type=_TEXT)


def _order(file: _File) -> tuple[bool, str]:
    return file.name != BUNDLE, file.name
