"""Answers over a repository: files are changed, added and removed, each named by its path."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evolve.answers.edit import (
    CHANGES_NOTHING,
    EDITS,
    EQUALS_PARENT,
    MARKERS,
    REWRITE,
    AnswerReader,
    Child,
    apply_answer,
    check_syntax,
    differs,
    unix,
    with_endings_of,
)
from evolve.answers.markup import Fence, closes_replace, fence_after, heading, opens_search, removal
from evolve.answers.patch import patch
from evolve.answers.python_source import MAX_PARSED
from evolve.answers.recovery import holds_edits
from evolve.answers.regions import enforce, guarded
from evolve.errors import AnswerError, ProgramError
from evolve.program import Program
from evolve.repository import Repository, changed_files, removed_files

NAMES_NO_FILE = "the answer names no file: head each file by a line FILE: path"
# Files in which edits without a heading are looked for.
_SEARCHED_CHARACTERS = 400_000


def child_of(repository: Repository | None, parent: Program, text: str, edits: str, language: str) -> Child:
    """Make the child that an answer describes, of a program by itself or of one over a repository.

    Raises:
        AnswerError: the answer makes no child.
    """
    if repository is None:
        return apply_answer(parent, text, edits, language)
    return apply_repository_answer(repository, parent, text, edits, language)


def apply_repository_answer(repository: Repository, parent: Program, text: str, edits: str, language: str) -> Child:
    """Make the child that an answer describes, of a program of a repository.

    A line `FILE: path` heads each file. SEARCH/REPLACE blocks below it edit the file, with an empty SEARCH for a file
    that is new. Any other text below it is the whole file. A line `DELETE: path` removes a file. Edits before the first
    heading must fit a single file. In a file with EVOLVE-BLOCK regions, changes outside of them are undone.

    Args:
        repository: the commit, and what may change in it.
        parent: the parent program.
        text: the answer, without the format of its chain.
        edits: `rewrite` or `diff`, as it was asked for.
        language: of the problem.

    Raises:
        AnswerError: the answer makes no child, or changes what it may not. The text is a sentence for the next prompt.
    """
    parts = _Parts()
    parts.read(unix(text))
    changes = _RepositoryChanges(repository, parent, edits, language.lower())
    for path, content in parts.sections:
        changes.take(path, content)
    if not parts.sections and not parts.removed:
        raise AnswerError(NAMES_NO_FILE)
    for path in parts.removed:
        changes.remove(path)
    return changes.child()


def replace_repository_files(
    repository: Repository, parent: Program, files: Mapping[str, str], language: str, removed: Sequence[str] = ()
) -> Program:
    """Make the child that a person wrote: the parent with other texts of some of its files.

    Args:
        repository: the commit, and what may change in it.
        parent: the parent program.
        files: text by path.
        language: of the problem.
        removed: paths that the child does not have.

    Raises:
        AnswerError: the files make no child. The text is one sentence.
    """
    changes = _RepositoryChanges(repository, parent, "rewrite", language.lower())
    for path, text in files.items():
        changes.require_open(path)
        changes.changed[path] = unix(text)
    for path in removed:
        changes.remove(path)
    return changes.child().program


def repository_complaint(repository: Repository, program: Program, language: str) -> str:
    """Why no answers lead from the commit to a program, as a sentence; empty: some may."""
    try:
        repository.require_program(program)
        for path, text in changed_files(program).items():
            before = repository.texts.get(path)
            if before is None and path in repository.sizes:
                return f"{path} is no text, so that it cannot change"
            if before is not None and guarded(Program.of({path: before})):
                one, other = Program.of({path: unix(before)}), Program.of({path: unix(text)})
                if enforce(one, other, language).program != other:
                    return f"{path} differs outside of its EVOLVE-BLOCK regions"
    except (ProgramError, AnswerError) as error:
        return str(error)
    return ""


@dataclass(slots=True)
class _Parts:
    """The sections of an answer by their paths, in order, and the paths that it removes. No path: before a heading."""

    sections: list[tuple[str, str]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    def read(self, text: str) -> None:
        found: list[tuple[str, list[str]]] = [("", [])]
        for line, marked in _marked_lines(_unfenced(text.split("\n"))):
            path = heading(line) if marked else None
            gone = removal(line) if marked else None
            if path is not None:
                found.append((path, []))
            elif gone is not None:
                self.removed.append(gone)
            else:
                found[-1][1].append(line)
        texts = [(path, "\n".join(lines)) for path, lines in found]
        self.sections = [(path, text) for path, text in texts if path or holds_edits(text)]


def _unfenced(lines: Sequence[str]) -> Sequence[str]:
    """The lines of an answer that is a single fenced block as a whole, if a path is named in it."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if len(filled) < 3 or fence_after(lines[filled[0]], None) is None:
        return lines
    inner = lines[filled[0] + 1 : filled[-1]]
    opened = fence_after(lines[filled[0]], None)
    for line in inner:
        opened = fence_after(line, opened)
    closed = opened is not None and fence_after(lines[filled[-1]], opened) is None
    return inner if closed and any(heading(line) or removal(line) for line in inner) else lines


def _marked_lines(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Lines of an answer, each with whether it may head a file: not inside of a fence or of an edit."""
    opened: Fence | None = None
    editing = False
    for line in lines:
        yield line, opened is None and not editing
        if editing:
            editing = not closes_replace(line)
        elif opens_search(line):
            editing = True
        else:
            opened = fence_after(line, opened)


@dataclass(slots=True)
class _RepositoryChanges:
    """The changes of an answer to its parent so far."""

    repository: Repository
    parent: Program
    edits: str
    language: str
    changed: dict[str, str] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    recovered: list[str] = field(default_factory=list)

    def take(self, path: str, content: str) -> None:
        """A section: edits of its file, or the whole of it."""
        patched = holds_edits(content)
        if not path:
            sources = self.repository.view(self.parent, _SEARCHED_CHARACTERS)
            self.changed |= {name: text for name, text in patch(sources, content).items() if sources[name] != text}
            return
        self.require_open(path)
        before = self._text(path)
        if patched:
            self.changed[path] = patch({path: before or ""}, content, new=before is None)[path]
        else:
            reader = AnswerReader({path: before or ""}, self.language)
            self.changed[path] = reader.body(content, path)
            self.recovered += reader.recovered
        self.removed.discard(path)
        if patched != (self.edits == "diff") and (before is not None or patched):
            self.recovered.append(EDITS if patched else REWRITE)

    def remove(self, path: str) -> None:
        self.require_open(path)
        if path not in self.repository.paths(self.parent) or path in self.changed:
            raise AnswerError(f"the answer removes {path}, which the program does not have or the answer writes")
        self.removed.add(path)

    def require_open(self, path: str) -> None:
        """Refuse a path that may not change."""
        if complaint := self.repository.complaint(path):
            raise AnswerError(complaint)
        if path in self.repository.sizes and path not in self.repository.texts:
            raise AnswerError(f"{path} is no text, so that it cannot change")

    def child(self) -> Child:
        files = dict(changed_files(self.parent))
        gone = (set(removed_files(self.parent)) - self.changed.keys()) | self.removed
        for path, text in self.changed.items():
            files[path] = self._written(path, text)
        program = self._made({path: text for path, text in files.items() if path not in self.removed}, gone)
        if not self._changes(program):
            outside = any(self._guarded(path) for path in self.changed)
            raise AnswerError(CHANGES_NOTHING if outside else EQUALS_PARENT)
        return Child(program, tuple(dict.fromkeys(self.recovered)))

    def _made(self, files: Mapping[str, str], gone: Iterable[str]) -> Program:
        try:
            program = self.repository.program(files, gone)
            self.repository.require_program(program)
        except ProgramError as error:
            raise AnswerError(str(error)) from error
        return program

    def _changes(self, program: Program) -> bool:
        """Whether a program differs from the parent in more than line ends."""
        if set(removed_files(program)) != set(removed_files(self.parent)):
            return True
        paths = changed_files(program).keys() | changed_files(self.parent).keys()
        pairs = ((self.repository.text(program, path), self.repository.text(self.parent, path)) for path in paths)
        return any(after is None or differs(after, before) for after, before in pairs if after != before)

    def _written(self, path: str, text: str) -> str:
        """The text of a changed file, within its regions and with the line ends that it had."""
        before = self._before(path)
        if before is not None and self._guarded(path):
            one, other = Program.of({path: unix(before)}), Program.of({path: text})
            enforced = enforce(one, other, self.language)
            text = enforced.program.text
            self.recovered += [MARKERS] if enforced.restored else []
        if self.language == "python" and path.endswith((".py", ".pyi")) and len(text) <= MAX_PARSED:
            check_syntax(path, text, single=False)
        return with_endings_of(text, before or "")

    def _text(self, path: str) -> str | None:
        """The text of a file as the answer has it so far, whose lines end in LF."""
        text = self.changed.get(path, self._before(path))
        return None if text is None else unix(text)

    def _before(self, path: str) -> str | None:
        return self.repository.text(self.parent, path)

    def _guarded(self, path: str) -> bool:
        before = self._before(path)
        return before is not None and guarded(Program.of({path: before}))
