"""Writes the view of a candidate to a file."""

from pathlib import Path

from evolve.views.candidate_view import FILE_ENDINGS, CandidateView
from service.cli.export import STDOUT, appearing
from service.cli.formatting import short
from service.cli.terminal import Terminal
from service.errors import NotFoundError, UsageError
from service.ports import CandidateRecord
from service.projections.run_site import RunSite


def write_view(terminal: Terminal, site: RunSite, candidate: CandidateRecord, output: Path) -> str:
    """Write what a candidate looks like, which may be drawn first; into a folder under its short id, `-` is stdout.

    Returns:
        The path of the file; empty: stdout.

    Raises:
        NotFoundError: it has no view, or none that can be shown.
        UsageError: a PNG is asked for on stdout.
        ConflictError: a folder of that name is there.
    """
    if candidate.view_on_demand:
        with terminal.doing("drawing the view"):
            view = site.drawn(candidate)
    else:
        view = site.reader.view(candidate.id)
    if view is None or not view.media_type:
        raise NotFoundError(f"{candidate.id} has no view: {_why(view)}")
    if output == STDOUT:
        if view.media_type not in _TEXTS:
            raise UsageError("this view is a PNG, which is no text: name a file with --view")
        terminal.write(view.data.decode())
        return ""
    ending = f".{FILE_ENDINGS[view.media_type]}"
    if output.is_dir():
        output = output / f"{short(candidate.id)}{ending}"
    elif not output.suffix:
        output = output.with_suffix(ending)
    with appearing(output) as partial:
        partial.write_bytes(view.data)
    return str(output)


def _why(view: CandidateView | None) -> str:
    return view.reason if view else "its evaluator returned none (docs/how-to/write-a-problem.md says how)"


_TEXTS = ("image/svg+xml", "text/html")
