"""Examples to start with: a click stores the problem and starts a run that needs no key and no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, go_to
from service.dashboard.session import Api, FormDep
from service.dashboard.views.submit_problem import STARTER_FILES
from service.errors import NotFoundError
from service.schemas.problems import ProblemCreate
from service.schemas.requests import checked
from service.schemas.runs import RunCreate

# Beside the packages in a checkout; a wheel has none.
FOLDER = Path(__file__).parents[3] / "examples"
SYNTAX = "syntax"
MAX_FILES = 50
router = APIRouter(prefix="/runs/examples", route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A problem to start with.

    Attributes:
        name: of its folder; `starter`: that of the form, which is always there.
        policy: that it is made for; empty: the service's own.
        evaluations: so that the run takes seconds, not minutes.
    """

    name: str
    title: str
    about: str
    policy: str = ""
    evaluations: int


EXAMPLES = (
    Example(
        name="circle_packing", title="Circle packing", evaluations=1000,
        about="Pack 26 circles into a square, so that the sum of their radii is large.",
    ),
    Example(
        name="maze", title="Maze", evaluations=256, policy="bundled:maze-vpo-marginal",
        about="A small bundled language model finds a way through a maze with four objectives.",
    ),
    Example(
        name="symbolic_regression", title="Symbolic regression", evaluations=1000,
        about="Find a short formula that fits 20 points.",
    ),
    Example(
        name="sorting_network", title="Sorting network", evaluations=1000,
        about="Sort ten numbers with few comparators.",
    ),
    Example(
        name="starter", title="Curve", evaluations=100,
        about="The smallest problem: find the highest point of a curve.",
    ),
)  # fmt: skip


def examples(folder: Path = FOLDER) -> list[Example]:
    """The examples that are there."""
    return [one for one in EXAMPLES if one.name == "starter" or (folder / one.name / "problem.toml").is_file()]


@router.post("/{name}")
async def start_example(request: Request, name: str, api: Api, form: FormDep) -> Response:
    """Store the problem of an example, start a run on it, and lead to the run."""
    del request, form  # the form holds nothing but its token
    example = next((one for one in examples() if one.name == name), None)
    if example is None:
        raise NotFoundError("there is no such example: the list of runs shows those that there are")
    files = await run_in_threadpool(_files, example)
    problem = await api.send(calls.create_problem(checked(ProblemCreate, files=dict(files))))
    run = checked(
        RunCreate,
        problem=problem.id,
        config={"budget": {"evaluations": example.evaluations}},
        policy=example.policy or await _policy(api),
    )
    return go_to(f"/runs/{(await api.send(calls.create_run(run))).id}")


async def _policy(api: AsyncClient) -> str | None:
    """The built-in mutator, unless the service has a model of its own: then the service's choice."""
    found = (await api.send(calls.list_policies(limit=200))).items
    own = [one for one in found if one.get("kind") not in (SYNTAX, "tuner", "bundled") and not one.get("role")]
    return str(own[0]["name"]) if own else SYNTAX


def _files(example: Example) -> Sequence[tuple[str, str]]:
    if example.name == "starter":
        return STARTER_FILES
    folder = FOLDER / example.name
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return [(path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8")) for path in paths[:MAX_FILES]]
