"""A problem as the document of Evolve's own form, as somebody would write it: without keys that say the default."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from enum import Enum
from typing import Any

from evolve.problem import EvaluatorSpec, Integrity, Limits, Measure, Objective
from service.problems.reader_result import ReaderResult

_MAX_NAME = 200
_SHARED = EvaluatorSpec(integrity=Integrity.SHARED)


def problem_document(reading: ReaderResult, seeds: Sequence[str]) -> dict[str, Any]:
    """The content of `problem.toml` that is read as this problem.

    Args:
        reading: the problem, with its search and its policies.
        seeds: paths of its seeds.
    """
    problem, spec = reading.problem, reading.problem.evaluator
    document: dict[str, Any] = {
        "schema": 1,
        "name": problem_name(problem.name),
        "description": problem.description,
        "language": problem.language,
        "seeds": list(seeds),
        "main": problem.main,
        "known_best": problem.known_best,
        "known_best_source": problem.known_best_source,
        "evaluator": {"integrity": spec.integrity.value, **_changed(spec, _SHARED)},
        "limits": _changed(problem.limits, Limits()),
        "objectives": [_changed(one, Objective(name="")) for one in problem.objectives],
        "measures": [_changed(one, Measure(name="")) for one in problem.measures],
        "search": dict(reading.search),
        "policies": [dict(policy) for policy in reading.policies],
    }
    return {key: value for key, value in document.items() if value not in ("", None, [], {})}


def problem_name(text: str) -> str:
    """A name that a document can hold."""
    return text.encode("utf-8", "replace").decode()[:_MAX_NAME] or "problem"


def _changed(value: Any, default: Any) -> dict[str, Any]:
    """The fields of a value that say something else than the default, as TOML has them."""
    plain = asdict(value)
    return {
        field.name: _plain(plain[field.name])
        for field in fields(value)
        if plain[field.name] is not None and getattr(value, field.name) != getattr(default, field.name)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
