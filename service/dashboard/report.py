"""A run in one file: the pictures and tables of its pages with all that they show, to be opened from a disk.

It is part of the dashboard, whose templates and modules it is made of, and asks the API as pages do.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from evolve.views.candidate_view import PNG, SVG
from service.client import AsyncClient, calls
from service.dashboard.inline_assets import embedded, inlined, picture
from service.dashboard.pages import environment
from service.dashboard.run_page import run_title
from service.dashboard.views.objectives import drawn, picked, weigh
from service.errors import NotFoundError, UsageError
from service.schemas.candidates import Candidate
from service.schemas.runs import Run
from service.schemas.votes import Rule

MAX_POINTS, SERIES = 20_000, 1000
BEST, FAILURES, FRONT, STEPS, ANSWERS = 12, 8, 30, 40, 20
MAX_TEXT, MAX_TEXTS = 60_000, 3_000_000
MAX_VIEWS = 3_000_000
STYLES = (
    "evolve.css",
    "view.css",
    "vendor/uplot.min.css",
    "lineage.css",
    "islands.css",
    "objectives.css",
    "report.css",
)
SCRIPTS = ("theme.js", "report.js", "vendor/uplot.min.js")
MODULES = ("score-curve.js", "lineage-map.js", "pareto.js", "reweigh.js", "parallel.js")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFile:
    """A file of a candidate. `omitted`: characters behind the text that is shown."""

    path: str
    text: str
    omitted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSource:
    """A candidate with its files. `picture`: the address of an image of it, empty where there is none."""

    candidate: Candidate
    files: list[ReportFile]
    picture: str


async def write_report(api: AsyncClient, run_id: str, now: datetime) -> str:
    """A run as a page that needs nothing beside itself.

    Args:
        run_id: of the run, whole.
        now: stands on the page as the time of what it shows.

    Raises:
        NotFoundError: there is no such run.
    """
    run = await api.send(calls.get_run(run_id))
    best = (await api.send(calls.list_candidates(run.id, order="fitness", limit=BEST))).items
    front = None
    if len(run.objectives) > 1:
        front = await api.send(calls.list_front(run.id, limit=FRONT))
    line = await _line(api, run)
    sources = await _sources(api, [*best, *(front.items if front else ()), *line])
    columns = await api.send(calls.get_run_columns(run.id, points=MAX_POINTS, front=True))
    metrics = await api.send(calls.get_run_metrics(run.id, points=SERIES))
    answers = {
        _columns_at(run): columns.model_dump(mode="json"),
        f"/v1/runs/{run.id}/metrics?points={SERIES}": metrics.model_dump(mode="json"),
    }
    values = {
        "run": run,
        "title": run_title(run),
        "made_at": now,
        "best": best,
        "failures": await api.send(calls.get_run_failures(run.id)),
        "failures_shown": FAILURES,
        "assessment": await api.send(calls.get_assessment(run.id)),
        "votes": [await api.send(calls.get_run_votes(run.id, rule=rule)) for rule in get_args(Rule)],
        "max_answers": ANSWERS,
        "front": front,
        **(await _tradeoff(api, run) if front else {"fittest": None}),
        "line": line,
        "sources": sources,
        "shown": {source.candidate.id for source in sources},
        "columns": columns,
        "columns_at": _columns_at(run),
        "metrics": metrics,
        "islands": (await api.send(calls.list_islands(run.id, limit=200))).items,
        "config": json.dumps(run.config, indent=2, ensure_ascii=False),
    }
    return _page(values, answers)


def _page(values: Mapping[str, Any], answers: Mapping[str, Any]) -> str:
    assets = inlined(STYLES, SCRIPTS, MODULES)
    return (
        environment()
        .get_template("report.html")
        .render(
            **values,
            inlined=assets,
            icon=picture("icon.svg"),
            answers={address: embedded(answer) for address, answer in answers.items()},
        )
    )


def _columns_at(run: Run) -> str:
    return f"/v1/runs/{run.id}/columns"


async def _tradeoff(api: AsyncClient, run: Run) -> Mapping[str, Any]:
    """What the charts of several objectives begin with: the first two of them, and weights as declared."""
    if run.best_candidate_id is None:
        return {"fittest": None}
    weighing = weigh(run.objectives, {})
    weights = ",".join(f"{field.name}={field.value!r}" for field in weighing)
    fittest = best = await api.send(calls.get_best(run.id))
    refusal = ""
    try:
        best = await api.send(calls.get_best(run.id, weights=weights))
    except UsageError as error:  # names of objectives may hold what weights cannot
        refusal = str(error)
    across, up = picked(run.objectives, "", "")
    told = {"weighing": weighing, "best_weighted": None if refusal else best, "fittest": fittest, "refusal": refusal}
    return told | {"across": across, "up": up, "drawn": drawn(run.objectives)}


async def _line(api: AsyncClient, run: Run) -> list[Candidate]:
    """The line of first parents of the best, its seed first; of a long one the newest steps."""
    if run.best_candidate_id is None:
        return []
    found = await api.send(calls.get_lineage(run.best_candidate_id, limit=STEPS))
    return found.items[::-1]


async def _sources(api: AsyncClient, candidates: Iterable[Candidate]) -> list[ShownSource]:
    """Candidates with their files, as long as there is room."""
    room, views, shown = MAX_TEXTS, MAX_VIEWS, []
    for candidate in {candidate.id: candidate for candidate in candidates}.values():
        try:
            files = (await api.send(calls.get_candidate_source(candidate.id))).files
        except NotFoundError:  # deleted meanwhile
            continue
        cut = [_shown_file(file.path, file.text) for file in files]
        room -= sum(len(file.text) for file in cut)
        if room < 0:
            break
        image = await _image(api, candidate) if views > 0 else ""
        views -= len(image)
        shown.append(ShownSource(candidate=candidate, files=cut, picture=image))
    return shown


async def _image(api: AsyncClient, candidate: Candidate) -> str:
    """A candidate's view as the address of an image, in which browsers run and load nothing; a page is none."""
    if candidate.view_type not in (SVG, PNG):
        return ""
    content = await api.send(calls.get_candidate_view(candidate.id))
    return f"data:{candidate.view_type};base64,{base64.b64encode(content).decode()}"


def _shown_file(path: str, text: str) -> ReportFile:
    return ReportFile(path=path, text=text[:MAX_TEXT], omitted=max(0, len(text) - MAX_TEXT))
