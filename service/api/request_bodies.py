"""Bodies as JSON says they are: UTF-8, finite numbers, every member once, and not nested without end."""

import email.message
import json
import math
from typing import Any, NoReturn

from fastapi import Request

from service.api.problem_errors import ApiFault
from service.schemas.problem_details import Code

MAX_DIGITS = 300  # of a whole number: every one fits into a float


class BufferedRequest(Request):
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
        """What `read` found."""
        return self._value


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
