"""Fields of forms: what was typed becomes a request of the API, or complaints that stand beside the fields."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from service.client import Call
from service.client.transport import IDEMPOTENCY_KEY

Request = TypeVar("Request", bound=BaseModel)
Answer = TypeVar("Answer")
WHOLE, ONCE = "form", "once"
_KEY = re.compile(r"[A-Za-z0-9_-]{16,64}")


class FormErrors(dict[str, str]):
    """What is wrong with a form, by the name of the field; under `WHOLE` what is of no field alone."""


def filled(model: type[Request], values: Mapping[str, Any], complaints: FormErrors) -> Request | None:
    """What a form of these values asks for; None: something is wrong with it, as `complaints` say then."""
    try:
        request = model(**values)
    except ValidationError as error:
        for one in error.errors(include_url=False, include_input=False):
            name = str(one["loc"][0]) if one["loc"] else WHOLE
            complaints.setdefault(name, f"{one['msg'][0].lower()}{one['msg'][1:]}")
        return None
    return None if complaints else request


def new_once() -> str:
    """What a form carries so that it has its effect once, however often it is sent."""
    return secrets.token_urlsafe(18)


def only_once(call: Call[Answer], form: Mapping[str, str]) -> Call[Answer]:
    """A call that a page loaded again does not make again; what was secret in its answer is not told twice."""
    key = form.get(ONCE, "")
    return replace(call, headers={**call.headers, IDEMPOTENCY_KEY: key}) if _KEY.fullmatch(key) else call


def last_day(text: str, name: str, now: datetime, complaints: FormErrors) -> datetime | None:
    """The end of a day such as 2026-03-01, in UTC; None: none was named, or it is none to come."""
    if not text.strip():
        return None
    try:
        end = datetime.combine(date.fromisoformat(text.strip()), time(23, 59, 59), UTC)
    except ValueError:
        complaints[name] = "this is not a date: write one such as 2026-12-31"
        return None
    if end <= now:
        complaints[name] = "this day is over: name one to come"
        return None
    return end
