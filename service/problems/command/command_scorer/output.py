"""Printed text as a score: a plain number, `name: number`, JSON, or a pattern; the last line counts."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_NUMBER = r"[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)\b"
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "sec": 1.0, "secs": 1.0, "s": 1.0}
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_SPREAD = r"(?:\s*(?:\+-|\+/-|±).*)?"
_PLAIN = re.compile(rf"\s*(?P<value>{_NUMBER})\s*(?P<unit>{_UNIT})?{_SPREAD}\s*", re.IGNORECASE)
_LABELLED = re.compile(
    rf"\s*(?P<name>[^\d\s=:][^=]*?)\s*[:=]\s*(?P<value>{_NUMBER})\s*(?P<unit>{_UNIT})?{_SPREAD}\s*", re.IGNORECASE
)
_UNIT_AFTER = re.compile(rf"\s*(?P<unit>{_UNIT})\b", re.IGNORECASE)
_MAX_SHOWN = 100


class OutputError(Exception):
    """The text holds no score; its text is one sentence with the cure."""


@dataclass(frozen=True)
class Reading:
    """A score as it was printed.

    Attributes:
        name: the label that was printed with it; empty: none was.
        value: in seconds where a unit of time was printed with it.
        unit: the unit of time that was printed; empty: none.
        form: `number`, `label`, `JSON` or `pattern`.
        beside: the other values of its JSON object.
        lines: the other printed lines.
    """

    name: str
    value: float
    unit: str
    form: str
    beside: Mapping[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


def read_output(text: str, metric: str = "", pattern: str = "") -> Reading:
    """The score of a printed text.

    Args:
        text: what the command printed on stdout.
        metric: label or JSON key of the score, with points for nested keys; empty: the last line has only one.
        pattern: regular expression whose first group is the score; its last match counts.

    Raises:
        OutputError: there is none, there are several, or it is not a finite number.
    """
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise OutputError("the command printed nothing on stdout: print the score on the last line")
    if pattern:
        return _matched(text, pattern, metric)
    if (document := _document(text, lines)) is not None:
        return _of_json(document[0], metric, document[1])
    return _labelled(lines, metric) if metric else _last(lines)


def _matched(text: str, pattern: str, metric: str) -> Reading:
    matches = list(re.finditer(pattern, text, re.MULTILINE))
    if not matches:
        raise OutputError(f"--pattern {pattern} matches nothing of {_shown(text.strip().splitlines()[-1])}")
    match = matches[-1]
    group = 1 if match.re.groups else 0
    word, end = match.group(group), match.end(group)
    if word is None or not re.fullmatch(_NUMBER, word.strip(), re.IGNORECASE):
        raise OutputError(f"--pattern {pattern} matches {_shown(word or '')}, and its first group must be a number")
    unit = _UNIT_AFTER.match(text, end)
    line_start, line_end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", end)
    rest = text[:line_start] + (text[line_end:] if line_end >= 0 else "")
    lines = tuple(line.rstrip() for line in rest.splitlines() if line.strip())
    return _reading(metric, word.strip(), unit["unit"] if unit else "", "pattern", lines)


def _document(text: str, lines: list[str]) -> tuple[Mapping[str, Any], list[str]] | None:
    """The JSON object of the last line or of the whole text, with the lines before it."""
    for candidate, before in ((lines[-1], lines[:-1]), (text, [])):
        if not candidate.strip().endswith("}"):
            continue
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value, before
    return None


def _of_json(document: Mapping[str, Any], metric: str, lines: list[str]) -> Reading:
    flat = dict(_flat(document))
    numbers = [key for key, value in flat.items() if isinstance(value, int | float) and not isinstance(value, bool)]
    if not metric and len(numbers) != 1:
        found = ", ".join(numbers[:10]) or "none"
        raise OutputError(f"the printed JSON holds {len(numbers)} numbers ({found}): name the score with --metric NAME")
    key = metric or numbers[0]
    if key not in flat:
        found = ", ".join(numbers[:10]) or "none"
        raise OutputError(f"the printed JSON has no {key}: its numbers are {found}. Name one with --metric")
    value = flat.pop(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OutputError(f"{key} is {_shown(json.dumps(value))} in the printed JSON, and a score is a number")
    return Reading(key, _finite(float(value), key), "", "JSON", flat, tuple(lines))


def _flat(document: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in document.items():
        name = f"{before}{key}"
        found += _flat(value, f"{name}.") if isinstance(value, dict) else [(name, value)]
    return found


def _labelled(lines: list[str], metric: str) -> Reading:
    wanted = metric.lower()
    for number in range(len(lines) - 1, -1, -1):
        match = _LABELLED.fullmatch(lines[number])
        label = match["name"].lower() if match else ""
        if match and (label == wanted or label.startswith((f"{wanted}:", f"{wanted} "))):
            return _reading(metric, match["value"], match["unit"], "label", (*lines[:number], *lines[number + 1 :]))
    raise OutputError(
        f"no printed line reads `{metric}: NUMBER`, and the last is {_shown(lines[-1])}: name the score with --metric,"
        " or --pattern REGEX"
    )


def _last(lines: list[str]) -> Reading:
    line, before = lines[-1], tuple(lines[:-1])
    if match := _PLAIN.fullmatch(line):
        return _reading("", match["value"], match["unit"], "number", before)
    if match := _LABELLED.fullmatch(line):
        name = match["name"].partition(":")[0].strip()
        return _reading(name, match["value"], match["unit"], "label", before)
    several = len(re.findall(rf"(?<![\w.])(?:{_NUMBER})(?![\w.])", line, re.IGNORECASE)) > 1
    what = "holds several numbers" if several else "is not a score"
    raise OutputError(
        f"the last printed line {what}: {_shown(line)}. Print a number, `name: number` or JSON there, or say which"
        " number it is with --pattern REGEX"
    )


def _reading(name: str, word: str, unit: str | None, form: str, lines: tuple[str, ...]) -> Reading:
    unit = (unit or "").lower()
    value = float(word.replace("_", "")) * _UNITS.get(unit, 1.0)
    return Reading(name, _finite(value, name or "the score"), unit, form, {}, lines)


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise OutputError(f"{name} is {value}, and a score is a finite number")
    return value


def _shown(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= _MAX_SHOWN else f"{flat[: _MAX_SHOWN - 1]}…")
