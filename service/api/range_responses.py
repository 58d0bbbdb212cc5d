"""Contents with a tag of their own: whole, in ranges, or not at all where the caller has them (RFC 9110, 13 and 14)."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Header, Request
from fastapi.responses import Response

from service.api.etags import seen
from service.api.problem_errors import ApiFault
from service.schemas.problem_details import Code

IMMUTABLE = {"Cache-Control": "private, max-age=31536000, immutable"}
CHANGING = {"Cache-Control": "private, no-cache"}
_RANGE = re.compile(r"bytes=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", re.IGNORECASE | re.ASCII)

Range = Annotated[str, Header(alias="Range", max_length=200, description="`bytes=FIRST-LAST`: only this part.")]
IfRange = Annotated[str, Header(alias="If-Range", max_length=200, description="Heed `Range` only under this ETag.")]


def ranged(*media_types: str) -> dict[int | str, dict[str, Any]]:
    """What a route that serves contents declares."""
    text = {"schema": {"type": "string"}}
    content = {media_type: {"schema": {"type": "string", "format": "binary"}} for media_type in media_types}
    return {
        200: {"description": "All of it.", "content": content, "headers": {"ETag": text, "Accept-Ranges": text}},
        206: {"description": "The part that was asked for.", "content": content, "headers": {"Content-Range": text}},
        304: {"description": "The caller has this version already."},
    }


def served(request: Request, content: bytes, tag: str, media_type: str, headers: Mapping[str, str]) -> Response:
    """A content, or the part of it that the caller asks for.

    Raises:
        ApiFault: the range lies outside it.
    """
    # Named although it is none: a compressed answer would have other bytes under the same tag.
    known = {"ETag": tag, "Accept-Ranges": "bytes", "Content-Encoding": "identity", **headers}
    if seen(request, tag):
        return Response(status_code=304, headers=known)
    part = None if request.method == "HEAD" else _part(request, tag, len(content))
    if part is None:
        return Response(content, 200, known, media_type)
    known["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{len(content)}"
    return Response(content[part.start : part.stop], 206, known, media_type)


def _part(request: Request, tag: str, size: int) -> range | None:
    """Which bytes are asked for; None: all, also where the wish is not understood, as the RFC has it."""
    wish = _RANGE.fullmatch(request.headers.get("range", ""))
    if wish is None or request.headers.get("if-range", tag) != tag:
        return None
    first, last = wish.groups()
    if not first and not last:
        return None
    if not first:
        start, stop = max(0, size - int(last)), size
    else:
        start, stop = int(first), min(size, int(last) + 1 if last else size)
        if last and int(last) < start:
            return None
    if start >= stop:
        raise ApiFault(
            416, Code.RANGE_INVALID, f"the content has {size} bytes", headers={"Content-Range": f"bytes */{size}"}
        )
    return range(start, stop)
