"""Parameters of many runs: in which keys their configurations differ, and how much of their results each explains."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

SEED = "seed"
MIN_RUNS = 4  # with a result, for a share that means anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A key in which runs differ.

    Attributes:
        key: of the configuration, with dots, or `policy`.
        values: of each run, as text, in the order of the runs.
        explained: share of the variance of the results that its groups explain (eta squared); None: too few results, or
            they are all equal.
    """

    key: str
    values: Sequence[str]
    explained: float | None


def differing(configs: Sequence[Mapping[str, Any]], results: Sequence[float | None]) -> list[Parameter]:
    """The keys whose values differ between runs, the one that explains most first; seeds are chance, and left out."""
    flat = [dict(_flattened(config)) for config in configs]
    keys = dict.fromkeys(key for config in flat for key in config if key != SEED)
    found = []
    for key in keys:
        values = [config.get(key, "–") for config in flat]
        if len(set(values)) > 1:
            found.append(Parameter(key=key, values=values, explained=explained(values, results)))
    return sorted(found, key=lambda one: (-(one.explained or 0.0), one.key))


def explained(values: Sequence[str], results: Sequence[float | None]) -> float | None:
    """The variance between the means of groups over the variance of all results, from 0 to 1."""
    known = [(value, result) for value, result in zip(values, results, strict=True) if result is not None]
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for value, result in known:
        groups[value].append(result)
    if len(known) < MIN_RUNS or not 1 < len(groups) < len(known):
        return None
    mean = fmean(result for _, result in known)
    total = sum((result - mean) ** 2 for _, result in known)
    between = sum(len(group) * (fmean(group) - mean) ** 2 for group in groups.values())
    return min(1.0, between / total) if total > 0 else None


def _flattened(config: Mapping[str, Any], before: str = "") -> list[tuple[str, str]]:
    found = []
    for key, value in config.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping) and value:
            found += _flattened(value, f"{name}.")
        else:
            found.append((name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))
    return found
