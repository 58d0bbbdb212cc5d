"""Values as short summaries that can be compared: a checksum of their form, and weighted sums of their fractions."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MAX_ITEMS = 1_000_000
_MAX_DEPTH = 50
_TOLERANCE = 1e-6
_WEIGHTS = 997  # prime, so that the weights of two swapped fractions differ
Summary = list[Any]


def summary(value: Any) -> Summary:
    """A checksum of all but fractions, the weighted sums of these and of their sizes; and whether it says much."""
    walk = _Walk()
    walk.visit(value, 0)
    checksum = walk.form.hexdigest()[:12]
    return [checksum, float(f"{walk.total:.12g}"), float(f"{walk.size:.12g}"), walk.telling]


def equal(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Whether two summaries are of equal values; fractions may differ by a millionth."""
    near = abs(first[1] - second[1]) <= _TOLERANCE * max(abs(first[2]), abs(second[2])) + 1e-300
    return bool(first[0] == second[0] and near)


class _Walk:
    def __init__(self) -> None:
        self.form = hashlib.sha256()
        self.total = self.size = 0.0
        self.telling = False
        self._fractions = self._items = 0

    def visit(self, value: Any, depth: int) -> None:
        self._items += 1
        if self._items > MAX_ITEMS or depth > _MAX_DEPTH:
            return self._note("...")
        if isinstance(value, float):
            return self._fraction(value)
        if value is None or isinstance(value, bool | int | str | bytes):
            self.telling |= value is not None
            return self._note(type(value).__name__, repr(value))
        if isinstance(value, complex):
            self._fraction(value.real)
            return self._fraction(value.imag)
        return self._container(value, depth)

    def _container(self, value: Any, depth: int) -> None:
        self._note(type(value).__name__)
        if isinstance(value, Mapping):
            self._sorted(value.items(), depth)
        elif isinstance(value, set | frozenset):
            self._sorted(value, depth)
        elif callable(getattr(value, "tolist", None)) and hasattr(value, "dtype"):
            self._note(str(value.dtype))
            self.visit(value.tolist(), depth + 1)
        elif isinstance(value, Sequence | range) or type(value).__name__ in ("array", "deque"):
            self._all(value, depth)
        elif isinstance(getattr(value, "__dict__", None), dict) and not callable(value):
            self._sorted(vars(value).items(), depth)
        self._note("end")

    def _all(self, items: Iterable[Any], depth: int) -> None:
        self.telling = True
        for item in items:
            self.visit(item, depth + 1)
            if self._items > MAX_ITEMS:
                return

    def _sorted(self, items: Iterable[Any], depth: int) -> None:
        self._all(sorted(items, key=lambda item: repr(item)[:200]), depth)

    def _fraction(self, value: float) -> None:
        self.telling = True
        if not math.isfinite(value):
            return self._note("float", repr(value))
        self._fractions += 1
        weight = 1 + (self._fractions * 7919 % _WEIGHTS) / _WEIGHTS
        self.total += weight * value
        self.size += weight * abs(value)
        return self._note("float")

    def _note(self, *words: str) -> None:
        for word in words:
            self.form.update(word.encode("utf-8", "surrogatepass") + b"\0")
