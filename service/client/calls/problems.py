"""Calls about problems."""

from types import NoneType

from service.client.call import Call, chosen, place
from service.schemas.problems import Problem, ProblemCheck, ProblemCreate, ProblemPage

PROBLEMS, PROBLEM = "/v1/problems", "/v1/problems/{}"
# The service gives up on a check after five minutes.
CHECK_SECONDS = 320.0


def create_problem(problem: ProblemCreate) -> Call[Problem]:
    """Store a problem; the same content under the same name is the version that is there already."""
    return Call(method="POST", path=PROBLEMS, body=problem, answer=Problem)


def check_problem(problem: ProblemCreate, *, seeds: bool = True) -> Call[ProblemCheck]:
    """Check a problem without saving it, and run its seeds once, unless only its files shall be read."""
    path, params = f"{PROBLEMS}/check", chosen(seeds="" if seeds else "false")
    return Call(method="POST", path=path, params=params, body=problem, answer=ProblemCheck, wait_seconds=CHECK_SECONDS)


def list_problems(*, name: str = "", limit: int | None = None) -> Call[ProblemPage]:
    """List versions of problems, newest first."""
    return Call(method="GET", path=PROBLEMS, params=chosen(name=name, limit=limit), answer=ProblemPage)


def get_problem(problem_id: str) -> Call[Problem]:
    """Read a version of a problem: by its id, by name for the latest, or by `name@version`."""
    return Call(method="GET", path=place(PROBLEM, problem_id), answer=Problem)


def download_problem(problem_id: str) -> Call[bytes]:
    """Download a problem's folder as tar.gz."""
    return Call(method="GET", path=place(f"{PROBLEM}/bundle", problem_id), answer=bytes)


def delete_problem(problem_id: str) -> Call[None]:
    """Remove a version of a problem that has no runs."""
    return Call(method="DELETE", path=place(PROBLEM, problem_id), answer=NoneType)
