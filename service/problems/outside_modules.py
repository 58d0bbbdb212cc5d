"""Modules that a problem imports from beside or above its folder, taken along as files of the problem.

So are those in its own `src`, and in a root that lies within it, since neither is on the path of modules. Only modules
that an import names are read, with those that they import in turn, and the data files beside them that their source
names. They become files below `evolve_imports/`, which the sandbox puts at the end of the path of modules wherever an
evaluator runs.
"""

import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from service.problems.folder import left_out
from service.problems.imports import ImportedName, SourceNames, read_names

FOLDER = "evolve_imports"
MAX_BYTES, MAX_FILES = 16 * 1024 * 1024, 500
_MAX_SOURCE = 256 * 1024
_MAX_SOURCES = 2_000
_MAX_LEVELS = 8
_INIT = "__init__.py"
# Where a project keeps its packages if they lie neither at its top nor beside what imports them.
_SOURCES = "src"
# Found by itself, a module lies in the same project: below a folder with one of these.
_REPOSITORIES = (".git", ".hg")
_MARKERS = (*_REPOSITORIES, "pyproject.toml", "setup.py", "setup.cfg")
# Packages that stand-ins take the place of, or that are meant as they are installed.
_PROVIDED = frozenset(
    {"AlgoTuneTasks", "alpha_evolve", "codeevolve", "eoh", "evolve", "funsearch", "gepa", "gigaevo", "llm4ad"}
    | {"openevolve", "service", "shinka", "skydiscover"}
)
# Of these, single modules are taken that neither the stand-in nor the problem has. Their packages are not.
_EXTENDED = frozenset({"llm4ad", "openevolve", "shinka"})
_STAND_INS = frozenset({"openevolve.evaluation_result", "shinka.core"})
# Of these, a stand-in finds modules in the problem's folder by the end of their names.
_FOUND_BY_END = frozenset({"llm4ad"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideModules:
    """The modules from outside of a problem's folder.

    Attributes:
        files: content by path, each below `evolve_imports/`.
        complaints: a sentence for each that cannot be taken along.
    """

    files: Mapping[str, bytes] = field(repr=False)
    complaints: Sequence[str] = ()


def find_modules(files: Mapping[str, bytes], top: Path, root: Path | None = None) -> OutsideModules:
    """The modules that a problem imports and that lie outside of its folder. Nothing of them is run.

    Args:
        files: of the problem.
        top: its folder.
        root: folder above, beside or within it whose modules it may import; None: the project that it belongs to.
    """
    try:
        bottom = top.resolve(strict=True)
        place = root.resolve(strict=True) if root else None
    except (OSError, RuntimeError):
        named = root if root and not root.is_dir() else top
        return OutsideModules(files={}, complaints=[f"{named} cannot be reached: name a folder with --root"])
    if root and not root.is_dir():
        complaint = f"{root} is not a folder: name the folder that holds the package with --root"
        return OutsideModules(files={}, complaints=[complaint])
    search = _Search(tuple(_with_sources(_places(bottom, place))), _own_names(files), _within(bottom, place))
    for path, content in list(files.items())[:_MAX_SOURCES]:
        if path.endswith(".py") and len(content) <= _MAX_SOURCE:
            search.follow(path, read_names(content), None)
    return OutsideModules(files=dict(sorted(search.files.items())), complaints=search.complaints)


def _places(bottom: Path, root: Path | None) -> tuple[Path, ...]:
    """The folders in which a module is looked for, the nearest first."""
    above = list(bottom.parents)[:_MAX_LEVELS]
    if root is not None:
        return (*above[: above.index(root)], root) if root in above else (root,)
    private = {Path(os.path.expanduser("~")).resolve(), Path(tempfile.gettempdir()).resolve(), Path(bottom.anchor)}
    if bottom in private or any((bottom / name).exists() for name in _REPOSITORIES):
        return ()
    places = []
    for folder in above:
        if folder in private:
            break
        places.append(folder)
        if any((folder / name).exists() for name in _MARKERS):
            return tuple(places)
    return tuple(places[:1])  # of no project: what lies beside the problem


def _with_sources(places: Sequence[Path]) -> Iterator[Path]:
    for place in places:
        yield place
        if (sources := place / _SOURCES).is_dir() and not sources.is_symlink():
            yield sources


def _within(bottom: Path, root: Path | None) -> Mapping[str, Path]:
    """The folders of the problem in which its own modules are looked for, by their path in it."""
    if root is not None and root.is_relative_to(bottom):
        folders = [*_with_sources((root,))]
    else:
        folders = [folder for folder in _with_sources((bottom,)) if folder != bottom]
    return {folder.relative_to(bottom).as_posix(): folder for folder in folders}


def _own_names(files: Mapping[str, bytes]) -> frozenset[str]:
    """Names under which a problem's own files may be imported, wherever in its folder they lie."""
    python = [PurePosixPath(path) for path in files if path.endswith((".py", ".so", ".pyd"))]
    return frozenset(
        {path.name.partition(".")[0] for path in python} | {name for path in python for name in path.parts[:-1]}
    )


class _Search:
    """What was found so far."""

    def __init__(self, places: Sequence[Path], own: frozenset[str], within: Mapping[str, Path]) -> None:
        self.files: dict[str, bytes] = {}
        self.complaints: list[str] = []
        self._places, self._own, self._within = places, own, within
        self._left = MAX_BYTES
        self._full = False

    def follow(self, importer: str, names: SourceNames, home: tuple[Path, str] | None) -> None:
        """Take what a source imports.

        Args:
            importer: its path, for people.
            names: that stand in it.
            home: the place where it was found, and the folder that it lies in from there; None: it is of the problem.
        """
        for one in names.imports:
            if one.level:
                if home is not None:
                    self._relative(importer, one, home)
                continue
            first = one.module.partition(".")[0]
            if first in _EXTENDED:
                self._extension(importer, one)
                continue
            if first in sys.stdlib_module_names or first in _PROVIDED:
                continue
            own = first in self._own
            for place in self._where_within(importer, names, home) if own else self._where(names, home):
                if self._absolute(importer, one, place):
                    break

    def _where(self, names: SourceNames, home: tuple[Path, str] | None) -> Iterator[Path]:
        """The places, then folders in them that a source names in a text, as `sys.path.insert` needs it."""
        if home is not None:
            yield home[0]
            if home[1].partition("/")[0] not in _EXTENDED:
                yield home[0] / home[1]
        yield from self._places
        for place in self._places:
            for text in names.folders:
                if (found := place / text).is_dir():
                    yield found

    def _where_within(self, importer: str, names: SourceNames, home: tuple[Path, str] | None) -> Iterator[Path]:
        """The folders of the problem's own modules, but those that a source lies in or puts on the path itself."""
        for name, folder in self._within.items():
            if home is not None or not (importer.startswith(f"{name}/") or name in names.folders):
                yield folder

    def _relative(self, importer: str, one: ImportedName, home: tuple[Path, str]) -> None:
        place, folder = home
        parts = PurePosixPath(folder).parts
        if one.level - 1 < len(parts):
            base = parts[: len(parts) - one.level + 1]
            words = [*base, *(one.module.split(".") if one.module else [])]
            if base[0] in _EXTENDED:
                self._extension(importer, ImportedName(module=".".join(words), names=one.names))
            else:
                self._take(importer, place, words, one.names)

    def _extension(self, importer: str, one: ImportedName) -> None:
        """Take single modules of a package that a stand-in takes the place of."""
        for name in (one.module, *(f"{one.module}.{name}" for name in one.names)):
            words = name.split(".")
            if name in _STAND_INS or len(words) == 1 or (words[0] in _FOUND_BY_END and words[-1] in self._own):
                continue
            for place in self._places:
                path = place.joinpath(*words).with_suffix(".py")
                if os.path.lexists(path):
                    self._module(importer, place, path)
                    break

    def _absolute(self, importer: str, one: ImportedName, place: Path) -> bool:
        return self._take(importer, place, one.module.split("."), one.names)

    def _take(self, importer: str, place: Path, words: Sequence[str], names: Sequence[str]) -> bool:
        """Take the module of some words, with the packages that it lies in; whether there is one."""
        found = list(_modules(place, words, names))
        if not any(path.name != _INIT or path.parent.name == words[-1] for path in found):
            return False
        for path in found:
            self._module(importer, place, path)
        return True

    def _module(self, importer: str, place: Path, path: Path) -> None:
        name = path.relative_to(place).as_posix()
        target = f"{FOLDER}/{name}"
        if target in self.files or self._full:
            return
        content = self._read(importer, place, path)
        if content is None:
            return
        self.files[target] = content
        if len(content) > _MAX_SOURCE:
            return
        names = read_names(content)
        self._data(importer, place, path.parent, names)
        self.follow(name, names, (place, PurePosixPath(name).parent.as_posix().removeprefix(".")))

    def _data(self, importer: str, place: Path, folder: Path, names: SourceNames) -> None:
        """The files beside a module that its source names in a text."""
        for text in names.files:
            path, target = folder / text, f"{FOLDER}/{(folder / text).relative_to(place).as_posix()}"
            hidden = any(map(left_out, PurePosixPath(text).parts))
            if not hidden and target not in self.files and not self._full and os.path.isfile(path):
                content = self._read(importer, place, path)
                if content is not None:
                    self.files[target] = content

    def _read(self, importer: str, place: Path, path: Path) -> bytes | None:
        try:
            real = path.resolve(strict=True)
            if not any(real.is_relative_to(one) for one in (place, *self._places)):
                self._complain(f"{path}, which {importer} imports, is a link out of {place}: put the file in its place")
                return None
            descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:
                sound = stat.S_ISREG(os.fstat(descriptor).st_mode)
                content = file.read(self._left + 1) if sound else b""
        except (OSError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "a loop of links"
            self._complain(f"{path}, which {importer} imports, cannot be read ({reason})")
            return None
        if not sound:
            self._complain(f"{path}, which {importer} imports, is not a file: move it away")
            return None
        if len(content) > self._left or len(self.files) >= MAX_FILES:
            self._full = True
            self._complain(
                f"with {path} the problem imports more than {MAX_BYTES >> 20} MB or {MAX_FILES} files from outside of"
                " its folder: install the package with evolve problem setup, or name its folder in evaluator.read"
            )
            return None
        self._left -= len(content)
        return content

    def _complain(self, sentence: str) -> None:
        if sentence not in self.complaints:
            self.complaints.append(sentence)


def _modules(place: Path, words: Sequence[str], names: Sequence[str]) -> Iterator[Path]:
    """The files of a dotted name below a place: the `__init__.py` of each package, and the module at its end."""
    folder = place
    for number, word in enumerate(words):
        package, module = os.path.lexists(folder / word / _INIT), folder / f"{word}.py"
        if not package and os.path.lexists(module):
            yield module
            return
        folder = folder / word
        if not folder.is_dir():
            return
        if package:
            yield folder / _INIT
        if number == len(words) - 1:
            for name in names:
                yield from _modules(folder, [name], ())
