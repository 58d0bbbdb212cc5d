"""The files of a program for the mutator and the tuner, with the parts of each that may change."""

from collections.abc import Iterator, Mapping
from itertools import accumulate

from evolve.answers.regions import guarded, regions
from evolve.errors import AnswerError
from evolve.program import Program
from evolve.repository import Repository
from service.policy.syntax.scan import language_of
from service.policy.syntax.source import SourceText

# Of the files of a repository, so many characters may change, the files that matter first.
READ_CHARACTERS = 200_000


def program_sources(program: Program, language: str, repository: Repository | None = None) -> Iterator[SourceText]:
    """Each file of a program; prose and data have no part that may change.

    Args:
        program: whose files are read.
        language: of the problem.
        repository: that the program changes; None: it is whole by itself.
    """
    if repository is None:
        yield from _sources(dict(program.files), language, alone=program.single, bounded=guarded(program))
        return
    for path, text in repository.view(program, READ_CHARACTERS).items():
        if language_of(path, language) is not None:
            # Regions bound the changes of the file that has them, and of no other.
            bounded = guarded(Program.of({path: text}))
            yield from _sources({path: text}, language, alone=False, bounded=bounded)


def _sources(files: Mapping[str, str], language: str, *, alone: bool, bounded: bool) -> Iterator[SourceText]:
    for path, text in files.items():
        spoken = language.lower() if alone else language_of(path, language)
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
