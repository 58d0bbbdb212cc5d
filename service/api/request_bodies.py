"""Bodies as JSON says they are: UTF-8, finite numbers, every member once, and not nested without end."""

import email.message
import functools
import inspect
import json
import math
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from fastapi.routing import APIRoute

from service.api.problem_errors import ApiFault
from service.schemas.problem_details import Code

MAX_DIGITS = 300  # of a whole number: every one fits into a float
_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class JsonRoute(APIRoute):
    """A route whose body is read as strict JSON, before anything is made of it.

    A function that blocks is called in a thread. FastAPI would check its answer in a thread too, and a request would
    wait for one again to be checked in 0.1 ms.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        super().__init__(path, endpoint if inspect.iscoroutinefunction(endpoint) else _in_thread(endpoint), **settings)

    def get_route_handler(self) -> _Handler:
        """What answers a request."""
        handle, takes_body = super().get_route_handler(), self.body_field is not None

        async def strict(request: Request) -> Response:
            if takes_body:
                request = _BufferedRequest(request.scope, request.receive)
                await request.read()
            return await handle(request)

        return strict


class _BufferedRequest(Request):
    """A request whose JSON is there already when somebody asks for it."""

    async def read(self) -> None:
        """Read the body.

        Raises:
            ApiFault: it is of another kind, or no JSON.
        """
        content = await self.body()
        if content:
            _check_coding(self.headers.get("content-encoding", ""))
            _check_kind(self.headers.get("content-type", ""))
            self._value = parse(content)

    async def json(self) -> Any:
        return self._value


def _in_thread(endpoint: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @functools.wraps(endpoint)
    async def waited(**values: Any) -> Any:
        return await run_in_threadpool(endpoint, **values)

    return waited


def parse(content: bytes) -> Any:
    """The value of a JSON text, by RFC 8259 and the advice in it.

    Raises:
        ApiFault: it is none.
    """
    try:
        return json.loads(
            content.decode(),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_once,
        )
    except UnicodeDecodeError:
        raise _broken("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _broken(f"{error.msg} in line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise _broken("it is nested too deeply") from None


def _check_coding(coding: str) -> None:
    if coding.strip().lower() not in ("", "identity"):
        detail = f"the body comes as Content-Encoding: {coding[:40]}, and only uncompressed bodies are taken"
        headers = {"Accept-Encoding": "identity"}
        raise ApiFault(415, Code.UNSUPPORTED_MEDIA_TYPE, f"{detail}: send it without", headers=headers)


def _check_kind(content_type: str) -> None:
    message = email.message.Message()
    message["content-type"] = content_type
    subtype = message.get_content_subtype()
    if message.get_content_maintype() != "application" or not (subtype == "json" or subtype.endswith("+json")):
        raise ApiFault(415, Code.UNSUPPORTED_MEDIA_TYPE, "send the body as Content-Type: application/json")


def _refuse_constant(text: str) -> NoReturn:
    raise _broken(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise _broken(f"{text[:20]} is a number beyond all bounds")
    return value


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise _broken(f"{text[:20]}... is a number beyond all bounds")
    return int(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise _broken(f"the member {twice[:60]!a} stands in an object twice")
    return found


def _broken(why: str) -> ApiFault:
    return ApiFault(400, Code.INVALID_REQUEST, f"the body cannot be read as JSON: {why}")
