"""Entity tags: what a caller has seen, and whether it still holds."""

import gzip
import json
from typing import Annotated

from fastapi import Header, Request
from fastapi.responses import Response
from pydantic import BaseModel

from evolve import identity
from service.api.problem_errors import ApiFault
from service.ports import BatchRecord, RunRecord
from service.schemas.problem_details import Code

LARGE_BYTES, LEVEL = 256 * 1024, 4

IfMatch = Annotated[
    str, Header(alias="If-Match", max_length=200, description="The ETag that was seen: else nothing is changed.")
]


def run_tag(run: RunRecord) -> str:
    """The strong tag of a run: how often front doors and its runner wrote to it."""
    return f'"{run.revision}-{run.sequence}"'


def batch_tag(batch: BatchRecord) -> str:
    """The strong tag of a batch: how many of its runs are in which state."""
    return f'"{identity.digest(json.dumps([batch.id, sorted(batch.states.items())]), 24)}"'


def seen(request: Request, tag: str) -> bool:
    """Whether the caller has this version already."""
    shown = request.headers.get("if-none-match", "")
    return any(one.strip().removeprefix("W/") in (tag, "*") for one in shown.split(","))


def tagged(request: Request, body: BaseModel, tag: str) -> Response:
    """A representation with its tag, or 304 where the caller has it."""
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if seen(request, tag):
        return Response(status_code=304, headers=headers)
    content = body.model_dump_json().encode()
    if len(content) >= LARGE_BYTES and "gzip" in request.headers.get("accept-encoding", ""):
        # Here, in the thread of this request: left to the middleware, it would hold up all others meanwhile.
        content = gzip.compress(content, LEVEL, mtime=0)
        headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Response(content, 200, headers, "application/json")


def revision_of(if_match: str) -> int | None:
    """The revision of a run that a caller saw; None: whichever.

    Raises:
        ApiFault: it is no tag of a run.
    """
    if if_match in ("", "*"):
        return None
    revision, dash, _ = if_match.strip('"').partition("-")
    if not dash or not revision.isdecimal():
        raise ApiFault(412, Code.STALE, "the If-Match is not a tag of this resource: read it again")
    return int(revision)
