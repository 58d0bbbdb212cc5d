"""The versions of a run's policy, opened: models that this process runs, or LoRA adapters that a vLLM loads."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evolve.errors import PolicyError
from evolve.search.ensemble import EnsembleMember
from service.errors import NotFoundError, UnreachableError
from service.policy.access import PolicyAccess
from service.policy_settings.shipped import adapter_name

if TYPE_CHECKING:
    from service.policy.lora_adapters import LoraAdapters
    from service.policy_settings.settings import PolicySettings

ModelFolder = Callable[[str], Path]
OpenAuthor = Callable[["PolicySettings"], Awaitable[EnsembleMember]]
WayTo = Callable[["PolicySettings"], Awaitable[PolicyAccess]]


class BundledVersions:
    """The port RunVersions over models that this process runs.

    Args:
        start: the policy that the run began with.
        folder: gives the folder of a model by its hash.
        open_author: opens an author.
    """

    def __init__(self, start: "PolicySettings", folder: ModelFolder, open_author: OpenAuthor) -> None:
        self._start, self._folder, self._open = start, folder, open_author

    async def check(self) -> None:
        """Any version can be asked."""

    async def load(self, policy: str, model: str) -> None:  # noqa: ARG002 - the signature of the port
        """Unpack a version.

        Raises:
            NotFoundError, StorageError: it is not stored, or cannot be unpacked here.
        """
        await asyncio.to_thread(self._folder, model)

    async def open(self, policy: str, model: str) -> EnsembleMember:
        """A version, ready to be asked.

        Raises:
            NotFoundError, StorageError, UsageError: it is not stored, or cannot be read.
        """
        folder = await asyncio.to_thread(self._folder, model)
        return await self._open(self._start.model_copy(update={"name": policy, "model": str(folder)}))

    async def unload(self, policy: str, model: str) -> None:
        """A version takes no room of a server."""


class ServedVersions:
    """The adapters of a running vLLM, which is reached as the policy itself: to be unloaded.

    Args:
        start: the policy that the run began with.
        way: to the server of a policy.
    """

    def __init__(self, start: "PolicySettings", way: WayTo) -> None:
        self._start, self._way = start, way

    async def unload(self, policy: str, model: str) -> None:
        """Let the server unload an adapter.

        Raises:
            UnreachableError: it stays loaded.
        """
        try:
            async with self._adapters() as adapters:
                await adapters.unload(_name(policy, model))
        except NotFoundError:
            return
        except PolicyError as error:
            raise UnreachableError(f"{policy} stays loaded: {error}") from error

    @asynccontextmanager
    async def _adapters(self) -> "AsyncIterator[LoraAdapters]":
        from service.policy.lora_adapters import LoraAdapters
        from service.policy.server import Server

        way = await self._way(self._start)
        server = Server(way.policy, way.key, monotonic=time.monotonic, transport=way.transport)
        try:
            yield LoraAdapters(server)
        finally:
            await server.close()


class AdapterVersions(ServedVersions):
    """The port RunVersions over the adapters of a running vLLM.

    Args:
        start: the policy that the run began with.
        folder: gives the folder of an adapter by its hash. The vLLM must be able to read it.
        open_author: opens an author.
        way: to the server of a policy.
    """

    def __init__(self, start: "PolicySettings", folder: ModelFolder, open_author: OpenAuthor, way: WayTo) -> None:
        super().__init__(start, way)
        self._folder, self._open = folder, open_author

    async def check(self) -> None:
        """Check that the server takes adapters while it runs.

        Raises:
            PolicyError: it does not.
        """
        async with self._adapters() as adapters:
            await adapters.check()

    async def load(self, policy: str, model: str) -> None:
        """Let the server load an adapter unless it has it, and check that it answers differently from its base.

        Raises:
            UnreachableError: it does not load, or answers as its base.
            NotFoundError, StorageError: it is not stored, or cannot be unpacked here.
        """
        folder = await asyncio.to_thread(self._folder, model)
        try:
            async with self._adapters() as adapters:
                await adapters.ensure(_name(policy, model), str(folder))
        except PolicyError as error:
            raise UnreachableError(f"{policy} is not asked, since its vLLM did not load it: {error}") from error

    async def open(self, policy: str, model: str) -> EnsembleMember:
        """An adapter, to be asked by its name at the server."""
        return await self._open(self._start.model_copy(update={"name": policy, "model": _name(policy, model)}))


def _name(policy: str, model: str) -> str:
    return adapter_name(policy.partition("@")[0], model)
