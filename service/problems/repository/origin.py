"""Where the commit of a problem comes from, and its files, for exports and for changes of the repository itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from service.ports import Bundle
from service.problems.bundle import open_bundle
from service.problems.command.command_scorer.tree import FOLDER, TREE
from service.problems.repository.base import read_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryOrigin:
    """The origin of a base.

    Attributes:
        commit: its full id.
        folder: where its files lay, on the machine on which the problem was read. Whoever made the problem names it.
        prefix: path of that folder in the repository, with a slash at its end; empty: it is the top.
        files: content of the base by path relative to the folder.
        executable: paths whose owner may run them.
    """

    commit: str
    folder: str
    prefix: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    executable: frozenset[str] = frozenset()


def origin_of(bundle: Bundle) -> RepositoryOrigin | None:
    """The origin of a problem's base. None: it has none.

    Raises:
        StorageError: the folder is damaged.
        InvalidProblemError: the settings of the base cannot be read.
    """
    files = open_bundle(bundle)
    settings = read_settings(files)
    if settings is None:
        return None
    start = f"{FOLDER}/{TREE}/"
    return RepositoryOrigin(
        commit=str(settings["commit"]),
        folder=str(settings.get("folder", "")),
        prefix=str(settings.get("prefix", "")),
        files=files.below(f"{FOLDER}/{TREE}"),
        executable=frozenset(path.removeprefix(start) for path in files.executable if path.startswith(start)),
    )
