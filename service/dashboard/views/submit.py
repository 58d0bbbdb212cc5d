"""The form that starts a run: checked while it is filled in, and nothing that was typed is lost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from evolve.errors import EvolveError
from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, go_to, here, is_part, render
from service.dashboard.session import Api, FormData, FormDep, SignedOutError
from service.dashboard.views import submit_fields, submit_problem
from service.dashboard.views.submit_choices import Choices, cloned, read_choices, with_chosen
from service.dashboard.views.submit_fields import (
    DEFAULTS,
    DESCRIBED,
    LIMITS,
    ROLES,
    SEARCH,
    SubmittedForm,
    held_words,
    read_typed,
)
from service.dashboard.views.submit_lines import lines_of
from service.dashboard.views.submit_problem import (
    FIELDS,
    FILES,
    STORED,
    document_of,
    files_of,
    problem_of,
    regions_said,
    rows_of,
)
from service.errors import InvalidProblemError, ServiceError
from service.schemas.problems import ProblemCheck
from service.schemas.requests import checked
from service.schemas.runs import RunCheck, RunCreate

DRY = "dry"
router = APIRouter(prefix="/runs/new", route_class=PageRoute, include_in_schema=False)


@dataclass(slots=True, kw_only=True)
class FormCheck:
    """What is said of a form as it stands.

    Attributes:
        run: what the run would be; None: that is not known yet.
        problem: what was found out about a new problem; None: nothing was.
        scored: whether its seeds were run.
    """

    typed: SubmittedForm
    run: RunCheck | None = None
    problem: ProblemCheck | None = None
    scored: bool = False
    request: dict[str, Any] = field(default_factory=dict)


@router.get("")
async def show_form(
    request: Request,
    api: Api,
    source: Annotated[str, Query(alias="from", max_length=100)] = "",
    problem: Annotated[str, Query(max_length=220)] = "",
) -> Response:
    """Show the form: empty, or as another run would fill it in."""
    choices = await read_choices(api)
    form = await cloned(api, choices, source) if source else choices.first(problem)
    choices = await with_chosen(api, choices, form)
    return _page(request, choices, form, 200, None, clone_of=source)


@router.get("/check")
async def go_back() -> Response:
    """Lead to the form: the address of a check is kept by browsers that come back to it."""
    return go_to("/runs/new")


@router.post("/check")
async def check_form(request: Request, api: Api, form: FormDep) -> Response:
    """Say what is wrong with the form as it stands; for a dry run the seed of a new problem is scored, too."""
    verdict = await judge(api, form, score=form.get("action") == DRY)
    if is_part(request):
        return render(request, "submit_verdict.html", **_said(request, form, verdict))
    return _page(request, await with_chosen(api, await read_choices(api), form), form, 200, verdict)


@router.post("")
async def submit(request: Request, api: Api, form: FormDep) -> Response:
    """Store the problem where it is new, submit the run, and lead to it."""
    typed = await run_in_threadpool(read_typed, form)
    verdict = FormCheck(typed=typed)
    if not typed.complaints:
        try:
            run = await api.send(calls.create_run(await _asked(api, form, typed)))
        except SignedOutError:
            raise
        except (ServiceError, EvolveError) as error:
            tell(typed, form, error)
        else:
            return go_to(f"/runs/{run.id}")
    verdict.request = _body(form, typed)
    return _page(request, await with_chosen(api, await read_choices(api), form), form, 422, verdict)


async def _asked(api: AsyncClient, form: FormData, typed: SubmittedForm) -> RunCreate:
    run = _run_of(typed, form.get("problem", "") if form.get("source", STORED) == STORED else "new")
    if form.get("source", STORED) == STORED:
        return run
    problem = await api.send(calls.create_problem(problem_of(form)))
    return run.model_copy(update={"problem": problem.id})


def _run_of(typed: SubmittedForm, problem: str) -> RunCreate:
    if not problem:
        raise InvalidProblemError(["choose a stored problem, or write a new problem"])
    return checked(RunCreate, problem=problem, config=typed.config, policy=typed.policy, labels=typed.labels)


def _body(form: FormData, typed: SubmittedForm) -> dict[str, Any]:
    """The request as JSON has it: what was left out is left out."""
    stored = form.get("problem", "") if form.get("source", STORED) == STORED else ""
    pairs = (("problem", stored), ("config", typed.config), ("policy", typed.policy), ("labels", typed.labels))
    return {name: value for name, value in pairs if value}


async def judge(api: AsyncClient, form: FormData, *, score: bool) -> FormCheck:
    """Check a form as far as it can be checked without submitting it."""
    typed = await run_in_threadpool(read_typed, form)
    verdict = FormCheck(typed=typed, request=_body(form, typed))
    stored = form.get("source", STORED) == STORED
    try:
        if stored:
            run = _run_of(typed, form.get("problem", ""))
            if not typed.complaints:
                verdict.run = await api.send(calls.check_run(run))
        else:
            _run_of(typed, "new")
            verdict.problem = await api.send(calls.check_problem(problem_of(form), seeds=score))
            verdict.scored = score
            if verdict.problem.complaints:
                raise InvalidProblemError(verdict.problem.complaints)
    except SignedOutError:
        raise
    except (ServiceError, EvolveError) as error:
        tell(typed, form, error)
    return verdict


def tell(typed: SubmittedForm, form: FormData, error: Exception) -> None:
    """Put what is wrong beside the fields that it is about."""
    if isinstance(error, InvalidProblemError):
        places = [submit_problem.place_of(complaint, form) for complaint in error.complaints]
    else:
        places = [submit_fields.place_of(complaint, form) for complaint in str(error).split("; ")]
    for place, words in places:
        typed.complain(place, words)


def _policies(typed: SubmittedForm) -> list[Any]:
    return typed.policy if isinstance(typed.policy, list) else [typed.policy]


def _said(request: Request, form: FormData, verdict: FormCheck) -> dict[str, Any]:
    stored = form.get("source", STORED) == STORED
    named = [name for name, _ in files_of(form) if name] if form.get("source") == FILES else submit_problem.NAMES
    return {
        "verdict": verdict,
        "complaints": verdict.typed.complaints,
        "regions": regions_said(form),
        "lines": lines_of(f"{request.url.scheme}://{request.url.netloc}", verdict.request, () if stored else named),
        "labelled": bool(verdict.typed.labels),
        "described": any(isinstance(one, Mapping) for one in _policies(verdict.typed)),
        # Where it could be read, so that it can be written, too.
        "document": document_of(form) if form.get("source") == FIELDS and verdict.problem else "",
    }


def _page(
    request: Request, choices: Choices, form: FormData, status: int, verdict: FormCheck | None, clone_of: str = ""
) -> Response:
    about = _said(request, form, verdict) if verdict else {"verdict": None, "complaints": {}}
    return render(
        request,
        "submit.html",
        status,
        form=form,
        choices=choices,
        unsaid={key: f"as the problem says, else {held_words(key, value)}" for key, value in DEFAULTS.items()},
        source=form.get("source", STORED),
        rows=rows_of(form),
        files=files_of(form) or list(submit_problem.STARTER_FILES),
        limits=LIMITS,
        search=SEARCH,
        roles=ROLES,
        described_choice=DESCRIBED,
        clone_of=clone_of,
        draft=here(request) if request.method == "GET" else "/runs/new",
        **about,
    )
