"""Selections by name; those of others are checked, so that a mistake ends a run with its name and spoils nothing."""

import inspect
import json
import math
import operator

import numpy as np

from evolve.errors import ExtensionError
from evolve.extensions import Extension, ExtensionKind, Extensions, guarded
from evolve.selection.selection import Select, Selected, SelectionParams
from evolve.selection.view import ArchiveView


def open_selection(name: str, extensions: Extensions) -> Select:
    """The selection of a name.

    Raises:
        MissingExtensionError, ExtensionError: it names an extension that is not there, or cannot be made.
    """
    extension, found = extensions.resolve(ExtensionKind.SELECTION, name)
    if extension.built_in:
        select: Select = found
        return select
    return GuardedSelection(extension, found)


class GuardedSelection:
    """A selection of an extension, held to the contract of `Select`.

    Args:
        extension: names it in errors.
        found: a function or a callable object, or a class, of which an object is made without arguments.

    Raises:
        ExtensionError: it cannot be made, or cannot be called.
    """

    def __init__(self, extension: Extension, found: object) -> None:
        self._extension = extension
        with guarded(extension, "could not be made"):
            made = found() if inspect.isclass(found) else found
        if not callable(made):
            raise self._broken(f"a value of type {type(made).__name__} cannot be called")
        self._select = made

    def __call__(self, view: ArchiveView, rng: np.random.Generator, params: SelectionParams, /) -> Selected:
        """Choose.

        Raises:
            ExtensionError: the selection raised something, or chose what is not there.
        """
        with guarded(self._extension):
            chosen = self._select(view, rng, params)
        if not isinstance(chosen, Selected):
            raise self._broken(f"it returned a value of type {type(chosen).__name__}, not a Selected")
        try:
            place = operator.index(chosen.place)
            weights = tuple(float(weight) for weight in chosen.weights)
            rationale = json.loads(json.dumps(dict(chosen.rationale), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise self._broken(f"it returned {chosen!r:.200}: {error}") from error
        if not 0 <= place < len(view):
            raise self._broken(f"it chose the place {place} among {len(view)} members")
        if weights and (len(weights) != len(view.objectives) or not all(map(math.isfinite, weights))):
            raise self._broken(
                f"it drew {len(weights)} weights for {len(view.objectives)} objectives, or not all are finite"
            )
        return Selected(place=place, weights=weights, rationale=rationale)

    def _broken(self, what: str) -> ExtensionError:
        return ExtensionError(f"{self._extension} breaks the contract of selections: {what}")
