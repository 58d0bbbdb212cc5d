"""A result as HTML, as notebooks show it: the best with its picture, its scores and its source, and the curve."""

from collections.abc import Mapping, Sequence
from html import escape

from evolve.search.result import Result
from evolve.views.candidate_view import HTML, CandidateView
from evolve.views.plot import MAX_VALUES, plot_svg

MAX_SOURCE = 20_000
_BOX = "display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start"
_CELL = 'style="text-align:left"'
_PAPER = "background:#fff;border:1px solid #ccc;max-width:100%"


def result_html(result: Result, view: CandidateView | None, failed: Mapping[int, str]) -> str:
    """What a notebook shows of a result; it runs and loads nothing.

    Args:
        result: of the run.
        view: of its best candidate.
        failed: why proposals brought no answer, by their numbers.
    """
    shown = [image(view)] if view else []
    shown += [_curve(result)] if any(value is not None for value in result.history) else []
    title = (
        f"<p><strong>{escape(result.problem.name)}</strong> · {escape(_sentence(result, list(failed.values())))}</p>"
    )
    return f'<div>{title}<div style="{_BOX}">{"".join(shown)}{_scores(result)}</div>{_source(result)}</div>'


def image(view: CandidateView, height: int = 300) -> str:
    """A view as HTML: an image, or a page in a frame that has no rights."""
    if view.reason:
        return f"<p>{escape(view.reason)}</p>"
    if view.media_type == HTML:
        page = escape(view.data.decode(), quote=True)
        return f'<iframe sandbox srcdoc="{page}" style="{_PAPER};width:420px;height:{height}px"></iframe>'
    return f'<img src="{view.picture}" alt="View of the candidate" style="{_PAPER};max-height:{height}px">'


def _sentence(result: Result, lost: Sequence[str]) -> str:
    valid = sum(one["outcome"] == "ok" for one in result.candidates)
    counted = f"{result.account.evaluations} evaluated, {valid} valid, {result.seconds:.1f} s"
    failed = f", {_counted(len(lost))} failed, the last: {lost[-1][:200]}" if lost else ""
    return f"ended by {result.reason}: {counted}{failed}"


def _curve(result: Result) -> str:
    objectives = result.problem.objectives
    sign, word = (objectives[0].sign, objectives[0].name) if len(objectives) == 1 else (1.0, "fitness")
    points = [(float(at), sign * value) for at, value in enumerate(result.history, 1) if value is not None]
    points = _thinned(points)
    series = {"x": [x for x, _ in points], "y": [y for _, y in points]}
    table = {"series": [series], "title": "Best so far", "x_label": "evaluations", "y_label": word}
    return image(CandidateView(media_type="image/svg+xml", content=plot_svg(table)))


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """As many points as a plot takes: those at which something improved, and the ends."""
    kept = [one for at, one in enumerate(points) if at in (0, len(points) - 1) or one[1] != points[at - 1][1]]
    return kept[-MAX_VALUES:]


def _scores(result: Result) -> str:
    rows = "".join(
        f"<tr><th {_CELL}>{escape(name)}</th><td>{value:.10g}</td></tr>" for name, value in result.scores.items()
    )
    return f"<table><thead><tr><th {_CELL}>Score</th><th>Best</th></tr></thead><tbody>{rows}</tbody></table>"


def _source(result: Result) -> str:
    if not result.source:
        return ""
    text = escape(result.source[:MAX_SOURCE])
    return f"<details><summary>Source of the best</summary><pre>{text}</pre></details>"


def _counted(proposals: int) -> str:
    return f"{proposals} proposal{'s' if proposals != 1 else ''}"
