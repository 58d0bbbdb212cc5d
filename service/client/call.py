"""Calls: what is asked of a service, as values that know the type of their answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel

Answer = TypeVar("Answer")
# The service reads a long run before the first byte of such an answer.
FOLD_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[Answer]):
    """One call of the API.

    Attributes:
        answer: what a success is read as: a model, `bytes` as they come, or `NoneType` for no content.
        params: of the query; empty texts are left out.
        body: sent as JSON, only what was set in it; None: there is none.
        headers: beyond those that every call has.
        wait_seconds: how long the service may take on purpose before it answers.
    """

    method: str
    path: str
    answer: type[Answer]
    params: Mapping[str, str | int] = field(default_factory=dict)
    body: BaseModel | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_seconds: float = 0.0

    @property
    def repeatable(self) -> bool:
        """Whether it may be sent again when nobody knows what became of it; a POST carries a key for that."""
        return self.method in {"GET", "HEAD", "PUT", "POST"}

    def at(self, cursor: str) -> "Call[Answer]":
        """The same call for the page behind a cursor."""
        return replace(self, params={**self.params, "cursor": cursor})


def place(template: str, *names: str) -> str:
    """A path with names in the places of `{}`, each of them one segment whatever it holds."""
    return template.format(*map(_segment, names))


def _segment(name: str) -> str:
    # A segment of dots alone would be resolved: `..` leads to what lies above.
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")


def chosen(**params: Any) -> dict[str, str | int]:
    """Parameters of a query that were given: not None and not empty."""
    return {name: value for name, value in params.items() if value is not None and value != ""}
