"""A program that a person inserts into a run: checked against its parent, and the change that brings it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from evolve.answers.edit import replace_files
from evolve.answers.repository_edits import replace_repository_files
from evolve.change_events import MAX_INSERTED_FILES, ProgramInserted, RequestedChange
from evolve.errors import AnswerError, ProgramError
from evolve.program import MAX_PROGRAM_CHARACTERS, Program
from evolve.repository import MANIFEST, Repository, base_commit
from evolve.similarity.changed_parts import changed_parts
from service.errors import ConflictError, UsageError
from service.ports import ENDED, ResultReader, RunRecord
from service.projections.candidates import evaluated_candidate, island_count


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertedProgram:
    """What a person brings.

    Attributes:
        files: text by path; those that are left out stay as the parent has them. Where the parent is one file, the path
            of the one file here does not matter.
        removed: paths of files over a repository that the program does not have.
        parent: a candidate of the run; empty: its first seed.
        island: None: that of the parent.
    """

    files: Mapping[str, str] = field(repr=False)
    removed: Sequence[str] = ()
    parent: str = ""
    island: int | None = None


def insertion_change(
    reader: ResultReader,
    run: RunRecord,
    language: str,
    insertion: InsertedProgram,
    change_id: str,
    by: str,
    repository: Callable[[str], Repository | None] = lambda _: None,
) -> RequestedChange:
    """The change by which a person's program becomes a candidate, all of it checked.

    Args:
        reader: of the run.
        run: the run.
        language: of its problem; empty: it is not known, and told from the names of files.
        insertion: what is brought.
        change_id: of the change.
        by: who brings it.
        repository: what the programs of a problem change, by the hash of its folder.

    Raises:
        NotFoundError: the run has no such candidate.
        ConflictError: the run has ended, or the parent is not evaluated yet.
        UsageError: the program cannot be evaluated, or there is no such island.
    """
    if run.state in ENDED:
        raise ConflictError(f"run {run.id} has ended, it is {run.state}: fork it, or start another")
    parent = evaluated_candidate(reader, run, insertion.parent)
    islands = island_count(run)
    island = parent.island if insertion.island is None else insertion.island
    if not 0 <= island < islands:
        raise UsageError(f"run {run.id} has no island {island}: give a number from 0 to {islands - 1}")
    before = reader.program(parent.id)
    files = dict(insertion.files)
    base = repository(run.bundle_hash) if base_commit(dict(before.files)) else None
    if base is not None:
        # Whoever edits a program as it is stored gives its manifest back.
        files = {path: text for path, text in files.items() if (path, text) != (MANIFEST, dict(before.files)[MANIFEST])}
    elif insertion.removed:
        raise UsageError("only a program over a git repository can be without files of its parent: give all files")
    elif before.single and len(files) == 1:
        files = {before.files[0][0]: next(iter(files.values()))}
    _check_size(files, insertion.removed)
    language = language or _language(before)
    try:
        if base is None:
            program = replace_files(before, files, language)
        else:
            program = replace_repository_files(base, before, files, language, insertion.removed)
    except (AnswerError, ProgramError) as error:
        raise UsageError(str(error)) from error
    data = ProgramInserted(
        change_id=change_id,
        by=by,
        program_id=program.id,
        parent=parent.id,
        island=island,
        changed=changed_parts(before, program, base),
    )
    return RequestedChange(data=data, program=program)


def _language(program: Program) -> str:
    return "python" if any(path.endswith(".py") for path, _ in program.files) else ""


def _check_size(files: Mapping[str, str], removed: Sequence[str]) -> None:
    if not files and not removed:
        raise UsageError("give at least one file of the program")
    if (count := len(files) + len(removed)) > MAX_INSERTED_FILES:
        raise UsageError(f"the program changes {count} files: at most {MAX_INSERTED_FILES} are accepted")
    size = sum(map(len, files.values()))
    if size > MAX_PROGRAM_CHARACTERS:
        raise UsageError(f"the program has {size:,} characters: at most {MAX_PROGRAM_CHARACTERS:,} are accepted")
