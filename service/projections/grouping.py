"""Which runs belong together: those that differ in nothing but the seed, or that have one value of a key."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from service.errors import UsageError
from service.ports import RunRecord

POLICY, NAME, PROBLEM, LABELS = "policy", "name", "problem", "labels."
NOTHING = "(none)"
MAX_NAME, MAX_TOLD = 80, 3


def leaves(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Keys of a nested configuration with their values as text."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from leaves(inner, f"{key}.{name}" if key else str(name))
    else:
        yield key, _text(value)


def alike(runs: Sequence[RunRecord]) -> tuple[list[str], dict[str, str]]:
    """The group of each run, of those that differ in nothing but the seed, and what groups are called before people."""
    groups = [_alike(run) for run in runs]
    settings = {group: dict(leaves(_settings(run))) for group, run in zip(groups, runs, strict=True)}
    keys = dict.fromkeys(key for one in settings.values() for key in one)
    apart = [key for key in keys if len({one.get(key, NOTHING) for one in settings.values()}) > 1]
    told = apart[:MAX_TOLD]
    titles = {
        group: cut(", ".join(f"{key} {one.get(key, NOTHING)}" for key in told)) for group, one in settings.items()
    }
    whole = len(set(titles.values())) == len(titles) and all(titles.values())
    return groups, titles if whole else {group: group for group in settings}


def grouped(runs: Sequence[RunRecord], key: str) -> list[str]:
    """The group of each run by a key: policy, name (a label), problem, labels.KEY, or one of the configuration.

    Raises:
        UsageError: no run has anything by that key.
    """
    found = [_value(run, key) for run in runs]
    if not any(value is not None for value in found):
        raise UsageError(
            f"none of these runs has the key {key[:60]!r}: group by strategy, policy, name, problem, labels.KEY,"
            " or a key of the configuration such as archive.kind"
        )
    return [NOTHING if value is None else value for value in found]


def titled(group: str, key: str) -> str:
    """What a group by a key is called before people: a value that is not a text is told with its key."""
    if key in (POLICY, NAME, PROBLEM) or key.startswith(LABELS):
        return cut(group)
    try:
        json.loads(group)
    except ValueError:  # a text, which speaks for itself
        return cut(f"{key} {group}") if group == NOTHING else cut(group)
    return cut(f"{key} {group}")


def _value(run: RunRecord, key: str) -> str | None:
    if key == POLICY:
        return _policies(run)
    if key == NAME:
        return run.labels.get(NAME)
    if key == PROBLEM:
        return run.problem_name
    if key.startswith(LABELS):
        return run.labels.get(key.removeprefix(LABELS))
    value: Any = run.config
    for name in key.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return _text(value)


def _settings(run: RunRecord) -> Mapping[str, Any]:
    config = {key: value for key, value in run.config.items() if key != "seed"}
    return {PROBLEM: run.problem_name, **config, POLICY: _policies(run)}


def _policies(run: RunRecord) -> str:
    return ", ".join(str(policy.get("name", "")) for policy in run.policies)


def _alike(run: RunRecord) -> str:
    config = {key: value for key, value in run.config.items() if key != "seed"}
    about = [run.problem_name, run.bundle_hash, config, list(run.policies)]
    text = json.dumps(about, sort_keys=True, default=str)
    return f"{run.problem_name}/{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def cut(text: str) -> str:
    """A name as long as people read."""
    return text if len(text) <= MAX_NAME else f"{text[: MAX_NAME - 1]}…"
