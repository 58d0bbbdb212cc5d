"""Holds every response of an application to the document: status, code of the error, media type and body."""

import gzip
import json
from functools import cache
from typing import Any

from fastapi.routing import APIRoute
from jsonschema_rs import Draft202012Validator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.app import document

# Breaches of the document since the current test began; the fixture `documented` looks there.
BREACHES: list[str] = []
STREAMS = ("text/event-stream", "application/x-ndjson", "text/csv")


class Documented:
    """Around an application: notes each response that the document does not describe."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, headers, body = 0, dict[str, str](), bytearray()

        async def noted(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = {name.decode().lower(): value.decode("latin-1") for name, value in message["headers"]}
            elif message["type"] == "http.response.body" and not headers.get("content-type", "").startswith(STREAMS):
                body.extend(message.get("body", b""))
            await send(message)

        await self._app(scope, receive, noted)
        route = scope.get("route")
        if isinstance(route, APIRoute) and status:
            packed = headers.get("content-encoding") == "gzip"
            content = gzip.decompress(bytes(body)) if packed and body else bytes(body)
            breach = _breach(route, scope["method"], status, headers.get("content-type", ""), content)
            if breach:
                BREACHES.append(f"{scope['method']} {route.path_format} {status}: {breach}")


def _breach(route: APIRoute, method: str, status: int, kind: str, body: bytes) -> str:
    """How a response departs from the document; empty: it does not."""
    operation = document()["paths"].get(route.path_format, {}).get(method.lower())
    if operation is None:  # a page of the dashboard, or a method that the address does not take
        return ""
    response = operation["responses"].get(str(status))
    if response is None:
        return f"the status is not declared: {body[:300]!r}"
    if "$ref" in response:
        response = document()["components"]["responses"][response["$ref"].rpartition("/")[2]]
    media_type = kind.partition(";")[0]
    if not body:
        return ""
    if media_type not in response.get("content", {}):
        return f"the media type {media_type!r} is not declared"
    if not media_type.endswith("json"):
        return ""
    value = json.loads(body)
    if "x-codes" in response and value["code"] not in response["x-codes"]:
        return f"the code {value['code']} is not declared: {value['detail']}"
    schema = response["content"][media_type].get("schema", {})
    complaint = next(iter(_validator(json.dumps(schema)).iter_errors(value)), None)
    return f"/{'/'.join(map(str, complaint.instance_path))}: {complaint.message[:500]}" if complaint else ""


@cache
def _validator(schema: str) -> Any:
    return Draft202012Validator({**json.loads(schema), "components": document()["components"]}, validate_formats=True)
