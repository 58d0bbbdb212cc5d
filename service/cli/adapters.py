"""The commands `evolve policy load` and `evolve policy unload`: LoRA adapters of a running vLLM."""

import asyncio
from pathlib import Path

from service.bootstrap.policies import open_adapters
from service.cli.terminal import Terminal
from service.errors import UsageError
from service.policy.lora_adapters import LoadedAdapter, check_adapter_folder


def load_adapter(terminal: Terminal, source: str, name: str, folder: str) -> None:
    """Load an adapter into the server of a policy, and tell how far it is from its base."""
    place = _place(folder)
    address, loaded = asyncio.run(_load(source, name, place))
    if terminal.as_json:
        terminal.emit({"name": loaded.name, "base": loaded.base, "difference": loaded.difference, "folder": place})
        return
    terminal.show(f"{loaded.name} is loaded, an adapter of {loaded.base or 'a model that the server does not name'}")
    if loaded.difference is not None:
        terminal.show(f"It rates the tokens of a short text by up to {loaded.difference:.3g} nats differently.")
    terminal.note(f"Search with it: evolve run PROBLEM --policy {address} --model {loaded.name}")


def unload_adapter(terminal: Terminal, source: str, name: str) -> None:
    """Unload an adapter from the server of a policy."""
    asyncio.run(_unload(source, name))
    if terminal.as_json:
        terminal.emit({"name": name, "loaded": False})
        return
    terminal.show(f"{name} is unloaded")


def _place(folder: str) -> str:
    """A folder of this machine as a whole path, checked. Any other is the server's own."""
    here = Path(folder).expanduser()
    if here.is_dir():
        check_adapter_folder(here)
        return str(here.resolve())
    if not folder.strip() or not folder.isprintable():
        raise UsageError("name the folder of a LoRA adapter")
    return folder


async def _load(source: str, name: str, folder: str) -> tuple[str, LoadedAdapter]:
    async with open_adapters(source) as (policy, adapters):
        return str(policy.base_url), await adapters.load(name, folder)


async def _unload(source: str, name: str) -> None:
    async with open_adapters(source) as (_, adapters):
        await adapters.unload(name)
