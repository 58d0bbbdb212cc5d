"""What a reader makes of a problem's folder, before it is packed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evolve.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A problem as its files describe it.

    Attributes:
        search: defaults for the run configuration.
        policy: a policy that the folder names, with the keys of a policy file, or None.
        warnings: sentences about what was read and is not honoured.
    """

    problem: Problem
    search: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
