"""Adapters of the registry, loaded into the running vLLM that serves them."""

import asyncio
from typing import TYPE_CHECKING

from evolve.errors import PolicyError
from service.errors import UnreachableError
from service.usecases.model_folders import ModelFolders
from service.usecases.version_settings import is_adapter

if TYPE_CHECKING:
    from service.db.storage import SqlStorage
    from service.ports import PolicyVersion


def serve_version(storage: "SqlStorage", found: "PolicyVersion") -> None:
    """Let the vLLM of an adapter load it, and check that it answers with it. Models that Evolve runs need nothing.

    Its name holds the hash of its content, so an adapter that is loaded already is this one.

    Raises:
        UnreachableError: the vLLM did not load it.
    """
    if not is_adapter(found.settings):
        return
    folder = ModelFolders(storage.problems.bundle).folder(found.bundle_hash)
    try:
        asyncio.run(_load(str(found.settings["base_url"]), str(found.settings["model"]), str(folder)))
    except PolicyError as error:
        raise UnreachableError(f"{found.name} was not promoted, since its vLLM did not load it: {error}") from error


async def _load(address: str, name: str, folder: str) -> None:
    from service.bootstrap.policies import open_adapters

    async with open_adapters(address) as (_, adapters):
        await adapters.ensure(name, folder)
