"""The repositories of problems that are stored, by the hash of their folder: few are asked for, again and again."""

import threading
from collections import OrderedDict
from collections.abc import Callable

from evolve.repository import Repository
from service.errors import InvalidProblemError
from service.ports import Bundle
from service.problems.bundle import open_bundle
from service.problems.repository.base import read_repository, table_of

_KEPT = 4


class RepositoryBases:
    """Reads the repository out of a problem's folder, and keeps the last few.

    Args:
        bundle: the folder of a hash.
    """

    def __init__(self, bundle: Callable[[str], Bundle]) -> None:
        self._bundle = bundle
        self._kept: OrderedDict[str, Repository | None] = OrderedDict()
        self._one_at_a_time = threading.Lock()

    def __call__(self, bundle_hash: str) -> Repository | None:
        """The repository of a problem. None: it has none.

        Raises:
            NotFoundError: there is no such folder.
            StorageError: it is damaged.
        """
        with self._one_at_a_time:
            if bundle_hash not in self._kept:
                self._kept[bundle_hash] = repository_of(self._bundle(bundle_hash))
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(bundle_hash)
            return self._kept[bundle_hash]


def repository_of(bundle: Bundle) -> Repository | None:
    """The repository of a problem's folder. None: it has none.

    Raises:
        InvalidProblemError: its base cannot be used.
    """
    files = open_bundle(bundle)
    table = table_of(files)
    if table is None:
        return None
    complaints: list[str] = []
    found = read_repository(files, table, complaints)
    if found is None:
        raise InvalidProblemError(complaints)
    return found
