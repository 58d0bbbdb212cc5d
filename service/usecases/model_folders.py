"""Folders of models of the registry on this machine, unpacked once by the hash of their content."""

import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

from service.errors import StorageError
from service.policy_settings.settings import PolicySettings
from service.policy_settings.shipped import REGISTERED
from service.ports import Bundle
from service.problems.bundle import unpack
from service.user_folders import cache_home


class ModelFolders:
    """Gives registered models a folder. What is unpacked serves later runs, of this process and others.

    Args:
        bundle: gives the stored folder of a hash.
        root: where models are unpacked. None: in the user's cache.
    """

    def __init__(self, bundle: Callable[[str], Bundle], root: Path | None = None) -> None:
        self._bundle = bundle
        self._root = root or cache_home() / "evolve" / "models"

    def settle(self, policy: PolicySettings) -> PolicySettings:
        """A policy whose model, if it is a registered one, is a folder of this machine.

        Raises:
            NotFoundError: the model is not stored.
            StorageError: it is damaged, or cannot be unpacked here.
        """
        if not policy.model.startswith(REGISTERED):
            return policy
        return policy.model_copy(update={"model": str(self.folder(policy.model.removeprefix(REGISTERED)))})

    def folder(self, bundle_hash: str) -> Path:
        """The folder of a hash.

        Raises:
            NotFoundError, StorageError: as of `settle`.
        """
        place = self._root / bundle_hash
        if place.is_dir():
            return place
        bundle = self._bundle(bundle_hash)
        partial = self._root / f".{bundle_hash}.{secrets.token_hex(6)}"
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            unpack(bundle, partial)
            try:
                partial.rename(place)
            except OSError:
                if not place.is_dir():  # another process was first
                    raise
        except OSError as error:
            raise StorageError(f"the model cannot be unpacked to {place}: {error.strerror}") from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return place
