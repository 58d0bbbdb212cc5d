"""The form that starts a batch: settings with their values, seeds and policies, and first of all what they may cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from evolve.configuration import default_keys
from evolve.errors import EvolveError
from service.client import AsyncClient, calls
from service.dashboard.forms import new_once, only_once
from service.dashboard.pages import PageRoute, go_to, is_part, render
from service.dashboard.session import Api, FormData, FormDep, SignedOutError
from service.dashboard.sweep_grid import SEED, Combination, SweptKey, at_most, combinations, read_seeds, read_values
from service.dashboard.views.submit_choices import Choices, form_with, read_choices
from service.errors import ServiceError, UsageError
from service.schemas.batches import MAX_RUNS, BatchCreate
from service.schemas.requests import checked

ROWS = 6
FIRST = {"seeds": "0-2", "key": "islands", "values": ""}
router = APIRouter(prefix="/batches/new", route_class=PageRoute, include_in_schema=False)


@dataclass(slots=True, kw_only=True)
class SweepCheck:
    """What is said of a sweep before it starts.

    Attributes:
        complaints: by field; empty name: of the whole.
        combinations: that it has, each with the runs of all seeds.
        at_most: what all runs may use together, by limit; None: no such limit.
    """

    complaints: dict[str, str] = field(default_factory=dict)
    keys: Sequence[SweptKey] = ()
    combinations: Sequence[Combination] = ()
    seeds: Sequence[int] = ()
    at_most: Mapping[str, float | str | None] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many runs it has."""
        return len(self.combinations) * len(self.seeds)


@router.get("")
async def show_form(request: Request, api: Api, problem: Annotated[str, Query(max_length=220)] = "") -> Response:
    """Show the form, with a problem by its id or name."""
    choices = await read_choices(api)
    chosen = choices.first(problem).get("problem", "")
    return _page(request, choices, form_with({**FIRST, "problem": chosen}), None)


@router.post("/check")
async def check_sweep(request: Request, api: Api, form: FormDep) -> Response:
    """Say how many runs a sweep has, which, and what they cost at most."""
    verdict = await judge(api, form)
    if is_part(request):
        return render(request, "sweep_verdict.html", **_said(verdict))
    return _page(request, await read_choices(api), form, verdict)


@router.post("")
async def start_sweep(request: Request, api: Api, form: FormDep) -> Response:
    """Start all runs, and lead to their batch."""
    verdict = await judge(api, form)
    if not verdict.complaints:
        problem = form.get("problem", "")
        runs = [one.run(problem, seed) for one in verdict.combinations for seed in verdict.seeds]
        try:
            body = checked(BatchCreate, name=" ".join(form.get("name", "").split()) or "Sweep", runs=runs)
            batch = await api.send(only_once(calls.create_batch(body), form))
        except SignedOutError:
            raise
        except (ServiceError, EvolveError) as error:
            verdict.complaints[""] = str(error)
        else:
            return go_to(f"/batches/{batch.id}")
    return _page(request, await read_choices(api), form, verdict, 422)


async def judge(api: AsyncClient, form: FormData) -> SweepCheck:
    """Check a sweep as far as it can be checked without starting it."""
    verdict = SweepCheck()
    try:
        verdict.seeds = read_seeds(form.get("seeds", ""))
    except UsageError as error:
        verdict.complaints["seeds"] = str(error)
    verdict.keys = _keys(form, verdict.complaints)
    if not form.get("problem"):
        verdict.complaints["problem"] = "choose a problem: the form New run stores one"
    if verdict.complaints:
        return verdict
    try:
        _combine(form, verdict)
        budgets = [
            (await _config(api, form, one, verdict.seeds[0])).get("budget") or {} for one in verdict.combinations
        ]
    except SignedOutError:
        raise
    except (ServiceError, EvolveError) as error:
        verdict.complaints[""] = str(error)
        return verdict
    verdict.at_most = at_most([budget for budget in budgets for _ in verdict.seeds])
    return verdict


def _combine(form: FormData, verdict: SweepCheck) -> None:
    verdict.combinations = combinations(verdict.keys, form.several("policy"))
    if verdict.count > MAX_RUNS:
        found, verdict.combinations = verdict.count, ()
        raise UsageError(f"these are {found} runs: {MAX_RUNS} are the most of one batch")


async def _config(api: AsyncClient, form: FormData, one: Combination, seed: int) -> Mapping[str, Any]:
    """The whole configuration of a combination, as its runs would have it."""
    try:
        found = await api.send(calls.check_run(one.run(form.get("problem", ""), seed)))
    except UsageError as error:
        raise UsageError(f"{one.name}: {error}" if one.name else str(error)) from error
    return dict(found.config)


def _keys(form: FormData, complaints: dict[str, str]) -> list[SweptKey]:
    """The settings of a form; a row without a key and values says nothing."""
    found: list[SweptKey] = []
    for place, (key, text) in enumerate(_rows(form)):
        if not key or not text:
            continue
        try:
            if key == SEED:
                raise UsageError("seeds have a field of their own")
            found.append(SweptKey(key=key, values=read_values(text)))
        except UsageError as error:
            complaints[f"values-{place}"] = str(error)
    return found


def _rows(form: FormData) -> list[tuple[str, str]]:
    pairs = zip(form.several("key"), form.several("values"), strict=False)
    return [(key.strip(), text.strip()) for key, text in pairs][:50]


def _said(verdict: SweepCheck | None) -> dict[str, Any]:
    return {"verdict": verdict, "complaints": verdict.complaints if verdict else {}, "once": new_once()}


def _page(
    request: Request, choices: Choices, form: FormData, verdict: SweepCheck | None, status: int = 200
) -> Response:
    rows = _rows(form)
    return render(
        request,
        "sweep.html",
        status,
        form=form,
        choices=choices,
        rows=[*rows, *[("", "")] * (ROWS - len(rows))],
        chosen=form.several("policy"),
        keys=[key for key in default_keys() if key != SEED],
        **_said(verdict),
    )
