"""Which format a folder or a file has, by the formats that are known."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from evolve.errors import MissingExtensionError
from evolve.extensions import ExtensionKind, Extensions, built_in_names, known_names
from evolve.problem_formats import FILE, GuardedFormat, ProblemFolder, RecognisedFiles, open_format
from service.errors import InvalidProblemError
from service.problems.documents import DocumentError, read_document
from service.problems.folder import left_out

NATIVE, OPENEVOLVE = "native", "openevolve"
_MAX_DEPTH = 3
_MAX_NAMES, _MAX_NAMES_BELOW = 5_000, 500
_MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognisedFormat:
    """The format of a folder.

    Attributes:
        name: of the format.
        format: the format itself.
        files: those by which it was recognised.
    """

    name: str
    format: GuardedFormat
    files: tuple[str, ...]

    def __str__(self) -> str:
        """As `problem check` names it."""
        return f"{self.format.title} ({', '.join(self.files)})" if self.files else self.format.title


def recognise(
    folder: ProblemFolder, place: str, names: Sequence[str], wanted: str = "", unknown: str = ""
) -> RecognisedFormat:
    """The format of a folder.

    Args:
        folder: the folder.
        place: where it lies, for people.
        names: of the formats that are asked, in the order in which a sentence lists them.
        wanted: name of the format that somebody named; empty: nobody did.
        unknown: the sentence for what no format recognises; empty: that for a folder.

    Raises:
        InvalidProblemError: none recognises it, several do, or the named one is not known.
    """
    extensions = Extensions()
    if wanted:
        return _named(folder, wanted, names, extensions)
    if FILE in folder.files:
        return _named(folder, NATIVE, names, extensions)
    asked = [(name, open_format(name, extensions)) for name in names]
    found = [(name, form, files) for name, form in asked if (files := form.recognise(folder)) is not None]
    whole = [one for one in found if one[2].complete] or found[:1]
    if not whole:
        raise InvalidProblemError([unknown or _unknown(folder, place, [form.title for _, form in asked])])
    if len(whole) > 1:
        forms = " and ".join(f"{form.title} ({', '.join(files.files)})" for _, form, files in whole)
        choices = " or ".join(f"--format {name}" for name, _, _ in whole)
        raise InvalidProblemError([f"{place} reads as {forms}: choose one with {choices}"])
    name, form, files = whole[0]
    return RecognisedFormat(name=name, format=form, files=files.files)


def is_problem_file(path: Path) -> bool:
    """Whether a file is a whole problem by itself, in a form of an installed format."""
    lying, extensions = peek(path), Extensions()
    found = (open_format(name, extensions).recognise(lying) for name in known_names(ExtensionKind.PROBLEM_FORMAT))
    return any(files is not None and files.complete for files in found)


def is_project_config(path: Path) -> bool:
    """Whether a YAML file is the configuration of another project; not, where it cannot be read."""
    try:
        document = read_document(path.name, path.read_bytes())
    except (OSError, DocumentError):
        return False
    return bool(_formats_of(document))


def misplaced_config(recognised: RecognisedFormat, path: str, content: bytes) -> str:
    """What is wrong with a configuration that somebody named for a problem; empty: nothing.

    Args:
        recognised: the format of the problem.
        path: of the configuration.
        content: of the configuration.
    """
    if recognised.name not in built_in_names(ExtensionKind.PROBLEM_FORMAT):
        return ""
    title, own = recognised.format.title, recognised.format.config_keys
    if not own:
        return f"--config {path}: it is of another project, and the folder reads as {title}: leave out --config"
    try:
        formats = _formats_of(read_document(path, content))
    except DocumentError:
        return ""  # the format says so
    if not formats or recognised.name in formats:
        return ""
    others = " or ".join(open_format(name, Extensions()).title for name in formats)
    return f"--config {path}: it is the configuration of {others}, and the folder reads as {title}: name one of its own"


def _formats_of(document: Mapping[str, object]) -> list[str]:
    """The built-in formats whose configurations have a key of a document."""
    names = built_in_names(ExtensionKind.PROBLEM_FORMAT)
    found = {name: open_format(name, Extensions()).config_keys for name in names}
    return [name for name, keys in found.items() if not document.keys().isdisjoint(keys)]


def peek(place: Path) -> ProblemFolder:
    """A folder or a file on disk, of which only names are read until a format looks a file up."""
    if place.is_file():
        return ProblemFolder(files=_LazyFiles(place.parent, [place.name]), name=place.stem)
    return ProblemFolder(files=_LazyFiles(place, list(_names(place, ""))[:_MAX_NAMES]), name=place.name)


class _LazyFiles(Mapping[str, bytes]):
    """Files by their names, each read when somebody asks for it."""

    def __init__(self, top: Path, names: Sequence[str]) -> None:
        self._top = top
        self._names = dict.fromkeys(names)

    def __getitem__(self, path: str) -> bytes:
        if path not in self._names:
            raise KeyError(path)
        try:
            if not (self._top / path).is_file():
                return b""
            with (self._top / path).open("rb") as file:
                return file.read(_MAX_BYTES)
        except OSError:
            return b""

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _names(folder: Path, start: str, depth: int = 1) -> Iterator[str]:
    """Files of the upper levels, those of a level before those below."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted((entry for entry in listing if not left_out(entry.name)), key=lambda entry: entry.name)
    except (OSError, ValueError):
        return  # whoever reads the folder says why
    yield from (start + entry.name for entry in entries if not entry.is_dir(follow_symlinks=False))
    if depth < _MAX_DEPTH:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                # A folder full of results leaves room for the names of those beside it.
                yield from islice(_names(Path(entry.path), f"{start}{entry.name}/", depth + 1), _MAX_NAMES_BELOW)


def _named(folder: ProblemFolder, name: str, names: Sequence[str], extensions: Extensions) -> RecognisedFormat:
    if name not in names:
        raise InvalidProblemError([f"the problem format {name[:80]!r} is not known: name one of {', '.join(names)}"])
    try:
        form = open_format(name, extensions)
    except MissingExtensionError as error:
        raise InvalidProblemError([str(error)]) from error
    files: RecognisedFiles | None = form.recognise(folder)
    return RecognisedFormat(name=name, format=form, files=files.files if files else ())


def _unknown(folder: ProblemFolder, place: str, titles: Sequence[str]) -> str:
    if "evaluator.py" in folder.files:
        return (
            f"{place} holds an evaluator.py but no problem: add {FILE} (make one with"
            " `evolve problem init DIR`), or initial_program.* for an OpenEvolve project"
        )
    return (
        f"{place} holds neither {FILE} nor a problem of another form ({', '.join(titles[1:])}):"
        " make a problem with `evolve problem init DIR`"
    )
