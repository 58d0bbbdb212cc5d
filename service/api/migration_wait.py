"""What is answered while a process waits for its schema: that it lives, and that it can serve nothing yet."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from evolve.version import __version__
from service.api.problem_errors import RETRY_SECONDS, ApiFault, answer
from service.schemas.problem_details import Code
from service.schemas.system import Health, Readiness

REASON = "it has not the schema of this version yet: run 'evolve db upgrade'"


def create_waiting_api() -> Starlette:
    """The API of a process that waits for its schema; nothing is opened for it."""
    paths = [Route("/healthz", _health), Route("/readyz", _readiness)]
    return Starlette(routes=paths, exception_handlers={404: _nothing, 405: _nothing})


def _health(_: Request) -> Response:
    return JSONResponse(Health(status="ok", version=__version__).model_dump())


def _readiness(_: Request) -> Response:
    return JSONResponse(Readiness(status="not_ready", checks={"database": REASON}).model_dump(), 503)


def _nothing(request: Request, _: Exception) -> Response:
    headers = {"Retry-After": str(RETRY_SECONDS[503])}
    return answer(request, ApiFault(503, Code.UNAVAILABLE, "the service waits for its database", headers=headers))
