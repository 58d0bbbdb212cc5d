"""A sweep as a form has it: keys with values, seeds and policies become runs, with the most that they may cost."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from service.dashboard.formatting import plain
from service.errors import UsageError
from service.projections.money import total
from service.schemas.batches import MAX_RUNS
from service.schemas.requests import checked
from service.schemas.runs import RunCreate

SEED = "seed"
MAX_LABEL = 200
LIMITS = ("evaluations", "answers", "tokens", "wall_seconds", "money")
_RANGE = re.compile(r"(\d{1,9})\s*(?:-|to|\.\.)\s*(\d{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptKey:
    """A key of the configuration with the values that it takes, one for each run of a combination."""

    key: str
    values: Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """A configuration without its seed, as a run of it is asked for. `name`: what sets it apart; empty: nothing."""

    name: str
    config: Mapping[str, Any]
    policy: str | None

    def run(self, problem: str, seed: int) -> RunCreate:
        """The request of its run with a seed."""
        labels = {"policy": self.policy or "", "variant": self.name[:MAX_LABEL]}
        return checked(
            RunCreate,
            problem=problem,
            config={**self.config, SEED: seed},
            policy=self.policy,
            labels={key: value for key, value in labels.items() if value},
        )


def read_values(text: str) -> list[Any]:
    """Values with commas between them: numbers, true and false, texts with or without quotes; JSON where it has one.

    Raises:
        UsageError: one of them is twice there.
    """
    found = [_value(part.strip()) for part in _parts(text) if part.strip()]
    written = [json.dumps(value, sort_keys=True) for value in found]
    if twice := next((one for one in written if written.count(one) > 1), None):
        raise UsageError(f"{plain(twice, 40)} is there twice: name it once")
    return found


def read_seeds(text: str) -> list[int]:
    """Seeds as people type them: `0-4`, or `1, 2, 5`.

    Raises:
        UsageError: they are no whole numbers, too many, or one is twice there.
    """
    found: list[int] = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        whole = _RANGE.fullmatch(part)
        first, last = (int(whole[1]), int(whole[2])) if whole else (_seed(part), _seed(part))
        if not 0 <= last - first < MAX_RUNS:
            raise UsageError(f"{plain(part, 40)}: write the smaller seed first, and at most {MAX_RUNS} seeds")
        found += range(first, last + 1)
    if not found:
        raise UsageError("name at least one seed, such as 0-4")
    if len(set(found)) < len(found):
        raise UsageError("a seed is there twice: name it once")
    return found


def combinations(keys: Sequence[SweptKey], policies: Sequence[str]) -> list[Combination]:
    """All of them, in the order of the values; without a policy the problem's own."""
    several = [one for one in keys if len(one.values) > 1]
    found = []
    for policy in policies or (None,):
        for values in product(*(one.values for one in keys)):
            pairs = dict(zip((one.key for one in keys), values, strict=True))
            name = ", ".join(f"{one.key}={written(pairs[one.key])}" for one in several)
            found.append(Combination(name=name, config=config_of(pairs), policy=policy))
    return found


def config_of(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration from dotted keys.

    Raises:
        UsageError: a key is below another that has a value.
    """
    config: dict[str, Any] = {}
    for key, value in pairs.items():
        *tables, last = key.split(".")
        table = config
        for name in tables:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise UsageError(f"{plain(key, 60)} is below a key that has a value")
        if last in table:
            raise UsageError(f"{plain(key, 60)} is set twice")
        table[last] = value
    return config


def at_most(budgets: Sequence[Mapping[str, Any]]) -> dict[str, float | str | None]:
    """The most that runs with these budgets may use together, by limit; None: some of them have no such limit."""
    found: dict[str, float | str | None] = {}
    for name in LIMITS:
        limits = [budget[name] for budget in budgets if budget.get(name) is not None]
        if not limits or len(limits) < len(budgets):
            found[name] = None
        else:
            found[name] = total(map(str, limits)) if name == "money" else float(sum(limits))
    return found


def written(value: Any) -> str:
    """A value as it was typed."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _parts(text: str) -> list[str]:
    """A text at its commas outside of quotes and brackets."""
    parts, depth, quoted, part = list[str](), 0, False, ""
    for letter in text:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "[{") - (letter in "]}")
        if letter == "," and not quoted and depth <= 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    return [*parts, part]


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return text
    return value


def _seed(text: str) -> int:
    if not text.isdecimal() or len(text) > 15:
        raise UsageError(f"{plain(text, 40)} is not a seed: write whole numbers, such as 0-4")
    return int(text)
