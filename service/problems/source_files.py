"""Where the files of a run's program lie, of which its seed is a copy."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evolve.problem_formats import FILE
from evolve.program import Program
from service.errors import UsageError
from service.problems.command.command_scorer.scorer import SETTINGS
from service.problems.folder import Folder
from service.problems.repository.base import read_settings

_NAME_IT = "name the file or the folder with --into PATH"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """Files on the disk that a program replaces.

    Attributes:
        folder: where they lie.
        paths: path relative to that folder of each file of the program; files that it adds keep their path.
        prefix: of the files that it adds.
    """

    folder: Path
    paths: Mapping[str, str]
    prefix: str = ""

    def place(self, path: str) -> str:
        """Path of a file of the program, relative to the folder."""
        return self.paths.get(path) or f"{self.prefix}{path}"

    def read(self, path: str) -> str | None:
        """Text of a file, whose lines end in LF; None: it is not there.

        Raises:
            UsageError: it is no text.
        """
        content = self.content(path)
        return None if content is None else content.replace("\r\n", "\n")

    def content(self, path: str) -> str | None:
        """Text of a file as it is; None: it is not there.

        Raises:
            UsageError: it is no text.
        """
        place = self.folder / self.place(path)
        try:
            return place.read_bytes().decode()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{place} cannot be read as text: {error}") from error


def source_files(problem: Folder, seed: Program, source: str, into: Path | None) -> SourceFiles:
    """The files that a run began from.

    Args:
        problem: the folder of the problem, in Evolve's own form.
        seed: the first seed of the run.
        source: the folder or the file that the problem was read from, or how it was submitted.
        into: the file or the folder that somebody names instead; None: nobody does.

    Raises:
        UsageError: they are not known, are not there, or somebody else may have chosen them.
        ProgramError: a path leaves its folder.
    """
    if (base := read_settings(problem)) is not None:
        return _of_repository(base, seed, into, elsewhere=not Path(source).is_absolute())
    if into is not None:
        return _beside(into.expanduser().resolve(), seed)
    if (settings := problem.files.get(SETTINGS)) is not None:
        return _of_command(json.loads(settings), seed, elsewhere=not Path(source).is_absolute())
    lay = Path(source)
    if not lay.is_absolute() or not lay.exists():
        raise UsageError(f"the sources of this run are not known here ({source}): {_NAME_IT}")
    if lay.is_file():
        return _beside(lay, seed)
    seeds = tomllib.loads(problem.files[FILE].decode()).get("seeds", [])
    first = lay / str(seeds[0] if seeds else "")
    if not first.exists() or first == lay:
        raise UsageError(f"the sources of this run are not in {lay} any more: {_NAME_IT}")
    return _beside(first, seed)


def command_sources(problem: Folder) -> list[Path]:
    """The files that a command or a script named, of a problem that was made of one; none: it was not."""
    if (content := problem.files.get(SETTINGS)) is None:
        return []
    settings = json.loads(content)
    named, folder = settings.get("sources"), Path(str(settings.get("folder", "")))
    return [folder / str(path) for path in named] if isinstance(named, list) else []


def _beside(place: Path, seed: Program) -> SourceFiles:
    if place.is_dir():
        return SourceFiles(folder=place, paths={path: path for path, _ in seed.files})
    if not seed.single:
        raise UsageError(f"the program has {len(seed.files)} files: name the folder of them with --into, not {place}")
    if not place.parent.is_dir():
        raise UsageError(f"there is no folder {place.parent}: {_NAME_IT}")
    return SourceFiles(folder=place.parent, paths={seed.files[0][0]: place.name})


def _of_repository(settings: Mapping[str, object], seed: Program, into: Path | None, *, elsewhere: bool) -> SourceFiles:
    folder = into.expanduser().resolve() if into is not None else Path(str(settings.get("folder", "")))
    if not folder.is_absolute() or not folder.is_dir():
        raise UsageError(f"the repository is not here ({folder}): name its folder with --into PATH")
    if into is None and elsewhere and folder.resolve() != Path.cwd().resolve():
        raise UsageError(f"the run came from a service: call evolve apply in {folder}, or name it with --into PATH")
    return SourceFiles(folder=folder, paths={path: path for path, _ in seed.files})


def _of_command(settings: Mapping[str, object], seed: Program, *, elsewhere: bool) -> SourceFiles:
    named, folder = settings.get("sources"), Path(str(settings.get("folder", "")))
    sources = [str(path) for path in named] if isinstance(named, list) else []
    if not folder.is_absolute() or not folder.is_dir():
        raise UsageError(f"the folder of the command is not here ({folder}): {_NAME_IT}")
    if elsewhere and folder.resolve() != Path.cwd().resolve():  # others may have written where they like
        raise UsageError(f"the run came from a service: call evolve apply in {folder}, or {_NAME_IT}")
    Program.of(dict.fromkeys(sources, ""))  # plain relative paths, or an error
    if seed.single and len(sources) == 1:
        return SourceFiles(folder=folder, paths={seed.files[0][0]: sources[0]})
    return SourceFiles(folder=folder, paths={path: path for path in sources})
