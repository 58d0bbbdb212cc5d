"""Around every request: its id, the size of its body, the headers of its answer, its line in the log, the audit."""

import asyncio
import secrets
import sys
import time

import structlog
from prometheus_client import Counter, Histogram
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.auth import known, limit_headers
from service.api.body_budget import SMALL_TOTAL_BYTES, BodyBudget, BodyReservation
from service.api.connection_limits import opened_of
from service.api.dependencies import ApiDependencies
from service.api.problem_errors import RETRY_SECONDS, ApiFault, answer, answer_error
from service.api.request_span import note_answer, request_span
from service.errors import ServiceError
from service.identifiers import new_id
from service.ports import AuditEntry, Caller
from service.schemas.problem_details import Code

log = structlog.get_logger(__name__)

REQUESTS = Counter("evolve_http_requests_total", "Requests answered.", ["operation", "status"])
SECONDS = Histogram("evolve_http_request_duration_seconds", "Time to the end of an answer.", ["operation"])
AUDITED = frozenset({"POST", "PUT", "PATCH", "DELETE"})
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
STRANGERS_BYTES = 1024 * 1024
CLOSED = 499  # in log and metrics alone: the client closed the connection before it had an answer
_MAX_DIGITS = 18
_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class BodyRefusedError(Exception):
    """A body went beyond the limit or the memory while it was read."""


class Envelope:
    """What every request and every answer is wrapped in."""

    def __init__(self, app: ASGIApp, parts: ApiDependencies) -> None:
        self._app, self._parts = app, parts
        self._large_bodies = BodyBudget(parts.settings.body_limit_mb * 1024 * 1024)
        self._small_bodies = BodyBudget(SMALL_TOTAL_BYTES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        request.state.request_id = request_id(request.headers)
        with request_span(request) as sent:
            note_answer(sent, request, await self._answer(request, receive, send))

    async def _answer(self, request: Request, receive: Receive, send: Send) -> int:
        """Answer one request. Returns the status."""
        scope, began, status, made = request.scope, time.perf_counter(), 500, ""
        started = left = False

        async def told() -> Message:
            nonlocal left
            message = await receive()
            left = left or message["type"] == "http.disconnect"
            return message

        async def wrapped(message: Message) -> None:
            nonlocal started, status, made
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                status = message["status"]
                made = headers.get("location", "").rpartition("/")[2] if status == 201 else ""
                _dress(headers, request)
            await send(message)

        try:
            await self._bounded(scope, told, wrapped)
        except ClientDisconnect:
            left = True
        except asyncio.CancelledError:
            if not opened_of(request).leaving.is_set():
                raise
            # The server shuts down and waits no longer. An answer that has begun is cut off.
            if not started:
                await answer(request, _stopping())(scope, receive, wrapped)
        finally:
            status = CLOSED if left and status == 500 else status
            await self._note(request, status, made, time.perf_counter() - began)
        return status

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request whose body stays within the limit, if there is memory for it."""
        request = Request(scope)
        declared = _declared(request.headers)
        try:
            limit = await self._limit(request, declared)
        except ServiceError as error:
            await answer_error(request, error)(scope, receive, send)
            return
        budget = self._large_bodies if limit > STRANGERS_BYTES else self._small_bodies
        with budget.open() as reservation:
            try:
                if declared is not None:
                    self._reserve(reservation, declared, limit)
            except ApiFault as fault:
                await answer(request, fault)(scope, receive, send)
                return
            await self._counted(request, receive, send, reservation, limit)

    async def _counted(
        self, request: Request, receive: Receive, send: Send, reservation: BodyReservation, limit: int
    ) -> None:
        """Pass on a request, and cut its body off where it goes beyond the limit or the memory."""
        read, begun = 0, False
        refusal: ApiFault | None = None

        async def counted() -> Message:
            nonlocal read, refusal
            message = await receive()
            read += len(message.get("body", b""))
            try:
                self._reserve(reservation, read, limit)
            except ApiFault as fault:
                refusal = fault
                raise BodyRefusedError from fault
            return message

        async def noted(message: Message) -> None:
            nonlocal begun
            # What the application makes of a body that was cut off is not for the caller.
            if refusal is None or begun:
                begun = True
                await send(message)

        try:
            await self._app(request.scope, counted, noted)
        except BodyRefusedError:
            pass
        except ClientDisconnect:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer, and the log the trace
            await self._fail(request, error, None if begun else send)
        if refusal is not None and not begun:
            await answer(request, refusal)(request.scope, receive, send)

    def _reserve(self, reservation: BodyReservation, size: int, limit: int) -> None:
        """Have memory for a body of a size.

        Raises:
            ApiFault: the body is larger than it may be, or there is no memory for it now.
        """
        if size > limit:
            raise self._too_large(limit)
        reservation.grow(size)

    async def _limit(self, request: Request, declared: int | None) -> int:
        """Bytes that the body of a request may have; who shows nothing that is valid may send what signs them in."""
        maximum = self._parts.settings.body_limit_mb * 1024 * 1024
        small = min(maximum, STRANGERS_BYTES)
        if declared is not None and declared <= small:
            return small
        return maximum if await run_in_threadpool(known, request, self._parts) else small

    def _too_large(self, limit: int) -> ApiFault:
        maximum = self._parts.settings.body_limit_mb * 1024 * 1024
        mend = "send less" if limit == maximum else "show a valid key, or send less"
        return ApiFault(413, Code.TOO_LARGE, f"the body is larger than {limit // (1024 * 1024)} MB: {mend}")

    async def _fail(self, request: Request, error: Exception, send: Send | None) -> None:
        """Answer what nobody expected; an answer that has begun is cut off."""
        response = answer_error(request, error)
        if send is None:
            raise error
        await response(request.scope, request.receive, send)

    async def _note(self, request: Request, status: int, made: str, seconds: float) -> None:
        route = request.scope.get("route")
        operation = str(getattr(route, "operation_id", None) or getattr(route, "name", None) or "none")
        REQUESTS.labels(operation, str(status)).inc()
        SECONDS.labels(operation).observe(seconds)
        caller: Caller | None = getattr(request.state, "caller", None)
        log.info(
            "request.answered",
            method=request.method,
            operation=operation,
            status=status,
            seconds=round(seconds, 4),
            request_id=request.state.request_id,
            actor=caller.actor if caller else "",
        )
        if request.method in AUDITED and caller is not None and operation != "none":
            await self._audit(request, caller, operation, status, made or _subject(request))

    async def _audit(self, request: Request, caller: Caller, operation: str, status: int, subject: str) -> None:
        if operation in self._parts.settings.unaudited:
            return
        now = self._parts.clock.now()
        entry = AuditEntry(
            id=new_id("aud", now),
            tenant=caller.tenant,
            at=now,
            actor=caller.actor,
            action=operation,
            subject=subject,
            outcome=str(status),
            request_id=request.state.request_id,
            address=request.client.host if request.client else "",
        )
        try:
            await run_in_threadpool(self._parts.audit.write, entry)
        except ServiceError as error:
            log.error("audit.failed", reason=str(error), request_id=request.state.request_id)
        except asyncio.CancelledError:
            if not opened_of(request).leaving.is_set():
                raise
            log.error("audit.failed", reason="the service stopped", request_id=request.state.request_id)


def request_id(headers: Headers) -> str:
    """The id under which a request is found again: the trace of who called, or a new one."""
    trace = headers.get("traceparent", "").split("-")
    if len(trace) == 4 and len(trace[1]) == 32 and set(trace[1]) <= set("0123456789abcdef") and set(trace[1]) != {"0"}:
        return trace[1]
    shown = headers.get("x-request-id", "")
    return shown if 8 <= len(shown) <= 100 and set(shown) <= _ID_CHARACTERS else secrets.token_hex(16)


def _stopping() -> ApiFault:
    detail = "the service stops before it has an answer: try again as Retry-After says"
    return ApiFault(503, Code.UNAVAILABLE, detail, headers={"Retry-After": str(RETRY_SECONDS[503])})


def _dress(headers: MutableHeaders, request: Request) -> None:
    headers["X-Request-ID"] = request.state.request_id
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Cache-Control", "no-store")
    allowance = getattr(request.state, "allowance", None)
    if allowance is not None:
        for name, value in limit_headers(allowance).items():
            headers[name] = value


def _declared(headers: Headers) -> int | None:
    """How long a body is going to be; None: its headers do not say."""
    length = headers.get("content-length", "" if "transfer-encoding" in headers else "0")
    if not length.isdecimal():
        return None
    return int(length) if len(length) <= _MAX_DIGITS else sys.maxsize


def _subject(request: Request) -> str:
    """The last id in the address: what the request was about."""
    values = list(request.scope.get("path_params", {}).values())
    return str(values[-1])[:100] if values else ""
