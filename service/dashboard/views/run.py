"""The overview of a run, "is it working?", and the controls that stand on all its pages."""

import asyncio
from functools import partial
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from evolve.evaluation import Outcome
from evolve.money import Money
from service.client import AsyncClient, Call, calls
from service.dashboard.difference import pairs
from service.dashboard.loading import RunPageRoute
from service.dashboard.numbers import number
from service.dashboard.pages import came_from, go_to
from service.dashboard.run_page import ENDED, RunId, render_run, run_title
from service.dashboard.scores import as_score, sign_of
from service.dashboard.session import Api, FormData, FormDep
from service.dashboard.source import shortened
from service.dashboard.views.candidate import if_any
from service.dashboard.views.changes import changes_of
from service.dashboard.views.insights import insights_of
from service.dashboard.views.runs_filter import gap_closed, read_labels
from service.dashboard.views.story import story_of
from service.dashboard.views.time_use import time_use
from service.errors import UsageError
from service.schemas.assessment import Assessment
from service.schemas.candidates import Candidate
from service.schemas.failures import FailureGroup
from service.schemas.requests import checked
from service.schemas.runs import Budget, BudgetExtension, Run, RunPatch
from service.schemas.series import Metrics

BEST_SHOWN, FAILURES_SHOWN = 8, 8
SEEDS_READ, SEEDS_SHOWN = 50, 3
DUPLICATE = "duplicate"
UNEVALUATED = ("rejected", DUPLICATE)
# What made no candidate stands in proposals of this state.
PROPOSALS_OF = {"unreadable": "unreadable", "unanswered": "failed"}
POINTS = 200
# The hypervolume over time is sampled where a run has more objectives, by some thousands of samples.
EXACT_OBJECTIVES, SAMPLED_DIGITS = 2, 2
# A run that gained nothing for so large a part of its evaluations stands on a plateau.
PLATEAU = 0.3
PLATEAU_EVALUATIONS = 50
router = APIRouter(prefix="/runs/{run_id}", route_class=RunPageRoute, include_in_schema=False)


@router.get("")
async def show_run(request: Request, run_id: RunId, api: Api) -> Response:
    """Show how a run does."""
    run = await api.send(calls.get_run(run_id))
    parts = await asyncio.gather(
        _standing(api, run),
        _failures(api, run),
        _story(api, run),
        changes_of(request, api, run),
        insights_of(request, api, run),
        time_use(api, run),
    )
    values = {name: value for part in parts for name, value in part.items()}
    return await render_run(request, api, run, "run.html", "overview", **values)


@router.get("/standing")
async def show_standing(request: Request, run_id: RunId, api: Api) -> Response:
    """Show the figures of the overview alone, as they are now."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "run_standing.html", "overview", **await _standing(api, run))


@router.get("/failures")
async def show_failures(request: Request, run_id: RunId, api: Api) -> Response:
    """Show alone why answers failed, as it is now."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "run_failures.html", "overview", **await _failures(api, run))


@router.get("/story")
async def show_story(request: Request, run_id: RunId, api: Api) -> Response:
    """Show the story of the best candidate alone, as it is now."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "run_story.html", "overview", **await _story(api, run))


@router.get("/head")
async def show_head(request: Request, run_id: RunId, api: Api) -> Response:
    """Show the head of the pages of a run alone: its state, and what may be asked of it now."""
    return await render_run(request, api, run_id, "run_head.html", "")


@router.get("/candidates/{number:int}.{position:int}")
async def find_candidate(
    run_id: RunId,
    number: Annotated[int, Path(ge=0, lt=10**9)],
    position: Annotated[int, Path(ge=0, lt=10**9)],
) -> Response:
    """Lead to the candidate with a name, such as `28.0`."""
    return go_to(f"/candidates/{run_id}.{number}.{position}")


@router.post("/pause")
async def pause(request: Request, run_id: RunId, api: Api) -> Response:
    """Have a run stop until it is resumed."""
    return await _ask(request, api, calls.pause_run(run_id))


@router.post("/resume")
async def resume(request: Request, run_id: RunId, api: Api) -> Response:
    """Have a paused run go on."""
    return await _ask(request, api, calls.resume_run(run_id))


@router.post("/cancel")
async def cancel(request: Request, run_id: RunId, api: Api) -> Response:
    """End a run for good."""
    return await _ask(request, api, calls.cancel_run(run_id))


@router.post("/extend")
async def extend(request: Request, run_id: RunId, api: Api, form: FormDep) -> Response:
    """Give a run another budget."""
    return await _ask(request, api, calls.extend_run(run_id, BudgetExtension(budget=_budget(form))))


@router.post("/labels")
async def label(request: Request, run_id: RunId, api: Api, form: FormDep) -> Response:
    """Give a run another name and other labels."""
    labels = dict(read_labels(form.get("labels", "")))
    if name := " ".join(form.get("name", "").split()):
        labels["name"] = name
    return await _ask(request, api, calls.update_run(run_id, checked(RunPatch, labels=labels)))


@router.post("/delete")
async def delete(run_id: RunId, api: Api, form: FormDep) -> Response:
    """Remove a run whose name was typed."""
    run = await api.send(calls.get_run(run_id))
    if " ".join(form.get("confirmation", "").split()) not in {" ".join(run_title(run).split()), run.id}:
        raise UsageError(f"nothing was deleted: type the run's name, {run_title(run)}, or its id to confirm")
    await api.send(calls.delete_run(run_id))
    return go_to("/runs")


async def _ask(request: Request, api: AsyncClient, call: Call[Run]) -> Response:
    """Ask something of a run, and lead back to the page of the run that the form was sent from."""
    run = await api.send(call)
    back = came_from(request)
    return go_to(back if back.startswith((f"/runs/{run.id}/", f"/runs/{run.id}?")) else f"/runs/{run.id}")


def _budget(form: FormData) -> Budget:
    """What a form says of limits: a field left empty says nothing, `none` is no limit."""
    named: dict[str, float | int | str | None] = {}
    for name in Budget.model_fields:
        text = form.get(name, "").strip()
        if text:
            named[name] = None if text == "none" else text if name == "money" else _number(name, text)
    if not named:
        raise UsageError("no new limit: fill in at least one field")
    return checked(Budget, **named)


def _number(name: str, text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"{name}: {text[:40]!r} is not a number: write one such as 500") from None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


async def _standing(api: AsyncClient, run: Run) -> dict[str, object]:
    metrics = await api.send(calls.get_run_metrics(run.id, points=POINTS))
    best = await api.send(calls.list_candidates(run.id, order="fitness", limit=BEST_SHOWN))
    return {
        "assessment": await _assessed(api, run),
        "metrics": metrics,
        "last": metrics.points[-1] if metrics.points else None,
        "best": list[Candidate](best.items),
        "hypervolume": hypervolume_words(run, metrics),
        "still": still_since(metrics),
        "rate": run.progress.evaluated / run.usage.active_seconds if run.usage.active_seconds > 0 else None,
        "left_seconds": left_seconds(run),
        "money_used": money_used(run),
        "closed": gap_closed(run),
        "missing": missing_to_known(run),
    }


async def _story(api: AsyncClient, run: Run) -> dict[str, object]:
    return {"story": await story_of(api, run), "pairs": pairs, "shortened": shortened}


async def _failures(api: AsyncClient, run: Run) -> dict[str, object]:
    """Groups of failures, each with the candidates of its outcome; none before those who may not read candidates."""
    failures = await if_any(api, calls.get_run_failures(run.id))
    seeds = await if_any(api, calls.list_candidates(run.id, proposal_number=0, limit=SEEDS_READ))
    failed = [seed for seed in (seeds.items if seeds else []) if seed.outcome not in (None, Outcome.OK)]
    return {
        "failed_seeds": failed[:SEEDS_SHOWN],
        "failed_seeds_left_out": max(0, len(failed) - SEEDS_SHOWN),
        "failures": failures,
        "failures_shown": FAILURES_SHOWN,
        "failures_link": partial(failures_link, run.id),
    }


def failures_link(run_id: str, group: FailureGroup) -> str:
    """Where the candidates of a group of failures are listed, or its proposals; empty: neither are."""
    if group.outcome in PROPOSALS_OF:
        return f"/runs/{run_id}/proposals?{urlencode({'state': PROPOSALS_OF[group.outcome]})}"
    key = "status" if group.outcome in UNEVALUATED else "outcome"
    told = {} if group.outcome == DUPLICATE else {"reason": group.reason}
    only = {key: group.outcome, **{name: text for name, text in told.items() if text}}
    return f"/runs/{run_id}/candidates?{urlencode(only)}"


async def _assessed(api: AsyncClient, run: Run) -> Assessment | None:
    if run.state not in ENDED:
        return None
    found: Assessment = await api.send(calls.get_assessment(run.id))
    return found


def still_since(metrics: Metrics) -> int | None:
    """How many evaluations brought nothing better, where that is long; None: it is not."""
    if not metrics.points:
        return None
    last = metrics.points[-1]
    reached = next(point.evaluations for point in metrics.points if point.best_fitness == last.best_fitness)
    gone = last.evaluations - reached
    long = gone >= PLATEAU_EVALUATIONS and gone >= PLATEAU * last.evaluations
    return gone if long else None


def hypervolume_words(run: Run, metrics: Metrics) -> str:
    """The hypervolume by now, with the digits that its samples give where it is sampled; empty: there is none."""
    value = metrics.points[-1].hypervolume if metrics.points else None
    if value is None:
        return ""
    return f"about {number(value, SAMPLED_DIGITS)}" if len(run.objectives) > EXACT_OBJECTIVES else number(value)


def money_used(run: Run) -> float | None:
    """The share of its budget of money that a run has spent; None: it has none, or the cost is not known."""
    limit = run.config.get("budget", {}).get("money")
    if limit is None or run.usage.cost is None:
        return None
    return float(Money.read(run.usage.cost).amount / Money.read(limit).amount)


def missing_to_known(run: Run) -> float | None:
    """How much the best of a run is worse than the best known score, below 0 where it is better; None: not known."""
    best = as_score(run.best_fitness, run)
    if best is None or run.known_best is None:
        return None
    return (run.known_best - best) * sign_of(run) + 0.0


def left_seconds(run: Run) -> float | None:
    """How long a run at work will go on by its pace so far, until its first limit; None: nobody knows."""
    if run.state != "running" or run.waiting or not run.progress.evaluated:
        return None
    limits = run.config.get("budget") or {}
    tokens = run.usage.tokens_input + run.usage.tokens_output
    used = {
        "evaluations": (run.progress.evaluated, run.progress.budget),
        "answers": (run.stats.answers, limits.get("answers")),
        "tokens": (tokens, limits.get("tokens")),
        "wall_seconds": (run.usage.active_seconds, limits.get("wall_seconds")),
    }
    shares = [done / limit for done, limit in used.values() if limit]
    if (money := money_used(run)) is not None:
        shares.append(money)
    share = max(shares, default=0.0)
    return run.usage.active_seconds * max(0.0, 1 / share - 1) if share else None
