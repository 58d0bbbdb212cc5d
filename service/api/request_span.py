"""The span of a request, by OpenTelemetry's conventions of HTTP servers.

FastAPI has spans of its own. They hold the whole address, and so the tokens of logins and shares: those are not used.
"""

from contextlib import AbstractContextManager
from typing import Any

from starlette.requests import Request

from service import tracing

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECRET_PARAMETER = "token"  # noqa: S105 - the name of a parameter: it opens a run to whoever has it


def request_span(request: Request) -> AbstractContextManager[tracing.Span]:
    """The span of a request: below that of a caller in this process, else below the one in the header `traceparent`."""
    if not tracing.enabled():
        return tracing.span("")
    attributes: dict[str, tracing.Attribute] = {
        "http.request.method": _method(request),
        "url.scheme": request.url.scheme,
        "network.protocol.version": str(request.scope.get("http_version", "1.1")),
    }
    if request.client is not None:
        attributes["client.address"] = request.client.host
    parent = "" if tracing.recording() else request.headers.get(tracing.TRACEPARENT, tracing.ROOT)
    return tracing.span(_method(request), tracing.SpanKind.SERVER, attributes, parent=parent)


def note_answer(sent: tracing.Span, request: Request, status: int) -> None:
    """Note what is known of a request when it was answered."""
    if not tracing.enabled():
        return
    found: dict[str, tracing.Attribute] = {"http.response.status_code": status}
    if route := _route(request):
        found["http.route"] = route
        secret = _SECRET_PARAMETER in request.scope.get("path_params", {})
        found["url.path"] = route if secret else request.scope["path"]
    operation: Any = getattr(request.scope.get("route"), "operation_id", None)
    if operation:
        found["evolve.operation"] = str(operation)
    sent.rename(f"{_method(request)} {route}".strip())
    sent.note(found)
    if status >= 500:
        sent.fail(str(status))


def _method(request: Request) -> str:
    return request.method if request.method in _METHODS else "_OTHER"


def _route(request: Request) -> str:
    """The template of the address. Empty: none fits."""
    return str(getattr(request.scope.get("route"), "path", "") or "")
