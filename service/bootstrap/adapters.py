"""Adapters of the registry, loaded into the running vLLM that serves them."""

import asyncio
from typing import TYPE_CHECKING

from evolve.errors import PolicyError
from service.errors import UnreachableError, UsageError
from service.policy_settings.settings import PolicySettings
from service.policy_settings.sources import read_policy
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
        policy = read_policy({**found.settings, "name": found.name}, found.name)
        asyncio.run(_load(policy, str(folder)))
    except (PolicyError, UsageError) as error:
        raise UnreachableError(f"{found.name} was not promoted, since its vLLM did not load it: {error}") from error


async def _load(policy: PolicySettings, folder: str) -> None:
    from service.bootstrap.policies import adapters_of

    async with adapters_of(policy) as adapters:
        await adapters.ensure(policy.model, folder)
