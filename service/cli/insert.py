"""`evolve insert`: a program that a person wrote, as a candidate of a run."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from evolve.program import MAX_PROGRAM_CHARACTERS, Program
from service.cli import formatting
from service.cli.records import find_candidate
from service.cli.steer import SteeringCommand
from service.errors import NotFoundError, UsageError
from service.ports import CandidateRecord, ResultReader, RunRecord
from service.projections.insertion import InsertedProgram

_BYTES_OF_A_CHARACTER = 4


def insert(
    steered: SteeringCommand,
    paths: Sequence[str],
    removed: Sequence[str],
    parent: str,
    island: int | None,
) -> None:
    """Insert a program into a run.

    Args:
        steered: the run.
        paths: of files on this machine.
        removed: paths of files that a program over a repository does not have.
        parent: a candidate; empty: the first seed.
        island: None: that of the parent.
    """
    reader, run = steered.controller.site.reader, steered.run
    texts = {path: _text(path) for path in paths}
    origin = _parent(reader, run, parent)
    known = reader.program(origin.id) if origin else None
    files = {_path(path, known): text for path, text in texts.items()}
    if len(files) < len(texts):
        raise UsageError("two files have the same name in the program: give each once")
    named = origin.id if origin and parent else ""
    insertion = InsertedProgram(files=files, removed=removed, parent=named, island=island)
    request = steered.controller.control.insert(run, insertion)
    steered.show(request, f"gets the program as a child of {formatting.short(origin.id) if origin else 'its seed'}")


def _parent(reader: ResultReader, run: RunRecord, named: str) -> CandidateRecord | None:
    """The candidate that the program descends from; None: the run has none yet."""
    if not named:
        return next(iter(reader.candidates(run.id, limit=1)), None)
    return find_candidate(reader, named, run.id)


def _text(path: str) -> str:
    file = Path(path)
    try:
        if file.stat().st_size > _BYTES_OF_A_CHARACTER * MAX_PROGRAM_CHARACTERS:
            raise UsageError(f"{path} has more than the {MAX_PROGRAM_CHARACTERS:,} characters that are accepted")
        return file.read_text("utf-8")
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as text: {error}") from None


def _path(path: str, known: Program | None) -> str:
    """The path in the program that a file of this machine is for."""
    given = PurePosixPath(Path(path).as_posix())
    paths = [one for one, _ in known.files] if known else []
    same = [one for one in paths if given == PurePosixPath(one)]
    ending = [one for one in paths if PurePosixPath(one).name == given.name]
    return (same or (ending if len(ending) == 1 else [given.as_posix()]))[0]
