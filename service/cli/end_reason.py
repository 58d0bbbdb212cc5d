"""What ended a run: the limit, where it was set, and how to change it."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from service.cli import formatting
from service.ports import RunRecord

CREATED = "run.created"
FLAGS = "the flags"
_EXTENDED = "a change"
_PHRASES = {FLAGS: "set on the command line", "the default": "the default", _EXTENDED: "changed since the run began"}
_FACTOR = 10  # the limit that is suggested, in limits that there were


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingLimit:
    """The limit that ended a run.

    Attributes:
        key: of the configuration.
        source: the file or the option that set it; empty: not known.
        change: words that set a larger one.
    """

    key: str
    value: Any
    source: str
    change: str

    def as_json(self) -> dict[str, Any]:
        """The limit as `--json` shows it."""
        return {"key": self.key, "limit": self.value, "from": self.source or None, "change": self.change}


def limit_sources(events: Iterable[Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """Where each limit of a run was set, as its first event says; empty where it does not."""
    first: Mapping[str, Any] = next(iter(events), {})
    return first.get("limits") or {} if first.get("kind") == CREATED else {}


def ending_limit(run: RunRecord, sources: Mapping[str, Mapping[str, Any]]) -> EndingLimit | None:
    """The limit that ended a run; None where something else did."""
    value = (run.config.get("budget") or {}).get(run.reason)
    if value is None:
        return None
    source = sources.get(run.reason, {})
    # A budget that was extended is no longer as the run was created with.
    known = str(source.get("from", "")) if source.get("limit") == value else _EXTENDED if source else ""
    key = f"budget.{run.reason}"
    return EndingLimit(key=key, value=value, source=known, change=_change(key, value))


def limit_words(limit: EndingLimit) -> str:
    """The limit, where it was set and how to change it."""
    seconds = limit.key.endswith("seconds")
    value = f"{formatting.number(limit.value)} s" if seconds else _number(limit.value)
    source = _PHRASES.get(limit.source, f"set in {limit.source}" if limit.source else "")
    if limit.source.startswith("--") or limit.source == "the request":
        source = f"set by {limit.source}"
    return f"{value}{f', {source}' if source else ''}; change it with {limit.change}"


def _number(value: Any) -> str:
    return formatting.count(value) if isinstance(value, int) else str(value)


def _change(key: str, value: Any) -> str:
    if key == "budget.target":
        return "--target F"
    if isinstance(value, int | float):
        return f"--set {key}={value * _FACTOR:g}" if isinstance(value, float) else f"--set {key}={value * _FACTOR}"
    return f"--set {key}={shlex.quote('AMOUNT')}"
