"""Errors of the API by RFC 9457, and their closed list of codes."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from service.schemas.types import Reply


class Code(StrEnum):
    """Every code of an error. `type` is `/problems/CODE`."""

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
    Code.INVALID_REQUEST: "The request does not match the API document. `errors` names each place.",
    Code.INVALID_CURSOR: "The cursor was changed, or belongs to another list or other filters. Start without a cursor.",
    Code.INVALID_CONFIGURATION: "A key of the run configuration is unknown, or a value is invalid. `errors` names the "
    "places.",
    Code.PROBLEM_INVALID: "The problem cannot be used. `errors` holds every complaint.",
    Code.UNAUTHENTICATED: "The request has no key, or its key is unknown, revoked or expired.",
    Code.FORBIDDEN: "The key is valid but does not allow this. It lacks a scope, or belongs to another tenant.",
    Code.REFUSED: "The configuration or the safety rules of this service do not allow it.",
    Code.QUOTA_EXCEEDED: "The tenant has used up a quota. Wait, or ask the operator.",
    Code.NOT_FOUND: "It does not exist, or belongs to another tenant.",
    Code.METHOD_NOT_ALLOWED: "The path does not support this method. `Allow` lists the supported methods.",
    Code.CONFLICT: "The state of the resource does not allow it. `detail` names the state.",
    Code.IN_PROGRESS: "The first request with this Idempotency-Key is in progress. Try again in a moment.",
    Code.KEY_REUSED: "Another request has used this Idempotency-Key. Choose a new key for a new request.",
    Code.STALE: "The resource changed since you read it. Read it again, then repeat the request.",
    Code.RANGE_INVALID: "The requested range is outside of the file.",
    Code.TOO_LARGE: "The body, or something in it, is larger than the service accepts.",
    Code.UNSUPPORTED_MEDIA_TYPE: "The path does not accept this content type.",
    Code.RATE_LIMITED: "Too many requests in a short time. Wait as long as `Retry-After` says.",
    Code.UNAVAILABLE: "The database, the queue or a policy does not answer, or memory for a large body is short. "
    "Nothing is lost. Try again after `Retry-After`.",
    Code.INTERNAL: "A bug of the service. Its log has the trace under `trace_id`.",
}


class Fault(Reply):
    """A fault of a request."""

    pointer: str = Field(description="JSON Pointer into the body, or the name of a parameter")
    code: str = Field(description="Kind of the fault, such as `missing`, `extra_forbidden` or `unknown`")
    detail: str = Field(description="The fault, in one sentence")


class ProblemDetails(Reply):
    """Why a request failed (RFC 9457)."""

    type: str = Field(examples=["/problems/not_found"], description="Path of a page that explains the code")
    title: str = Field(description="Phrase of the HTTP status")
    status: int = Field(description="HTTP status")
    detail: str = Field(description="The error and its cure, in one sentence")
    instance: str = Field(description="Path that was requested")
    code: Code = Field(description="Code of the error, for programs")
    errors: list[Fault] = Field(
        default=[],
        description="Each fault of the request by its place. Empty: it has no place",
    )
    trace_id: str = Field(description="Id of the request, as in `X-Request-ID` and the log of the service")
