"""The choices of a proposal: what decided each, out of the one record in which it stands."""

from collections.abc import Mapping
from typing import Any

PARENT = "parent"


def choices_of(rationale: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """What decided, by what was chosen: the parent first, then the others in the order of the record.

    Args:
        rationale: of a proposal: values of the parent by themselves, those of each other choice as a mapping.
    """
    own = {name: value for name, value in rationale.items() if not isinstance(value, Mapping)}
    others = [(name, value) for name, value in rationale.items() if isinstance(value, Mapping)]
    return [(PARENT, own), *others] if own else others
