"""The one table from answers that are none to errors: by the closed codes of the API, else by the status."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from evolve.errors import ConfigurationError, EvolveError
from service.errors import (
    ConflictError,
    InProgressError,
    InvalidProblemError,
    KeyReusedError,
    NotFoundError,
    QuotaError,
    RateLimitedError,
    RefusedError,
    ServiceError,
    StaleError,
    UnreachableError,
    UsageError,
)
from service.schemas.problem_details import Code

MAX_CHARACTERS = 2000
AWAY = frozenset({502, 503, 504})

ERRORS: Mapping[str, type[ServiceError | EvolveError]] = {
    Code.INVALID_REQUEST: UsageError,
    Code.INVALID_CURSOR: UsageError,
    Code.INVALID_CONFIGURATION: ConfigurationError,
    Code.PROBLEM_INVALID: InvalidProblemError,
    Code.UNAUTHENTICATED: RefusedError,
    Code.FORBIDDEN: RefusedError,
    Code.REFUSED: RefusedError,
    Code.QUOTA_EXCEEDED: QuotaError,
    Code.NOT_FOUND: NotFoundError,
    Code.METHOD_NOT_ALLOWED: UsageError,
    Code.CONFLICT: ConflictError,
    Code.IN_PROGRESS: InProgressError,
    Code.KEY_REUSED: KeyReusedError,
    Code.STALE: StaleError,
    Code.RANGE_INVALID: UsageError,
    Code.TOO_LARGE: UsageError,
    Code.UNSUPPORTED_MEDIA_TYPE: UsageError,
    Code.RATE_LIMITED: RateLimitedError,
    Code.UNAVAILABLE: UnreachableError,
    Code.INTERNAL: ServiceError,
}
# Of answers whose code is unknown here: those of a later version, and those of something between us and the service.
_BY_STATUS: Mapping[int, type[ServiceError]] = {
    400: UsageError,
    401: RefusedError,
    403: RefusedError,
    406: UsageError,
    409: ConflictError,
    412: StaleError,
    413: UsageError,
    422: UsageError,
    428: UsageError,
}


def away(error: httpx.RequestError, server: str) -> UnreachableError:
    """What is said of a service that does not answer."""
    return UnreachableError(f"the service at {server} does not answer: {str(error) or type(error).__name__}")


def fault_of(answer: httpx.Response, server: str) -> ServiceError | EvolveError:
    """The error that an answer tells of."""
    said = _said(answer)
    code = str(said.get("code", ""))
    detail = " ".join(str(said.get("detail", "")).split())[:MAX_CHARACTERS]
    if not code or not detail:
        return _of_status(answer, server)
    if code == Code.INTERNAL:
        return ServiceError(f"the service failed: {detail} ({said.get('trace_id', '')})")
    if code == Code.PROBLEM_INVALID:
        return InvalidProblemError(_complaints(said) or [detail])
    kind = ERRORS.get(code) or _BY_STATUS.get(answer.status_code)
    if kind is None:
        kind = NotFoundError if answer.status_code == 404 else UnreachableError
    return kind(detail)


def passes(answer: httpx.Response) -> bool:
    """Whether an answer may be another one soon."""
    if answer.status_code == 409:
        return _said(answer).get("code") == Code.IN_PROGRESS
    if answer.status_code == 429:
        return _said(answer).get("code") != Code.QUOTA_EXCEEDED
    return answer.status_code in AWAY


def _of_status(answer: httpx.Response, server: str) -> ServiceError:
    """An answer that no service of ours gave."""
    status = answer.status_code
    if answer.is_redirect:
        return UnreachableError(f"the service at {server} has moved to another address: name that one")
    kind = _BY_STATUS.get(status, UnreachableError)
    return kind(f"{server} answers {status} {answer.reason_phrase}, not as a service of this kind does")


def _complaints(said: Mapping[str, Any]) -> Sequence[str]:
    errors = said.get("errors")
    if not isinstance(errors, list):
        return []
    return [str(error["detail"]) for error in errors if isinstance(error, dict) and error.get("detail")]


def _said(answer: httpx.Response) -> Mapping[str, Any]:
    try:
        value = answer.json()
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
