"""Compare, "which of these does better, and why?": runs and groups of them over one axis, with what sets them apart."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, render
from service.dashboard.run_page import run_title
from service.dashboard.scores import chart_word, shared_sign
from service.dashboard.session import Api
from service.dashboard.views.runs_filter import policy_name
from service.errors import AmbiguousIdError, NotFoundError, UsageError
from service.projections.grouping import leaves
from service.projections.significance import ENOUGH_PAIRS
from service.schemas.archives import FrontPage
from service.schemas.runs import Run
from service.schemas.series import Axis, ComparedGroup, RunComparison

MIN_RUNS, MAX_RUNS = 2, 40
OFFERED = 60
POINTS, ROWS = 400, 10
MAX_ACROSS = 6  # runs beside one another; more of them stand below one another
AXES = ("evaluations", "tokens", "money", "time")
KEYS = ("strategy", "policy", "name", "problem", "labels.variant", "archive.kind", "islands")
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """What one run came to."""

    run: Run
    title: str
    front: FrontPage


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDifference:
    """A key that is not the same in all runs, with its value in each."""

    key: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGroup:
    """Runs that belong together. `places`: of its runs on the page, from 1."""

    group: ComparedGroup
    places: Sequence[int]


def titles_of(runs: Sequence[Run]) -> list[str]:
    """What runs are called beside one another: those of one name are told apart by the end of their ids."""
    named = [run_title(run) for run in runs]
    return [
        name if named.count(name) == 1 else f"{name} ({run.id[-4:]})" for name, run in zip(named, runs, strict=True)
    ]


def differences(runs: Sequence[Run]) -> list[KeyDifference]:
    """What is not the same in all runs, of what was set before they began."""
    settings = [dict(leaves(_settings(run))) for run in runs]
    keys = dict.fromkeys(key for one in settings for key in one)
    rows = [KeyDifference(key=key, values=[one.get(key, "") for one in settings]) for key in keys]
    return [row for row in rows if len(set(row.values)) > 1]


def _settings(run: Run) -> Mapping[str, Any]:
    policies = {str(policy.get("name") or place): policy for place, policy in enumerate(run.policies)}
    return {
        "problem": run.problem,
        "problem_content": run.bundle_hash[:12],
        "integrity": run.integrity,
        "isolation": run.isolation,
        **run.config,
        "seed": run.seed,
        "policy": {"names": ", ".join(policies), **policies},
    }


def table_of(comparison: RunComparison, rows: int = ROWS) -> list[tuple[float, list[float | None]]]:
    """The best of each run at so many places of the axis, evenly, the end among them."""
    count = len(comparison.axis)
    taken = sorted({-(-row * count // rows) - 1 for row in range(1, rows + 1)}) if count else []
    return [(comparison.axis[place], [run.best[place] for run in comparison.runs]) for place in taken]


def groups_of(comparison: RunComparison) -> list[RunGroup]:
    """Groups, with the places of their runs."""
    places = {run.run_id: place for place, run in enumerate(comparison.runs, start=1)}
    return [RunGroup(group=group, places=[places[one] for one in group.run_ids]) for group in comparison.groups]


def verdicts_of(comparison: RunComparison) -> list[str]:
    """Of every two groups what can be told of them at the last budget; none where no group has several seeds."""
    gaps = [lead.gaps[-1] for lead in comparison.leads if lead.gaps]
    return [gap.sentence for gap in gaps] if any(gap.seeds > 1 or gap.others > 1 for gap in gaps) else []


# What a run came to beside its best: key, heading, and what is compared to tell whether it is equal in all runs.
OUTCOMES: tuple[tuple[str, str, Callable[[ComparisonRow], Any]], ...] = (
    ("state", "State", lambda one: one.run.state),
    ("evaluations", "Evaluations", lambda one: one.run.progress.evaluated),
    ("valid", "Valid", lambda one: one.run.stats.valid),
    ("tokens", "Tokens", lambda one: one.run.usage.tokens_input + one.run.usage.tokens_output),
    ("cost", "Cost", lambda one: one.run.usage.cost),
    ("time", "Time at work", lambda one: one.run.usage.active_seconds),
    ("front", "Front", lambda one: one.front.size),
    ("hypervolume", "Hypervolume", lambda one: one.front.hypervolume),
    ("known", "Best known", lambda one: one.run.known_best),
    ("problem", "Problem", lambda one: one.run.problem),
    ("policy", "Policy", lambda one: [policy_name(policy) for policy in one.run.policies]),
)


def differing_columns(rows: Sequence[ComparisonRow]) -> list[str]:
    """The outcomes that are not the same in all runs."""
    return [key for key, _, told in OUTCOMES if any(told(one) != told(rows[0]) for one in rows)]


Wanted = Annotated[list[str], Query(max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonQuery:
    """What somebody wants to see: which runs, over which axis, grouped by what.

    Attributes:
        columns: of the outcomes; none: those in which the runs differ.
    """

    runs: Sequence[str]
    axis: Axis
    by: str
    columns: Sequence[str] = ()

    def address(self, **changes: str) -> str:
        """The address of the page with something else about it."""
        about = {"axis": self.axis, "by": self.by} | changes
        pairs = [("run", run) for run in self.runs] + [pair for pair in about.items() if pair[1]]
        pairs += [("columns", name) for name in self.columns]
        return f"?{urlencode(pairs)}"


@router.get("/compare")
async def compare(
    request: Request,
    api: Api,
    run: Wanted = [],  # noqa: B006 -- FastAPI copies it
    axis: Axis = "evaluations",
    by: Annotated[str, Query(max_length=200)] = "",
    columns: Wanted = [],  # noqa: B006 -- FastAPI copies it
    runs: Annotated[str, Query(max_length=10_000)] = "",
) -> Response:
    """Set runs side by side, or offer a choice of them. `runs` names them as the API takes them, with commas."""
    named = [one.strip() for one in (*run, *runs.split(","))]
    wanted = list(dict.fromkeys(filter(None, named)))
    shown = [key for key, _, _ in OUTCOMES if key in columns]
    chosen = ComparisonQuery(runs=wanted, axis=axis, by=by.strip(), columns=shown)
    if len(wanted) < MIN_RUNS:
        return await _choose_for(request, api, chosen)
    if not MIN_RUNS <= len(wanted) <= MAX_RUNS:
        complaint = f"{len(wanted)} runs chosen: choose {MIN_RUNS} to {MAX_RUNS}."
        return await _choose(request, api, chosen, complaint, 422)
    try:
        found = [await api.send(calls.get_run(one)) for one in wanted]
    except (NotFoundError, AmbiguousIdError) as error:
        return await _choose(request, api, chosen, f"{error}: choose others.", 404)
    about = calls.compare_runs([one.id for one in found], points=POINTS, over=axis, by=chosen.by)
    try:
        comparison = await api.send(about)
    except UsageError as error:
        return await _choose(request, api, chosen, f"{error}.", 422)
    return await _show(request, api, found, comparison, chosen)


async def _choose_for(request: Request, api: AsyncClient, chosen: ComparisonQuery) -> Response:
    """Offer a choice to whoever named one run, or none."""
    if not chosen.runs:
        return await _choose(request, api, chosen)
    try:
        run = await api.send(calls.get_run(chosen.runs[0]))
    except (NotFoundError, AmbiguousIdError) as error:
        return await _choose(request, api, chosen, f"{error}: choose others.", 404)
    return await _choose(request, api, replace(chosen, runs=[run.id]), first=run)


async def _choose(
    request: Request,
    api: AsyncClient,
    chosen: ComparisonQuery,
    complaint: str = "",
    status: int = 200,
    *,
    first: Run | None = None,
) -> Response:
    """Offer runs, newest first; beside a first one those of its problem come before the others."""
    offered = list((await api.send(calls.list_runs(limit=OFFERED))).items)
    if first is not None:
        alike = (await api.send(calls.list_runs(problem=first.problem, limit=OFFERED))).items
        offered = list({run.id: run for run in (first, *alike, *offered)}.values())[:OFFERED]
    titles = dict(zip((run.id for run in offered), titles_of(offered), strict=True))
    pairs = {run.id: replace(chosen, runs=[first.id, run.id]).address() for run in offered if first and run != first}
    values: dict[str, Any] = {"offered": offered, "titles": titles, "wanted": chosen.runs}
    values |= {"first": first, "pairs": pairs}
    about = {"axis": chosen.axis, "by": chosen.by, "keys": KEYS, "most": MAX_RUNS, "complaint": complaint}
    return render(request, "compare_choose.html", status, **values, **about)


async def _show(
    request: Request, api: AsyncClient, runs: Sequence[Run], comparison: RunComparison, chosen: ComparisonQuery
) -> Response:
    fronts = await asyncio.gather(*(api.send(calls.list_front(run.id, limit=1)) for run in runs))
    titles = titles_of(runs)
    outcomes = [
        ComparisonRow(run=run, title=title, front=front) for run, title, front in zip(runs, titles, fronts, strict=True)
    ]
    best = max(outcomes, key=lambda one: float("-inf") if one.run.best_fitness is None else one.run.best_fitness)
    sign, differing = shared_sign(runs), differing_columns(outcomes)
    values: dict[str, Any] = {
        "outcomes": outcomes,
        "best": best,
        "columns": [(key, heading) for key, heading, _ in OUTCOMES],
        "shown": chosen.columns or differing,
        "chosen_columns": chosen.columns,
        "equal": [key for key, _, _ in OUTCOMES if key not in differing],
        "across": len(runs) > MAX_ACROSS,
        "policy_name": policy_name,
        "titles": titles,
        "axis": chosen.axis,
        "by": chosen.by,
        "keys": KEYS,
        "axes": [(name, chosen.address(axis=name)) for name in AXES],
        "others": f"?{urlencode([('axis', chosen.axis)])}",
        "comparison": comparison,
        "table": table_of(comparison),
        "groups": groups_of(comparison),
        "verdicts": verdicts_of(comparison),
        "enough_seeds": ENOUGH_PAIRS,
        "differences": differences(runs),
        "sign": sign,
        "word": chart_word(runs),
        "signed_of": lambda value: None if value is None else sign * value + 0.0,
        "drawn": [{"id": run.id, "title": title} for run, title in zip(runs, titles, strict=True)],
    }
    return render(request, "compare.html", **values)
