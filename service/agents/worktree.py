"""The folder that an agent edits: the files it is given, and the answers that it leaves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evolve.answers.markup import heading
from evolve.program import Program
from evolve.prompt.text import fenced
from evolve.repository import MANIFEST, Repository, removed_files
from service.sandbox.inside.session import EXITED, TIMED_OUT, TOO_MUCH_OUTPUT
from service.sandbox.session import SessionResult

# Names that begin with a dot are no part of a program.
PROMPT_PATH = ".evolve/prompt.md"
_MAX_NOTES = 5
_MAX_REASON = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAnswers:
    """The answers of a session.

    Attributes:
        answers: (place, text) of each answer.
        rejected: why there is none for a place.
        notes: files that were left and do not count, each with the reason.
    """

    answers: list[tuple[int, str]] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def worktree_files(program: Program, answers: int, prompt: str) -> dict[str, str]:
    """The files that an agent finds: the program, or a copy of it for each answer, and the prompt."""
    folders = [answer_folder(index, answers) for index in range(answers)]
    return {
        PROMPT_PATH: prompt,
        **{f"{folder}{path}": text for folder in folders for path, text in program.files if path != MANIFEST},
    }


def removed_paths(program: Program, answers: int) -> list[str]:
    """The files of the commit that an agent does not find, because its program removes them."""
    return [f"{answer_folder(index, answers)}{path}" for index in range(answers) for path in removed_files(program)]


def read_answers(
    result: SessionResult, program: Program, answers: int, seconds: float, repository: Repository | None = None
) -> SessionAnswers:
    """The answers that a session left.

    Args:
        result: of the session.
        program: that it was given.
        answers: copies of it.
        seconds: it was allowed.
        repository: that the program changes; None: it is whole by itself.
    """
    found = SessionAnswers(notes=[f"{path} {reason}" for path, reason in result.refused])
    for index in range(answers):
        folder = answer_folder(index, answers)
        inside = {path.removeprefix(folder): text for path, text in result.changed.items() if path.startswith(folder)}
        complaints = {path: _complaint(path, program, repository) for path in sorted(inside)}
        taken = {path: inside[path] for path, complaint in complaints.items() if not complaint}
        found.notes.extend(f"{folder}{path} {complaint}" for path, complaint in complaints.items() if complaint)
        gone = [path.removeprefix(folder) for path in result.removed if path.startswith(folder) and path != PROMPT_PATH]
        kept = [path for path in gone if repository is None or not repository.may_change(path)]
        found.notes.extend(f"{folder}{path} was removed, and stays" for path in kept)
        gone = [path for path in gone if path not in kept]
        if taken or gone:
            found.answers.append((index, _answer_text(taken, gone, alone=program.single and repository is None)))
        else:
            found.rejected.append(_rejection(result, folder, seconds))
    return found


def how_it_ended(result: SessionResult, seconds: float) -> str:
    """How a session ended, as the words after `the agent`."""
    if result.ended == EXITED:
        signal_ = f"was ended by signal {-result.status}"
        return f"ended with exit status {result.status}" if result.status >= 0 else signal_
    if result.ended == TIMED_OUT:
        return f"ran longer than {seconds:g} s"
    if result.ended == TOO_MUCH_OUTPUT:
        return "printed too much"
    return f"was ended: {result.transcript.strip()[:_MAX_REASON]}"


def notes_line(notes: Sequence[str]) -> str:
    """Notes as one line; empty where there are none."""
    more = f" and {len(notes) - _MAX_NOTES} more" if len(notes) > _MAX_NOTES else ""
    return "; ".join(notes[:_MAX_NOTES]) + more


def _rejection(result: SessionResult, folder: str, seconds: float) -> str:
    """The sentence for a copy without an answer."""
    gone = [path for path in result.removed if path.startswith(folder) and path != PROMPT_PATH]
    refused = [f"{path} {reason}" for path, reason in result.refused if path.startswith(folder)]
    did = f"only removed {gone[0]}" if gone else "changed no file of the program"
    did = f"left {refused[0]}" if refused else did
    if result.ended == EXITED and result.status == 0:
        return f"the agent {did}"
    return f"the agent {how_it_ended(result, seconds)}, and {did}"


def answer_folder(index: int, answers: int) -> str:
    """The folder of an answer in the worktree, with a slash at its end; empty: the worktree itself."""
    return "" if answers == 1 else f"answer_{index + 1}/"


def _complaint(path: str, program: Program, repository: Repository | None) -> str:
    """Why a file is no part of an answer; empty: it is."""
    if repository is not None:
        named = heading(f"FILE: {path}") == path
        return "" if named and repository.may_change(path) else "may not change"
    if path in dict(program.files):
        return ""
    if program.single:
        return f"is new, and the program is the one file {program.files[0][0]}"
    return "" if heading(f"FILE: {path}") == path else "has a name that no program has"


def _answer_text(files: Mapping[str, str], removed: Sequence[str], *, alone: bool) -> str:
    """An answer as it is read; in fences, for files may hold what reads as its mark-up."""
    if alone:
        return fenced(next(iter(files.values())))
    sections = [f"FILE: {path}\n{fenced(text)}" for path, text in files.items()]
    return "\n".join([*sections, *(f"DELETE: {path}" for path in removed)])
