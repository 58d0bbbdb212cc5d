"""Paths of this machine that programs may read: those that a problem names, and those that the operator grants."""

import os
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from evolve.problem import EvaluatorSpec, Problem, lies_relative
from service.config import SECRETS_DIR, SandboxSettings, Settings
from service.errors import InvalidProblemError, RefusedError, UsageError
from service.sandbox.inside import visible_files
from service.sandbox.inside.sandbox_spec import interpreter_paths
from service.sandbox.scratch import PREFIX
from service.user_folders import config_file, data_home

SCORER_READ = "evaluator.scorer_read"
_KERNEL = ("/proc", "/sys", "/dev")
_KEY_FILES = ("EVOLVE_API_KEY_FILE", "EVOLVE_POLICY_API_KEY_FILE", "EVOLVE_SERVER__KEY_FILE")


def private_places(settings: Settings | None = None, url: str = "") -> tuple[Path, ...]:
    """Files and folders of an installation that no program may read.

    Args:
        settings: of the installation; None: the places that it has without any.
        url: a database in place of the settings' one.
    """
    found = [data_home() / "evolve", config_file().parent, SECRETS_DIR]
    found += [Path(name) for variable in _KEY_FILES if (name := os.environ.get(variable))]
    if settings is not None:
        found += [file for file in (settings.policies.file, settings.server.key_file) if file is not None]
        url = url or settings.database.url.get_secret_value()
    scheme, _, file = url.partition(":///")
    if scheme == "sqlite" and file:
        found += [Path(file), Path(file).with_suffix(".secret")]
    return tuple(path.expanduser() for path in found)


def with_paths(
    problem: Problem,
    settings: SandboxSettings,
    *,
    private: Sequence[Path],
    others: bool,
    source: Path | None = None,
    table: str = "evaluator.",
) -> Problem:
    """A problem whose `read` and `path` are paths of this machine that its programs may see, the operator's included.

    Args:
        problem: as it was read.
        settings: what the operator grants.
        private: places that stay closed to everybody's programs.
        others: whether somebody else wrote the problem: then nothing but what the operator grants is opened.
        source: the folder that the problem was read from, which stays closed too.
        table: what stands before the keys in complaints.

    Raises:
        RefusedError: somebody else's problem names what is not granted.
        InvalidProblemError: the problem names what cannot be opened, each path with its reason.
        UsageError: the settings do.
    """
    spec = problem.evaluator
    if others:
        refuse_ungranted(spec, settings)
    if not (spec.read or spec.scorer_read or spec.path or settings.read or settings.path):
        return problem
    complaints: list[str] = []
    read = [_opened(text, f"{table}read", private, source, complaints) for text in spec.read]
    path = [_opened(text, f"{table}path", private, source, complaints, folder=True) for text in spec.path]
    hidden = [_opened(text, SCORER_READ, private, source, complaints) for text in spec.scorer_read]
    if complaints:
        raise InvalidProblemError(complaints)
    read += [_opened(text, "the setting sandbox.read", private, None, complaints) for text in settings.read]
    path += [
        _opened(text, "the setting sandbox.path", private, None, complaints, folder=True) for text in settings.path
    ]
    if complaints:
        raise UsageError("; ".join(complaints))
    if shown := [text for text in hidden if _is_shown(text, [*read, *path])]:
        raise InvalidProblemError(
            [f"{SCORER_READ}: programs can read {text!r}: move it out of the folders that they see" for text in shown]
        )
    opened = replace(spec, read=_unique(read), scorer_read=_unique(hidden), path=_unique(path))
    return replace(problem, evaluator=opened)


def _unique(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))


def _is_shown(text: str, opened: Sequence[str]) -> bool:
    """Whether a path, or something below it, lies where every program may read."""
    places = map(Path, (*opened, *visible_files.SYSTEM, *interpreter_paths()))
    return any(Path(text).is_relative_to(place) or place.is_relative_to(text) for place in places)


def refuse_ungranted(spec: EvaluatorSpec, settings: SandboxSettings) -> None:
    """Refuse an evaluator of somebody else's that names paths or an image which the operator does not grant.

    Raises:
        RefusedError: it does; whether the path exists is not said.
    """
    if spec.image and not any(fnmatchcase(spec.image, pattern) for pattern in settings.images):
        raise RefusedError(
            f"the problem asks for evaluator.image = {spec.image[:80]!r}, which is not permitted here: leave it out, or"
            " ask the operator to add it to the setting sandbox.images"
        )
    if spec.scorer_read:
        raise RefusedError(
            f"the problem asks for {SCORER_READ}, which is for problems of one's own: what an operator grants to"
            " others, every program may read"
        )
    granted = [_real(text) for text in (*settings.read, *settings.path)]
    for key, texts in (("read", spec.read), ("path", spec.path)):
        for text in texts:
            if lies_relative(text) or not any(_real(text).is_relative_to(folder) for folder in granted):
                raise RefusedError(
                    f"the problem asks for evaluator.{key} = {text[:80]!r}, which is not permitted here: leave it out,"
                    f" or ask the operator to add it to the setting sandbox.{key}"
                )


def _opened(
    text: str, key: str, private: Sequence[Path], source: Path | None, complaints: list[str], *, folder: bool = False
) -> str:
    """A path as it is on this machine; why it cannot be opened goes to the complaints."""
    path = _real(text)
    complaint = _complaint(text, path, private, source) or _unusable(path, folder=folder)
    complaints += [f"{key}: {text[:200]!r} {complaint}"] if complaint else []
    return str(path)


def _complaint(text: str, path: Path, private: Sequence[Path], source: Path | None) -> str:
    if lies_relative(text):
        return "is relative to a folder that is not known here: write it from / or ~ on"
    if os.pathsep in str(path) or not str(path).isprintable():
        return "holds a colon or a character that cannot be shown: rename the folder"
    if Path.home().resolve().is_relative_to(path):
        return "holds the home directory as a whole: name the folder in it that is needed"
    if any(path.is_relative_to(place) for place in _KERNEL):
        return "belongs to the kernel: copy what is needed of it into a file"
    if any(place.is_relative_to(path) or path.is_relative_to(place) for place in map(_real, map(str, private))):
        return "would show secrets or data of this installation: move what is needed into a folder of its own"
    if Path(tempfile.gettempdir()).resolve().is_relative_to(path) or any(map(_of_the_sandbox, path.parts)):
        return "would show the sandbox's own files: move what is needed into a folder of its own"
    if source is not None and source.resolve().is_relative_to(path):
        return "holds the problem's own folder, whose evaluator programs must not see: name the folder with the data"
    return ""


def _of_the_sandbox(name: str) -> bool:
    return name.startswith(PREFIX)


def _unusable(path: Path, *, folder: bool) -> str:
    try:
        mode = path.stat().st_mode
    except OSError:
        return "does not exist or cannot be reached: name a file or a folder of this machine"
    if not (stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and not folder)):
        return "is not a folder of programs" if folder else "is neither a file nor a folder"
    return "" if os.access(path, os.R_OK) else "cannot be read by the user that runs Evolve: allow it"


def _real(text: str) -> Path:
    """A path without `~`, links and dots; one that cannot be resolved stays what it is."""
    try:
        return Path(text).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):
        return Path(text)
