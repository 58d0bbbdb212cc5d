"""The documentation site under `/docs/guide/`, where `make docs` has built it."""

import base64
import hashlib
import mimetypes
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from service.dashboard.pages import POLICY, PageRoute
from service.errors import NotFoundError

ADDRESS = "/docs/guide/"
# Beside the packages in a checkout; a wheel has none.
FOLDER = Path(__file__).parents[3] / "site"
CACHE_CONTROL = "public, max-age=300"
_INDEX = "index.html"
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/llms.txt")
def redirect_to_llms() -> Response:
    """Send language models to the index of the documentation in Markdown."""
    return RedirectResponse(ADDRESS + "llms.txt", status_code=308)


@router.get("/docs/guide")
def redirect_to_index() -> Response:
    """Send the browser to the index, to which links are relative."""
    return RedirectResponse(ADDRESS, status_code=308)


@router.get(ADDRESS + "{name:path}")
def show_page(request: Request, name: str) -> Response:
    """Serve a file of the site, to anybody.

    Raises:
        NotFoundError: no site was built, or it has no such file.
    """
    files = site_files(request)
    if not files:
        raise NotFoundError("the documentation site is not built here: run make docs, in the folder of the service")
    path = files.get(name + _INDEX if not name or name.endswith("/") else name)
    if path is None:
        raise NotFoundError("the documentation has no such page: its index is at " + ADDRESS)
    headers = {"Cache-Control": CACHE_CONTROL}
    if path.suffix != ".html":
        return FileResponse(path, media_type=mimetypes.guess_type(path.name)[0] or "text/plain", headers=headers)
    text = path.read_text(encoding="utf-8")
    return HTMLResponse(text, headers=headers | {"Content-Security-Policy": content_policy(text)})


def site_files(request: Request) -> Mapping[str, Path]:
    """The files of the site by their names; nothing else is ever served."""
    folder: Path = request.app.state.documentation
    index = folder / _INDEX
    return _files(folder, index.stat().st_mtime_ns) if index.is_file() else {}


def content_policy(page: str) -> str:
    """The policy of the dashboard, with the scripts that stand in a page allowed by their hashes."""
    hashes = (hashlib.sha256(script.encode()).digest() for script in _SCRIPT.findall(page))
    allowed = "".join(sorted({f" 'sha256-{base64.b64encode(one).decode()}'" for one in hashes}))
    return POLICY.replace("script-src 'self'", f"script-src 'self'{allowed}") + "; worker-src 'self'"


@lru_cache(maxsize=2)
def _files(folder: Path, built_at: int) -> Mapping[str, Path]:  # noqa: ARG001 - a site that is built again is read again
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
