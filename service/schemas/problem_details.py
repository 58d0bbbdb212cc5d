"""Errors of the API by RFC 9457, and their closed list of codes."""

from enum import StrEnum

from pydantic import Field

from service.schemas.types import Reply


class Code(StrEnum):
    """Every code of an error; `type` is `/problems/CODE`."""

    INVALID_REQUEST = "invalid_request"
    INVALID_CURSOR = "invalid_cursor"
    INVALID_CONFIGURATION = "invalid_configuration"
    PROBLEM_INVALID = "problem_invalid"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    REFUSED = "refused"
    QUOTA_EXCEEDED = "quota_exceeded"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    CONFLICT = "conflict"
    IN_PROGRESS = "in_progress"
    KEY_REUSED = "key_reused"
    STALE = "stale"
    RANGE_INVALID = "range_invalid"
    TOO_LARGE = "too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


class Fault(Reply):
    """One thing that is wrong with a request."""

    pointer: str = Field(description="Where: a JSON Pointer into the body, or the name of a parameter")
    code: str = Field(description="Kind of the fault, such as `missing`, `extra_forbidden` or `unknown`")
    detail: str = Field(description="One sentence that says what is wrong")


class ProblemDetails(Reply):
    """Why a request failed (RFC 9457)."""

    type: str = Field(examples=["/problems/not_found"], description="Path of a page that explains the code")
    title: str = Field(description="Phrase of the HTTP status")
    status: int = Field(description="HTTP status")
    detail: str = Field(description="One sentence that says what to do")
    instance: str = Field(description="Path that was requested")
    code: Code = Field(description="Code of the error, for programs")
    errors: list[Fault] = Field(
        default=[],
        description="Each fault of the request by its place; empty: it has no place",
    )
    trace_id: str = Field(description="Id of the request, as in `X-Request-ID` and the log of the service")
