"""The files of a program for the mutator and the tuner, with the parts of each that may change."""

from collections.abc import Iterator
from itertools import accumulate

from evolve.answers.regions import guarded, regions
from evolve.errors import AnswerError
from evolve.program import Program
from service.policy.syntax.scan import language_of
from service.policy.syntax.source import SourceText


def program_sources(program: Program, language: str) -> Iterator[SourceText]:
    """Each file of a program; prose and data have no part that may change."""
    bounded = guarded(program)
    for path, text in program.files:
        spoken = language.lower() if program.single else language_of(path, language)
        if spoken is None:
            yield SourceText(path, text, "", spans=())
        else:
            yield SourceText(path, text, spoken, spans=_spans(text) if bounded else None)


def _spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each EVOLVE-BLOCK region. Empty if the markers do not pair up, so that nothing changes."""
    try:
        found = regions(text)
    except AnswerError:
        return []
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    return [(starts[region.start], starts[region.end]) for region in found]
