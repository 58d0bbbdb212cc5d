"""Problem formats: how folders and files of other projects become problems, built in or brought by a user.

A format recognises a folder by its files, and converts it into a folder in Evolve's own form. A converted problem needs
its format no more: runs, workers and services read `problem.toml`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evolve.errors import ExtensionError, ProblemError
from evolve.extensions import Extension, ExtensionKind, Extensions, guarded

FILE = "problem.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemFolder:
    """A folder, or a single file, as a format sees it.

    Attributes:
        files: content by path. While formats are asked whether they recognise a folder, a file is read when it is
            looked up, and only the upper three levels are listed.
        name: of the folder, or of the file without its suffix.
        options: what was named beside it on a command line: `seed`, `evaluator`, `config`, each a path in `files`.
    """

    files: Mapping[str, bytes] = field(repr=False)
    name: str = "problem"
    options: Mapping[str, str] = field(default_factory=dict)

    def text(self, path: str) -> str:
        """A file as text; empty where there is none. Bytes that are not UTF-8 become U+FFFD."""
        return self.files[path].decode("utf-8", "replace") if path in self.files else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognisedFiles:
    """The files by which a format recognises a folder.

    Attributes:
        files: their paths, for a sentence.
        complete: whether all that the form needs is there. A folder that several formats recognise goes to the one
            for which it is complete.
    """

    files: tuple[str, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedProblem:
    """A problem in Evolve's own form.

    Attributes:
        document: the content of `problem.toml`; empty: `files` has the file itself.
        files: all of its files, those that lay in the folder included where they are needed.
        warnings: what the folder says and is not honoured, one sentence each.
    """

    files: Mapping[str, bytes] = field(repr=False)
    document: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()


class ConversionError(ProblemError):
    """A folder cannot be converted.

    Attributes:
        complaints: each one sentence with the cure.
    """

    def __init__(self, *complaints: str) -> None:
        super().__init__("; ".join(complaints))
        self.complaints = complaints


class ProblemFormat(Protocol):
    """Recognises and converts folders of one form: a class that is made without arguments, or an object.

    Attributes:
        title: a problem of this form, as a sentence names it: `a ShinkaEvolve task`.

    A format may have an attribute `folders`: the names of the folders directly in a problem's folder that belong to the
    problem. Others, such as checkpoints and results, are then neither read nor counted. Without it, all are read.
    An attribute `beside` has the names of files that belong to a problem of a single file if they lie beside it.
    An attribute `config_keys` has keys at the top of its configuration that no run configuration has. By one of them,
    `--config` of `evolve run` knows a file of the project's own.
    """

    title: str

    def recognise(self, folder: ProblemFolder, /) -> RecognisedFiles | None:
        """The files by which a folder is of this form; None: it is not, or nothing of it is there."""

    def convert(self, folder: ProblemFolder, /) -> ConvertedProblem:
        """The problem in Evolve's own form; equal folders give equal problems.

        Raises:
            ConversionError: the folder cannot be converted.
        """


@dataclass(frozen=True, slots=True)
class GuardedFormat:
    """A format whose mistakes become one sentence that names it.

    Attributes:
        extension: what its name stands for.
        format: the format itself.
    """

    extension: Extension
    format: ProblemFormat

    @property
    def title(self) -> str:
        """A problem of this form, as a sentence names it."""
        with guarded(self.extension):
            return str(self.format.title)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders in a problem's folder that are read; empty: all.

        Raises:
            ExtensionError: they are no names.
        """
        return self._names("folders")

    @property
    def beside(self) -> tuple[str, ...]:
        """The files beside a problem of a single file that are read; empty: none.

        Raises:
            ExtensionError: they are no names.
        """
        return self._names("beside")

    @property
    def config_keys(self) -> tuple[str, ...]:
        """Keys of the project's own configuration; empty: it has none, or does not say.

        Raises:
            ExtensionError: they are no names.
        """
        return self._names("config_keys")

    def _names(self, attribute: str) -> tuple[str, ...]:
        with guarded(self.extension):
            found = getattr(self.format, attribute, ())
        if isinstance(found, str) or not all(isinstance(name, str) for name in found):
            raise self._broken(f"{attribute} is {found!r:.200}, not a sequence of names")
        return tuple(found)

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the format's own.

        Raises:
            ExtensionError: it raises something, or returns something else.
        """
        with guarded(self.extension):
            found = self.format.recognise(folder)
        if found is not None and not isinstance(found, RecognisedFiles):
            raise self._broken(f"recognise returned a value of type {type(found).__name__}, not RecognisedFiles")
        return found

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the format's own.

        Raises:
            ConversionError: the folder cannot be converted.
            ExtensionError: it raises something else, or returns something else.
        """
        try:
            found = self.format.convert(folder)
        except ConversionError:
            raise
        except Exception as error:
            with guarded(self.extension):
                raise error
        if not isinstance(found, ConvertedProblem):
            raise self._broken(f"convert returned a value of type {type(found).__name__}, not a ConvertedProblem")
        if not found.document and FILE not in found.files:
            raise self._broken(f"the problem has neither a document nor a file {FILE}")
        contents: Mapping[Any, Any] = found.files
        for path, content in contents.items():
            if not isinstance(path, str) or not isinstance(content, bytes):
                raise self._broken(f"the file {path!r:.200} is not bytes under a path")
        return found

    def _broken(self, what: str) -> ExtensionError:
        return ExtensionError(f"{self.extension} breaks the contract of problem formats: {what}")


def open_format(name: str, extensions: Extensions) -> GuardedFormat:
    """The format of a name.

    Raises:
        MissingExtensionError, ExtensionError: it is not there, or cannot be made.
    """
    extension, found = extensions.resolve(ExtensionKind.PROBLEM_FORMAT, name)
    with guarded(extension):
        made = found() if isinstance(found, type) else found
    return GuardedFormat(extension, made)
