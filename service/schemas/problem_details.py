"""Errors of the API by RFC 9457, and their closed list of codes."""

from collections.abc import Mapping
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


MEANINGS: Mapping[Code, str] = {
    Code.INVALID_REQUEST: "The request does not fit the document of the API; `errors` names each place.",
    Code.INVALID_CURSOR: "The cursor was changed, or belongs to another list or other filters: begin without one.",
    Code.INVALID_CONFIGURATION: "A key of the run configuration is unknown, or a value is off; `errors` has places.",
    Code.PROBLEM_INVALID: "The problem cannot be searched on; `errors` holds every complaint.",
    Code.UNAUTHENTICATED: "No key was shown, or one that is unknown, revoked or expired.",
    Code.FORBIDDEN: "The key is valid and does not allow this: it lacks a scope, or is of another tenant.",
    Code.REFUSED: "Configuration or safety of this service does not allow it.",
    Code.QUOTA_EXCEEDED: "The tenant has used up what it may: wait, or ask the operator.",
    Code.NOT_FOUND: "There is no such thing, or it is another tenant's.",
    Code.METHOD_NOT_ALLOWED: "The address does not take that method; `Allow` lists those that it takes.",
    Code.CONFLICT: "The state of the thing does not allow it; `detail` names the state.",
    Code.IN_PROGRESS: "The first request with this Idempotency-Key is still at work: try again in a moment.",
    Code.KEY_REUSED: "The Idempotency-Key came with another request before: make a new one for a new request.",
    Code.STALE: "The thing was changed since it was read: read it again and decide anew.",
    Code.RANGE_INVALID: "The range that was asked for is not in the artifact.",
    Code.TOO_LARGE: "The body, or what it holds, is larger than the service takes.",
    Code.UNSUPPORTED_MEDIA_TYPE: "The body is of a kind that this address does not take.",
    Code.RATE_LIMITED: "Too many requests in a short time: wait as long as `Retry-After` says.",
    Code.UNAVAILABLE: "Database, queue or policy do not answer, or there is no memory for a large body now: "
    "try again as `Retry-After` says; nothing is lost.",
    Code.INTERNAL: "A fault of the service; its log has the trace under `trace_id`.",
}


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
