"""The commit under the programs of a problem in the sandbox: what of it is linked, and what its setup leaves there.

A setup runs once for a base and an interpreter. Its files are kept in the cache of this user, for later evaluators.
"""

import base64
import json
import os
import platform
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from evolve.identity import digest
from evolve.problem import EvaluatorSpec
from service.errors import InvalidProblemError
from service.user_folders import cache_home

# As `service.problems.repository` lays them out; siblings know nothing of each other.
FOLDER, TREE, SETTINGS = "evolve_repository", "tree", "settings.json"
SETUP_SECONDS = 900.0
_MAX_KEPT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryBase:
    """The base of a problem in a folder.

    Attributes:
        links: paths in the problem's folder that evaluations need not copy.
        setup: whether a command prepares the base.
        key: of what the setup leaves, for the cache.
    """

    links: tuple[str, ...] = ()
    setup: bool = False
    key: str = field(default="", repr=False)


def read_base(problem: Path, bundle: str, spec: EvaluatorSpec) -> RepositoryBase:
    """The base in the folder of a problem; one without a repository has none to link or set up."""
    with suppress(OSError, ValueError, TypeError, AttributeError, KeyError):
        settings = json.loads((problem / FOLDER / SETTINGS).read_text(encoding="utf-8"))
        words = (bundle, spec.python or os.path.realpath(sys.executable), sys.version, platform.machine())
        return RepositoryBase(
            links=tuple(f"{FOLDER}/{TREE}/{path}" for path in settings["links"]),
            setup=bool(settings["setup"]),
            key=digest("\0".join((*words, *spec.path))),
        )
    return RepositoryBase()


def kept_setup(key: str) -> Mapping[str, Any] | None:
    """What the setup left when it ran before on this machine. None: it has not."""
    try:
        path = _cache() / f"{key}.json"
        if path.stat().st_uid != os.geteuid():
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        path.touch()
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "made" in found else None


def keep_setup(key: str, result: Mapping[str, Any]) -> None:
    """Keep what a setup left; the ones not used for longest go. A cache that cannot be written is none."""
    with suppress(OSError):
        folder = _cache()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".partial")
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(dict(result), file)
        Path(name).replace(folder / f"{key}.json")
        for old in sorted(folder.glob("*.json"), key=lambda path: -path.stat().st_mtime)[_MAX_KEPT:]:
            old.unlink(missing_ok=True)


def lay_setup(problem: Path, result: Mapping[str, Any]) -> None:
    """Put what a setup left into the copy of a problem.

    Raises:
        InvalidProblemError: the setup failed, or left a file that has no place there.
    """
    if "made" not in result:
        raise InvalidProblemError([str(result.get("error", "repository.setup gave no result"))])
    try:
        _lay(problem, result)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InvalidProblemError([f"repository.setup left what cannot be kept: {error}"]) from error


def _lay(problem: Path, result: Mapping[str, Any]) -> None:
    tree, executable = (problem / FOLDER / TREE).resolve(), {str(path) for path in result["executable"]}
    for path, content in dict(result["made"]).items():
        pure = PurePosixPath(str(path))
        target = tree / pure
        if pure.is_absolute() or ".." in pure.parts or not target.parent.resolve().is_relative_to(tree):
            raise InvalidProblemError([f"repository.setup left a file outside of the repository: {str(path)[:100]!r}"])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.write_bytes(base64.b64decode(content, validate=True))
        target.chmod(0o755 if path in executable else 0o644)
        for folder in target.parents:
            if folder == tree:
                break
            folder.chmod(0o755)


def _cache() -> Path:
    return cache_home() / "evolve" / "repositories"
