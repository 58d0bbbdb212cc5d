"""Assets: what pages load beside themselves, under an address that changes whenever one of them does."""

import hashlib
import mimetypes
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response

FOLDER = Path(__file__).parent / "static"
FOREVER = "public, max-age=31536000, immutable"
AGAIN = "no-cache"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

router = APIRouter(include_in_schema=False)


@cache
def files() -> Mapping[str, Path]:
    """Every asset by its name below the folder; nothing else is ever served."""
    return {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*")) if path.is_file()}


@cache
def edition() -> str:
    """Tells the assets of one version from those of another."""
    content = hashlib.sha256()
    for name, path in files().items():
        content.update(name.encode() + b"\0" + path.read_bytes())
    return content.hexdigest()[:12]


def address(name: str) -> str:
    """Where a browser finds an asset.

    Raises:
        LookupError: there is none of that name.
    """
    if name not in files():
        raise LookupError(name)
    return f"/static/{edition()}/{name}"


@router.get("/static/{version}/{name:path}", name="static")
async def read_asset(version: str, name: str) -> Response:
    """Serve an asset to anybody: none of them tells of a run."""
    path = files().get(name)
    if path is None:
        return Response(status_code=404)
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
    # A page of an earlier version may still be open: it gets what there is now, and asks again.
    kept = FOREVER if version == edition() else AGAIN
    return FileResponse(path, media_type=kind, headers={"Cache-Control": kept})
