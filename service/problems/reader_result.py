"""The result of reading a problem's folder, before it is packed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evolve.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderResult:
    """A problem as its files describe it.

    Attributes:
        search: defaults for the run configuration.
        policies: policies of the folder, each with the keys of a policy file.
        warnings: sentences about ignored settings.
    """

    problem: Problem
    search: Mapping[str, Any] = field(default_factory=dict)
    policies: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
