"""A view of a candidate: one picture or page of an evaluator, or the sentence that says why it is not shown."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evolve.views import png, svg
from evolve.views.plot import plot_svg
from evolve.views.view_error import ViewError

SVG, PNG, HTML = "image/svg+xml", "image/png", "text/html"
MEDIA_TYPES = (SVG, PNG, HTML)
MAX_VIEW_BYTES = 256 * 1024
MAX_REASON_CHARACTERS = 300
FILE_ENDINGS = {SVG: "svg", PNG: "png", HTML: "html"}
# A page of a view shows its own text and styles. It runs, loads and sends nothing, wherever it is opened.
HTML_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_PNG_ADDRESS = "data:image/png;base64,"
_FORMS = {"svg": SVG, "html": HTML, "png": PNG}
# In place of a view: the evaluator has a `render`, which draws when somebody looks.
RENDERED_ON_DEMAND = {"render": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateView:
    """What an evaluator drew of a candidate, or draws on demand; a search never sees it.

    Attributes:
        media_type: one of `MEDIA_TYPES`; empty: there is nothing to show.
        content: text of an SVG or a page; of a PNG its base64.
        reason: one sentence that says why there is nothing to show; empty: there is something, or it is not drawn yet.
    """

    media_type: str = ""
    content: str = ""
    reason: str = ""

    @property
    def on_demand(self) -> bool:
        """Whether the evaluator's `render` has yet to draw it."""
        return not self.media_type and not self.reason

    @property
    def data(self) -> bytes:
        """The view as a file has it. A page brings the policy that lets it run and load nothing."""
        if self.media_type == PNG:
            return base64.b64decode(self.content)
        page = f'<meta http-equiv="Content-Security-Policy" content="{HTML_POLICY}">'
        return (page * (self.media_type == HTML) + self.content).encode()

    @property
    def picture(self) -> str:
        """The address of an image that holds all of it, for `<img src=...>`; empty: it is none."""
        if self.media_type not in (SVG, PNG):
            return ""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"


ON_DEMAND = CandidateView()


def read_view(raw: object) -> CandidateView | None:
    """The `view` of an evaluator's result; None: it gave none.

    A text is an SVG or a page of HTML, a `data:image/png;base64,` address a PNG. A table with `svg`, `html` or `png`
    says which it is. Any other table is a plot: see `evolve.views.plot`.
    """
    if raw is None:
        return None
    if raw == RENDERED_ON_DEMAND:
        return ON_DEMAND
    try:
        return _checked(*_sorted(raw))
    except ViewError as error:
        return CandidateView(reason=str(error)[:MAX_REASON_CHARACTERS])


def undrawn_view(reason: str) -> CandidateView:
    """A view that was to be drawn on demand, and was not."""
    return CandidateView(reason=f"The view could not be drawn: {_plain(reason)}"[:MAX_REASON_CHARACTERS])


def stored_view(raw: Mapping[str, Any]) -> CandidateView:
    """A view as a worker reports it, checked again: what a worker says is a stranger's word.

    Raises:
        TypeError: a part of it is not text.
        KeyError: a part of it is missing.
    """
    media_type, content, reason = (raw[name] for name in ("media_type", "content", "reason"))
    for part in (media_type, content, reason):
        if not isinstance(part, str):
            raise TypeError("a part of the view is not text")
    if reason or not media_type:
        return CandidateView(reason=_plain(reason)[:MAX_REASON_CHARACTERS])
    try:
        return _checked(media_type, content)
    except ViewError as error:
        return CandidateView(reason=str(error)[:MAX_REASON_CHARACTERS])


def _sorted(raw: object) -> tuple[str, str]:
    """Media type and content."""
    if isinstance(raw, Mapping) and "error" in raw:
        raise ViewError(f"The view could not be drawn: {_plain(str(raw['error']))}")
    if isinstance(raw, Mapping):
        form = next((name for name in _FORMS if name in raw), "")
        if not form:
            return SVG, plot_svg(raw)
        if not isinstance(raw[form], str):
            raise ViewError(f"The view's {form} is a {type(raw[form]).__name__}: give it as text.")
        return _FORMS[form], raw[form].strip().removeprefix(_PNG_ADDRESS)
    if not isinstance(raw, str):
        raise ViewError(f"The view is a {type(raw).__name__}: give an SVG, a page of HTML, a PNG or a table of a plot.")
    text = raw.strip()
    if text.startswith(_PNG_ADDRESS):
        return PNG, text.removeprefix(_PNG_ADDRESS)
    if not text.startswith("<"):
        raise ViewError(f"The view begins with {text[:20]!r}: give an SVG, a page of HTML, a PNG or a table of a plot.")
    return (SVG if svg.looks_like(text) else HTML), text


def _checked(media_type: str, content: str) -> CandidateView:
    if media_type == PNG:
        return CandidateView(media_type=PNG, content=_checked_png(content))
    if media_type not in MEDIA_TYPES:
        raise ViewError(f"The view is {media_type[:40]!r}: an SVG, a page of HTML or a PNG can be shown.")
    content = _plain(content)
    _bound(len(content.encode()))
    return CandidateView(media_type=media_type, content=svg.checked(content) if media_type == SVG else content)


def _checked_png(content: str) -> str:
    _bound(len(content) * 3 // 4)
    try:
        given = base64.b64decode(content, validate=True)
    except (ValueError, binascii.Error):
        raise ViewError("The view's PNG is not base64.") from None
    return base64.b64encode(png.checked(given)).decode()


def _bound(size: int) -> None:
    if size > MAX_VIEW_BYTES:
        raise ViewError(f"The view has {size // 1024} KB: up to {MAX_VIEW_BYTES // 1024} KB are kept.")


def _plain(text: str) -> str:
    """A text without what neither databases nor the wire take."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "")
