"""The numbers of a program as a vector, and programs of such vectors."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.policy.syntax.numeral import Numeral, fit, spell
from service.policy.syntax.source import Draft, SourceText, TextChange

Vector = NDArray[np.float64]
_MAX_VALUE = 1e15
_TOLD = 4
_WHOLE_SCALE = 20.0  # an optimizer begins with steps of a tenth, which must move a whole number


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedProgram:
    """A program with other numbers.

    Attributes:
        files: the text of each file that holds some, by path.
        account: what was changed, in words.
        texts: every number as it is written.
    """

    files: Mapping[str, str]
    account: str
    texts: tuple[str, ...]


class NumberSpace:
    """The numbers of a program that are tuned, in units of their own size.

    A coordinate of 1 moves a number by its scale: its absolute value, or the mean of those in the same bracket if that
    is larger. Whole numbers are often sizes and indices. They are tuned where a program has no other numbers, and their
    scale is at least 20.

    Args:
        sources: the files of the program.

    Attributes:
        dimensions: how many numbers there are.
        texts: the numbers as the base writes them.
    """

    def __init__(self, sources: Sequence[SourceText]) -> None:
        found = [(source, numeral) for source in sources if source.spans for numeral in source.numerals]
        fractions = [pair for pair in found if not pair[1].integral]
        self._numerals = fractions or found
        self.texts = tuple(numeral.text for _, numeral in self._numerals)
        self._scales = np.array(self._sizes(), dtype=np.float64)
        self.dimensions = len(self._numerals)

    def program(self, point: Vector, step: Vector, texts: Sequence[str]) -> TunedProgram | None:
        """The program at a point; None where a number is out of range, or none differs from the base.

        Args:
            point: the coordinates, 0 for the base.
            step: how far each lies from where the search stands: numbers have digits for steps of this size.
            texts: how each number is written there; one that does not move stays as it is.
        """
        moves, steps = point * self._scales, step * self._scales
        changes: dict[str, list[TextChange]] = {}
        written: list[str] = []
        for (source, numeral), move, size, text in zip(self._numerals, moves, steps, texts, strict=True):
            value = numeral.value + float(move)
            if not math.isfinite(value) or abs(value) >= _MAX_VALUE:
                return None
            written.append(spell(numeral, value, float(size)) if size else text)
            if written[-1] != numeral.text:
                change = TextChange(numeral.start, numeral.end, fit(source.text, numeral, written[-1]))
                changes.setdefault(source.path, []).append(change)
        return self._written(changes, tuple(written)) if changes else None

    def _written(self, changes: Mapping[str, list[TextChange]], texts: tuple[str, ...]) -> TunedProgram | None:
        files: dict[str, str] = {}
        told: list[str] = []
        for source in {source.path: source for source, _ in self._numerals}.values():
            of_file = tuple(changes.get(source.path, ()))
            safe = all(source.apart(change.start, change.end) for change in of_file)
            draft = Draft(of_file, "", safe=safe)
            files[source.path] = source.apply(draft)
            if not source.sound(draft, files[source.path]):
                return None
            told += [source.tell(change) for change in of_file]
        more = f"; and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
        account = f"moved {len(told)} number{'s' * (len(told) > 1)}: {'; '.join(told[:_TOLD])}{more}"
        return TunedProgram(files=files, account=account, texts=texts)

    def _sizes(self) -> list[float]:
        every = _mean_size([numeral for _, numeral in self._numerals])
        groups: dict[tuple[str, int], list[Numeral]] = {}
        for source, numeral in self._numerals:
            for group in numeral.groups[-1:]:
                groups.setdefault((source.path, group), []).append(numeral)
        typical = {group: _mean_size(members) for group, members in groups.items()}
        minimum = _WHOLE_SCALE if all(numeral.integral for _, numeral in self._numerals) else 0.0
        return [
            max(abs(numeral.value), *(typical[source.path, group] for group in numeral.groups[-1:]), minimum) or every
            for source, numeral in self._numerals
        ]


def _mean_size(numerals: Sequence[Numeral]) -> float:
    return math.fsum(abs(numeral.value) for numeral in numerals) / max(1, len(numerals)) or 1.0
