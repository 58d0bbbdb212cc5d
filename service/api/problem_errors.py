"""The one table from errors to answers: status, code, and one sentence; never a trace of the code."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus

import structlog
from fastapi import FastAPI, Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException

from evolve.errors import ConfigurationError, EvolveError, PolicyDenied, PolicyRefused, PolicyUnavailable, ProblemError
from service.errors import (
    REQUEST,
    AmbiguousIdError,
    ConfigurationComplaint,
    ConflictError,
    InProgressError,
    InvalidConfigurationError,
    InvalidProblemError,
    KeyReusedError,
    NoRoomError,
    NotFoundError,
    QuotaError,
    RefusedError,
    ServiceError,
    StaleError,
    StorageAwayError,
    UnreachableError,
    UsageError,
)
from service.schemas.error_location import place_of
from service.schemas.problem_details import Code, Fault, ProblemDetails
from service.schemas.validation_messages import message_of

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
BODY = "body"  # where pydantic's errors of a body lie
_AWAY = "the database does not answer now: try again as Retry-After says"
RETRY_SECONDS = {409: 1, 429: 60, 503: 5}


class ApiFault(Exception):
    """Something that only HTTP knows: raised where a route finds it, answered like all other errors."""

    def __init__(
        self,
        status: int,
        code: Code,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Fault] = (),
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail
        self.headers, self.errors = dict(headers or {}), list(errors)


# The first class that an error belongs to decides.
STATUSES: tuple[tuple[type[Exception], int, Code], ...] = (
    (AmbiguousIdError, 404, Code.NOT_FOUND),
    (UsageError, 422, Code.INVALID_REQUEST),
    (ConfigurationError, 422, Code.INVALID_CONFIGURATION),
    (InvalidProblemError, 422, Code.PROBLEM_INVALID),
    (ProblemError, 422, Code.PROBLEM_INVALID),
    (NotFoundError, 404, Code.NOT_FOUND),
    (KeyReusedError, 422, Code.KEY_REUSED),
    (StaleError, 412, Code.STALE),
    (InProgressError, 409, Code.IN_PROGRESS),
    (ConflictError, 409, Code.CONFLICT),
    (QuotaError, 429, Code.QUOTA_EXCEEDED),
    (RefusedError, 403, Code.REFUSED),
    (PolicyDenied, 403, Code.REFUSED),
    (PolicyRefused, 422, Code.INVALID_REQUEST),
    (PolicyUnavailable, 503, Code.UNAVAILABLE),
    (UnreachableError, 503, Code.UNAVAILABLE),
    (StorageAwayError, 503, Code.UNAVAILABLE),
    (NoRoomError, 503, Code.UNAVAILABLE),
)
_HTTP_CODES = {
    400: Code.INVALID_REQUEST,
    401: Code.UNAUTHENTICATED,
    403: Code.FORBIDDEN,
    404: Code.NOT_FOUND,
    405: Code.METHOD_NOT_ALLOWED,
    413: Code.TOO_LARGE,
    415: Code.UNSUPPORTED_MEDIA_TYPE,
    416: Code.RANGE_INVALID,
    429: Code.RATE_LIMITED,
}


def install(app: FastAPI, allowed: Callable[[str], set[str]]) -> None:
    """Answer every error of an application by the table.

    Args:
        app: the application.
        allowed: the methods that an address takes.
    """

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return answer(request, _of_http(error, allowed(request.scope["path"])))

    app.add_exception_handler(ApiFault, _on_fault)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(ServiceError, _on_error)
    app.add_exception_handler(EvolveError, _on_error)


def answer(request: Request, fault: ApiFault) -> Response:
    """An error as the response that tells of it."""
    body = ProblemDetails(
        type=f"/problems/{fault.code}",
        title=HTTPStatus(fault.status).phrase,
        status=fault.status,
        detail=" ".join(fault.detail.split())[:2000],
        instance=_printable(request.scope["path"]),
        code=fault.code,
        errors=fault.errors,
        trace_id=getattr(request.state, "request_id", ""),
    )
    headers = {"Cache-Control": "no-store", **fault.headers}
    return Response(body.model_dump_json(), fault.status, headers, MEDIA_TYPE)


def answer_error(request: Request, error: Exception) -> Response:
    """An error of the service as the response that tells of it; what nobody expected goes into the log."""
    fault = as_fault(error)
    request_id = getattr(request.state, "request_id", "")
    if fault.status == 500:
        log.error("request.failed", exc_info=error, request_id=request_id)
    elif fault.status == 503:
        log.warning("request.away", reason=str(error), request_id=request_id)
    return answer(request, fault)


def as_fault(error: Exception) -> ApiFault:
    """What an error of the service is to HTTP."""
    for kind, status, code in STATUSES:
        if isinstance(error, kind):
            waits = status in RETRY_SECONDS and code is not Code.CONFLICT
            seconds = error.retry_seconds if isinstance(error, QuotaError) else RETRY_SECONDS.get(status)
            headers = {"Retry-After": str(seconds)} if waits else {}
            return ApiFault(status, code, _outward(error), headers=headers, errors=_complaints(error))
    return ApiFault(500, Code.INTERNAL, "this is a fault of the service; its log has the trace under the trace_id")


def _outward(error: Exception) -> str:
    """What callers are told; where the database lies and how it is called is the operator's business."""
    return _AWAY if isinstance(error, StorageAwayError) else str(error)


def _complaints(error: Exception) -> list[Fault]:
    if isinstance(error, InvalidConfigurationError):
        return [
            Fault(pointer=_config_pointer(error, one), code="invalid_configuration", detail=one.sentence)
            for one in error.complaints[:50]
        ]
    if isinstance(error, ConfigurationError):
        return [Fault(pointer="", code="invalid_configuration", detail=str(error))]  # of the whole
    if not isinstance(error, InvalidProblemError):
        return []
    return [Fault(pointer="/files", code="problem_invalid", detail=text) for text in error.complaints]


def _config_pointer(error: InvalidConfigurationError, complaint: ConfigurationComplaint) -> str:
    """Where in the request the complaint lies; what the problem or the run forked says lies beside it."""
    place = complaint.place if complaint.layer == REQUEST else ()
    return f"{error.base}/config" + "".join(f"/{_escaped(name)}" for name in place)


def _escaped(name: object) -> str:
    return _printable(str(name).replace("~", "~0").replace("/", "~1"))


async def _on_fault(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiFault)
    return answer(request, error)


async def _on_error(request: Request, error: Exception) -> Response:
    return answer_error(request, error)


def _of_http(error: HTTPException, methods: set[str]) -> ApiFault:
    code = _HTTP_CODES.get(error.status_code, Code.INVALID_REQUEST if error.status_code < 500 else Code.INTERNAL)
    sentences = {404: "there is nothing at this address", 405: "this address does not take that method"}
    detail = sentences.get(error.status_code, str(error.detail))
    headers = dict(error.headers or {})
    if error.status_code == 405 and methods:  # routes of one address know only of themselves
        headers["Allow"] = ", ".join(sorted(methods))
    return ApiFault(error.status_code, code, detail, headers=headers)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    described = dict(_descriptions(request.scope["route"].dependant))
    faults = [
        Fault(pointer=_pointer(one, error.body), code=str(one["type"]), detail=_printable(_message(one, described)))
        for one in _each_once(error.errors())[:50]
    ]
    detail = "; ".join(f"{fault.pointer}: {fault.detail}" for fault in faults[:5]) or "the request cannot be read"
    return answer(request, ApiFault(422, Code.INVALID_REQUEST, detail, errors=faults))


def _each_once(errors: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Errors of a body, and the first of each parameter: pydantic has one for each type that a parameter may have."""
    found: dict[object, ErrorDetails] = {}
    for place, one in enumerate(errors):
        found.setdefault(place if one["loc"][:1] == (BODY,) else tuple(one["loc"][:2]), one)
    return list(found.values())


def _descriptions(dependant: Dependant) -> Iterator[tuple[tuple[str, str], str]]:
    """Where each parameter of a route stands, and what the document says of it."""
    for where in ("query", "header", "path"):
        for field in getattr(dependant, f"{where}_params"):
            yield (where, str(field.alias)), field.field_info.description or ""
    for below in dependant.dependencies:
        yield from _descriptions(below)


def _message(error: ErrorDetails, described: Mapping[tuple[str, str], str]) -> str:
    where, name = [*map(str, error["loc"][:2]), "", ""][:2]
    return message_of(error, described.get((where, name), ""))


def _pointer(error: ErrorDetails, body: object) -> str:
    where, *inside = error["loc"] or [""]
    if where == BODY:
        return _printable("/" + "/".join(_escaped(part) for part in place_of(error, body, start=1)))
    return _printable(_escaped(inside[0]) if inside else str(where))


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:500]
