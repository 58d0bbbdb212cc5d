"""Mutations of what a Python program picks and returns: `min` for `max`, `True` for `False`, another returned value."""

import numpy as np

from service.policy.syntax.draw import pick
from service.policy.syntax.source import Draft, SourceText, TextChange
from service.policy.syntax.structure import one
from service.policy.syntax.tree import OPPOSITES, Tree, TreeNode


def opposite(source: SourceText, tree: Tree, rng: np.random.Generator) -> Draft | None:
    """Call the opposite of a function that picks something, such as `argmax` for `argmin`."""
    place = _editable(source, tree.picks, rng)
    if place is None:
        return None
    return one(source, TextChange(place.start, place.end, OPPOSITES[place.kind]), "called the opposite function")


def flag(source: SourceText, tree: Tree, rng: np.random.Generator) -> Draft | None:
    """Turn a `True` into a `False` or back."""
    place = _editable(source, tree.flags, rng)
    if place is None:
        return None
    text = "False" if source.text[place.start : place.end] == "True" else "True"
    return one(source, TextChange(place.start, place.end, text), "turned a flag")


def returned(source: SourceText, tree: Tree, rng: np.random.Generator) -> Draft | None:
    """Return another value: a variable of the function, or the same one scaled, shifted or negated.

    A scale or a shift is a number that later mutations tune.
    """
    place = _editable(source, tree.returns, rng)
    if place is None:
        return None
    text = source.text[place.start : place.end]
    whole = text if text.isidentifier() else f"({text})"
    choices = [f"-{whole}", f"{whole} * 1.1", f"{whole} * 0.9", f"{whole} + 0.1", f"{whole} - 0.1"]
    choices += [name for name in _variables(tree, place.kind) if name != text]
    return one(source, TextChange(place.start, place.end, pick(choices, rng)), "returned another value")


def _variables(tree: Tree, scope: str) -> list[str]:
    """Names of arguments and assigned variables of a function."""
    assigned = [name.removeprefix(scope) for name in tree.values if scope and name.startswith(scope)]
    return sorted({*tree.parameters.get(scope, ()), *(name for name in assigned if "." not in name)} - {"self", "cls"})


def _editable(source: SourceText, places: list[TreeNode], rng: np.random.Generator) -> TreeNode | None:
    found = [place for place in places if source.editable(place.start, place.end)]
    return pick(found, rng) if found else None
