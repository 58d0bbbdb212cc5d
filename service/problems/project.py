"""A problem as a user names it: a folder, or a program with its evaluator and configuration, and an interpreter."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from shlex import quote

from service.errors import InvalidProblemError
from service.problems.folder import Folder, read_folder
from service.problems.outside_modules import find_modules
from service.problems.population import FOLDER as POPULATION

# Beside the files of a problem: what was named of it.
FILE = "evolve-project.json"
PYTHON, SEED, EVALUATOR, CONFIG, FOLDER, FORMAT = "python", "seed", "evaluator", "config", "folder", "format"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The names of a problem's parts.

    Attributes:
        folder: the problem's folder, a problem of one file, or the program to start from if an evaluator is named.
        evaluator: a file whose folder is the problem's. None: the folder decides.
        config: an OpenEvolve configuration. None: the folder decides.
        python: interpreter of program and evaluator. Empty: the problem decides.
        form: name of the problem format. Empty: the format that recognises the folder.
        root: folder above, beside or within it, with modules that it imports. None: the project that it lies in.
        population: files of the programs of an earlier run, from which the search starts besides.
    """

    folder: Path
    evaluator: Path | None = None
    config: Path | None = None
    python: str = ""
    form: str = ""
    root: Path | None = None
    population: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The name of a problem whose files have none."""
        if self.evaluator is not None:
            return self.evaluator.resolve().parent.name
        place = self.folder.resolve()
        return place.stem if place.is_file() else place.name

    @property
    def words(self) -> str:
        """The words of a command line that name it."""
        places = [str(self.folder), *([str(self.evaluator)] if self.evaluator else [])]
        options = [*(["--config", str(self.config)] if self.config else [])]
        options += ["--python", self.python] if self.python else []
        options += ["--format", self.form] if self.form else []
        options += ["--root", str(self.root)] if self.root else []
        return " ".join(map(quote, [*places, *options]))

    @property
    def top(self) -> Path:
        """The problem's folder."""
        return self.evaluator.parent if self.evaluator else self.folder

    def read(self, folders: Collection[str] = (), beside: Collection[str] = ()) -> tuple[Folder, list[str]]:
        """Its files, with a sentence for everything that cannot be included.

        Args:
            folders: those directly in the problem's folder that are read; none named: all.
            beside: names of files that belong to a problem of one file if they lie beside it.
        """
        folder, complaints = self._lying_there(folders, beside)
        named = {PYTHON: self.python} if self.python else {}
        if self.form:
            named[FORMAT] = self.form
        files = dict(folder.files)
        if self.evaluator is not None:
            named[EVALUATOR] = _taken(files, self.evaluator, self.evaluator.parent, complaints)
            named[SEED] = self._seed(files, complaints)
        if self.config is not None:
            named[CONFIG] = _taken(files, self.config, self.top, complaints)
        if named:
            files[FILE] = (json.dumps(named, sort_keys=True) + "\n").encode()
        if self.population:
            files = {path: content for path, content in files.items() if not path.startswith(f"{POPULATION}/")}
            files |= self.population
        if not complaints:
            outside = find_modules(files, self.top, self.root)
            files |= outside.files
            complaints = [*outside.complaints]
        return replace(folder, files=dict(sorted(files.items()))), complaints

    def _lying_there(self, folders: Collection[str], beside: Collection[str]) -> tuple[Folder, list[str]]:
        if not self.top.is_file():
            return read_folder(self.top, folders)
        files: dict[str, bytes] = {}
        complaints = []
        for path in (self.top, *(path for name in beside if (path := self.top.with_name(name)).is_file())):
            try:
                files[path.name] = path.read_bytes()
            except OSError as error:
                complaints.append(f"{path} cannot be read ({error.strerror})")
        return Folder(files=files), complaints

    def _seed(self, files: dict[str, bytes], complaints: list[str]) -> str:
        assert self.evaluator is not None
        if not self.folder.is_dir():
            return _taken(files, self.folder, self.evaluator.parent, complaints)
        inside = _inside(self.folder, self.evaluator.parent)
        if inside is not None:
            return f"{inside}/"
        below, more = read_folder(self.folder)
        complaints += more
        files |= {f"{self.folder.name}/{path}": content for path, content in below.files.items()}
        return f"{self.folder.name}/"


def as_project(place: Path | Project) -> Project:
    """A folder, or a project as it is."""
    return place if isinstance(place, Project) else Project(folder=place)


def named_in(folder: Folder) -> Mapping[str, str]:
    """The named parts of a problem, by kind. Empty: the folder holds everything.

    Raises:
        InvalidProblemError: another file has that name.
    """
    content = folder.files.get(FILE)
    if content is None:
        return {}
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if isinstance(found, dict) and found.keys() <= {PYTHON, SEED, EVALUATOR, CONFIG, FOLDER, FORMAT}:
        texts = {key: value for key, value in found.items() if isinstance(value, str)}
        if len(texts) == len(found):
            return texts
    raise InvalidProblemError([f"{FILE} is a name that Evolve itself uses for such problems: rename the file"])


def with_folder(files: Folder, folder: Path) -> Folder:
    """Files that say where they lay, so that relative paths in them keep their meaning wherever they are read again."""
    named = {**named_in(files), FOLDER: str(folder.resolve())}
    content = (json.dumps(named, sort_keys=True) + "\n").encode()
    return replace(files, files=dict(sorted({**files.files, FILE: content}.items())))


def _inside(path: Path, top: Path) -> str | None:
    """A path relative to a folder. None: it is outside."""
    try:
        return PurePosixPath(path.resolve().relative_to(top.resolve())).as_posix()
    except (ValueError, OSError, RuntimeError):
        return None


def _taken(files: dict[str, bytes], path: Path, top: Path, complaints: list[str]) -> str:
    """The name of a file among those of the problem. A file from outside is added to them."""
    inside = _inside(path, top)
    if inside in files:
        return str(inside)
    try:
        content = path.read_bytes()
    except OSError as error:
        complaints.append(f"{path} cannot be read ({error.strerror})")
        return path.name
    if files.setdefault(path.name, content) != content:
        complaints.append(f"{path} and a file of the evaluator's folder have the same name: rename one of them")
    return path.name
