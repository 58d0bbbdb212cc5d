"""The keywords of `evolve.run` that are keys of the run configuration, for editors, type checkers and `help`."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, get_type_hints

Table = Mapping[str, Any]
Called = TypeVar("Called", bound=Callable[..., Any])


class RunKeywords(TypedDict, total=False):
    """Top-level keys of the configuration; a table such as `budget` is a mapping of its keys.

    What is `Any` takes names, shares by name, or objects of the caller's.
    """

    evaluations: int
    strategy: Any
    islands: int
    island_choice: str
    topology: str
    migration_interval: int
    migration_rate: float
    migrants: str
    reset_after: int
    reset_from: str
    archive: Any
    selection: Any
    selection_options: Table
    operators: Mapping[Any, float]
    operator_choice: str
    novelty: Table
    inspirations: Table
    variants: Sequence[Table]
    policy_choice: str
    answers: int
    samples: int
    stopping_rule: Any
    prompt_pool: int
    prompt: Table
    insights: Table
    learning: Table
    budget: Table
    seed: int
    deterministic: Table
    concurrency: Table


def with_keywords(function: Called) -> Called:
    """A function whose signature at run time names each keyword in place of `**configuration`."""
    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    keys = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in get_type_hints(RunKeywords).items()
    ]
    function.__signature__ = signature.replace(parameters=[*own, *keys])  # type: ignore[attr-defined] # inspect reads it
    return function
