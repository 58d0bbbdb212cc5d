"""Calls of the tag problems. `scripts.openapi` writes them."""

from types import NoneType

from service.client.call import Call, chosen, place
from service.schemas.problems import Problem, ProblemCreate, ProblemPage


def create_problem(body: ProblemCreate) -> Call[Problem]:
    """Submit a problem. Another content under the same name is a new version. The same content is not."""
    return Call(method="POST", path="/v1/problems", body=body, answer=Problem)


def list_problems(*, name: str | None = None, limit: int | None = None) -> Call[ProblemPage]:
    """List problems, newest first."""
    return Call(method="GET", path="/v1/problems", params=chosen(name=name, limit=limit), answer=ProblemPage)


def get_problem(problem_id: str) -> Call[Problem]:
    """Read a version of a problem."""
    return Call(method="GET", path=place("/v1/problems/{}", problem_id), answer=Problem)


def download_problem(problem_id: str) -> Call[bytes]:
    """Download a problem's folder as it was submitted."""
    return Call(method="GET", path=place("/v1/problems/{}/bundle", problem_id), answer=bytes)


def delete_problem(problem_id: str) -> Call[None]:
    """Delete a version of a problem that has no runs."""
    return Call(method="DELETE", path=place("/v1/problems/{}", problem_id), answer=NoneType)
