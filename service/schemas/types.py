"""Types of the wire: as strict as JSON Schema says they are, and no stricter."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from evolve.configuration.checks import PLAIN_TEXT
from evolve.program import MAX_PROGRAM_CHARACTERS
from evolve.search.hints import MAX_HINT_CHARACTERS
from service.timestamps import rfc3339

MAX_LABELS = 16
MAX_DEPTH = 64
WITHOUT_NUL = r"^[^\x00]*$"
NOT_BLANK = r"^[^\x00]*[^\x00\s][^\x00]*$"
# A dict whose names have a pattern says only what those are that fit it.
NO_OTHERS: dict[str, Any] = {"additionalProperties": False}
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


# What `str` of `evolve.money.Money` gives: an exact decimal, and its currency unless it is nothing at all.
Spent = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?( [A-Z]{3})?$", examples=["0.0125 USD"])]
MoneyLimit = Annotated[str, Field(pattern=r"^[0-9]{1,12}(\.[0-9]{1,12})?( [A-Z]{3})?$", examples=["2.50", "2.50 USD"])]


class Request(BaseModel):
    """Base of requests. Unknown members are errors, and values are not converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Reply(BaseModel):
    """Base of answers. A client of an older version ignores members that it does not know."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def integral(value: object) -> object:
    """A whole number, also where it is written with a point."""
    # JSON Schema calls 3.0 an integer; a strict int refuses it.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _only_text(value: object) -> object:
    # Lax, a number or its digits would be taken for seconds since 1970; strict, a text would be refused.
    if isinstance(value, datetime) or (isinstance(value, str) and _RFC3339.fullmatch(value)):
        return value
    raise ValueError("a time is a text such as 2026-03-01T12:00:00Z")


def _utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("a time lies in the years 1 to 9999") from error


def storable_text(text: str) -> str:
    """A text that databases take."""
    if "\x00" in text:
        raise ValueError("must not hold NUL characters")
    return _readable(text)


def _named(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return storable_text(text)


def _readable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("must be valid Unicode, without lone surrogates") from error
    return text


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"must not be nested more than {MAX_DEPTH} levels deep")
        if isinstance(item, str):
            _readable(item)
        elif isinstance(item, dict):
            waiting += [(inner, depth + 1) for pair in item.items() for inner in pair]
        elif isinstance(item, list):
            waiting += [(inner, depth + 1) for inner in item]
    return value


# The constraints stand before the validator, else they are checked and not documented.
Count = Annotated[int, Field(strict=True, ge=0, le=2**53), BeforeValidator(integral)]
Positive = Annotated[int, Field(strict=True, ge=1, le=2**53), BeforeValidator(integral)]
# A billion: dates that are told from it exist.
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Moment = Annotated[
    AwareDatetime,
    Field(strict=False),
    BeforeValidator(_only_text),
    AfterValidator(_utc),
    PlainSerializer(rfc3339, return_type=str),
]
Text = Annotated[str, AfterValidator(storable_text), Field(json_schema_extra={"pattern": WITHOUT_NUL})]
ProgramText = Annotated[
    str,
    Field(max_length=MAX_PROGRAM_CHARACTERS, json_schema_extra={"pattern": WITHOUT_NUL}),
    AfterValidator(storable_text),
]
HintText = Annotated[str, Field(max_length=MAX_HINT_CHARACTERS, pattern=PLAIN_TEXT), AfterValidator(storable_text)]
Name = Annotated[
    str, Field(min_length=1, max_length=200, json_schema_extra={"pattern": NOT_BLANK}), AfterValidator(_named)
]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{6,100}$")]
# The shortest name is such as 0.0.
CandidateName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{3,100}$")]
ProblemName = Annotated[
    str, Field(min_length=1, max_length=220, json_schema_extra={"pattern": NOT_BLANK}), AfterValidator(_named)
]
Labels = Annotated[
    dict[
        Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")],
        Annotated[
            str, Field(max_length=200, json_schema_extra={"pattern": WITHOUT_NUL}), AfterValidator(storable_text)
        ],
    ],
    Field(max_length=MAX_LABELS, json_schema_extra=NO_OTHERS),
]
Object = Mapping[str, Any]
Plain = Annotated[dict[str, Any], AfterValidator(_plain)]


class Page(Reply):
    """Base of lists: a page, and the start of the next."""

    next_cursor: str | None = Field(
        default=None, description="Send it as `cursor` for the next page. Null: the last page"
    )
    count: int | None = Field(default=None, description="Total number of items, only with `include=count`")
