"""LoRA adapters of a running vLLM: loaded without a restart, compared with their base, and unloaded.

vLLM takes adapters while it runs if it was started with `--enable-lora` and `VLLM_ALLOW_RUNTIME_LORA_UPDATING=True`.
Source: "LoRA Adapters", section "Dynamically serving LoRA adapters", in the documentation of vLLM.
"""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evolve.errors import PolicyDenied, PolicyError, PolicyUnavailable
from service.errors import ConflictError, NotFoundError, UsageError
from service.policy.openai_protocol import read_json
from service.policy.served_models import ServedModel
from service.policy.server import Server

MAX_NAME = 128
CONFIG = "adapter_config.json"
MAX_CONFIG_BYTES = 1 << 20
# Text whose tokens base and adapter are asked to rate.
PROBE = "def solve(values):\n    best = max(values)\n    return [value for value in values if value == best]\n"
TAKES_NONE = "the server takes no adapters while it runs"
_UNKNOWN = "evolve-no-adapter"
_CURE = "start vLLM with --enable-lora and the environment variable VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedAdapter:
    """An adapter that a server answers with.

    Attributes:
        name: to ask for it, as for a model.
        base: the model that it adapts.
        difference: largest difference of the log-probabilities that adapter and base give a token of a short text, in
            nats, above 0. None: the server does not tell them.
    """

    name: str
    base: str
    difference: float | None


class LoraAdapters:
    """The adapters of a server.

    Args:
        server: a vLLM.
    """

    def __init__(self, server: Server) -> None:
        self._server = server

    async def load(self, name: str, folder: str) -> LoadedAdapter:
        """Let the server load an adapter, and check that it answers with it.

        A name stands for one adapter as long as it is loaded, because runs record the name.

        Args:
            name: of the adapter.
            folder: of it, as the server finds it.

        Raises:
            UsageError: the name cannot be one.
            ConflictError: the server has a model of this name.
            PolicyError: it takes no adapters, refuses this one, or does not answer with it.
        """
        if not name or len(name) > MAX_NAME or not name.isprintable():
            raise UsageError(f"the name of an adapter has 1 to {MAX_NAME} printable characters")
        if name in await self._models():
            raise ConflictError(f"the server has a model {name} already: unload it, or choose another name")
        return await self._load(name, folder)

    async def ensure(self, name: str, folder: str) -> LoadedAdapter:
        """Load an adapter whose name stands for its content, unless it is loaded, and check that it is answered with.

        Raises:
            UsageError, PolicyError: as of `load`.
        """
        if name in await self._models():
            return await self._compared(name)
        return await self._load(name, folder)

    async def check(self) -> None:
        """Check that the server takes adapters while it runs. Nothing is loaded.

        Raises:
            PolicyError: it does not, or cannot be reached.
        """
        try:
            known = await self._server.post("unload_lora_adapter", {"lora_name": _UNKNOWN})
        except PolicyUnavailable:
            raise
        except PolicyError:  # it knows no adapter of this name
            return
        if known is None:
            raise PolicyDenied(f"{TAKES_NONE}: {_CURE}")

    async def _load(self, name: str, folder: str) -> LoadedAdapter:
        if await self._server.post("load_lora_adapter", {"lora_name": name, "lora_path": folder}) is None:
            raise PolicyDenied(f"{TAKES_NONE}: {_CURE}")
        try:
            return await self._compared(name)
        except BaseException:
            with suppress(PolicyError):
                await self._server.post("unload_lora_adapter", {"lora_name": name})
            raise

    async def unload(self, name: str) -> None:
        """Let the server unload an adapter. Requests that it answers at the moment may fail.

        Raises:
            NotFoundError: the server has no adapter of this name.
            PolicyError: it unloads none.
        """
        models = await self._models()
        if name not in models:
            adapters = ", ".join(one.name for one in models.values() if one.base) or "none"
            raise NotFoundError(f"the server has no adapter {name}: it has {adapters}")
        if not models[name].base:
            raise UsageError(f"{name} is a model of the server, not an adapter: it stays")
        if await self._server.post("unload_lora_adapter", {"lora_name": name}) is None:
            raise PolicyDenied(f"the server unloads no adapters while it runs: {_CURE}")
        if name in await self._models():
            raise PolicyUnavailable(f"the server still offers {name} after it was unloaded", 0.0)

    async def _models(self) -> dict[str, ServedModel]:
        return {one.name: one for one in await self._server.models() or ()}

    async def _compared(self, name: str) -> LoadedAdapter:
        models = await self._models()
        if name not in models:
            raise PolicyUnavailable(f"the server does not offer {name} after it was loaded", 0.0)
        base = models[name].base
        adapted, plain = await self._rated(name), await self._rated(base) if base else None
        difference = None
        if adapted and plain and len(adapted) == len(plain):
            difference = max(abs(one - other) for one, other in zip(adapted, plain, strict=True))
        if difference == 0.0:
            raise PolicyDenied(f"{name} answers exactly as its base {base}: it was not trained, or does not fit it")
        return LoadedAdapter(name=name, base=base, difference=difference)

    async def _rated(self, model: str) -> list[float] | None:
        """The log-probabilities of the probe's tokens. None: the server does not tell them."""
        body = {"model": model, "prompt": PROBE, "max_tokens": 1, "temperature": 0.0, "echo": True, "logprobs": 1}
        text = await self._server.post("completions", body)
        return None if text is None else _log_probabilities(read_json(text))


def _log_probabilities(answer: object) -> list[float] | None:
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    rated = choice.get("logprobs") if isinstance(choice, Mapping) else None
    found = rated.get("token_logprobs") if isinstance(rated, Mapping) else None
    if not isinstance(found, list):
        return None
    # The first token follows nothing, and the last was written, not read.
    numbers = found[1:-1]
    if not numbers or not all(isinstance(one, float | int) and math.isfinite(one) for one in numbers):
        return None
    return [float(one) for one in numbers]


def check_adapter_folder(folder: Path) -> None:
    """Check that a folder of this machine holds a LoRA adapter. Its weights are left to the server.

    Raises:
        UsageError: it does not.
    """
    try:
        with (folder / CONFIG).open("rb") as file:
            config: Any = json.loads(file.read(MAX_CONFIG_BYTES))
    except FileNotFoundError as error:
        raise UsageError(f"{folder} holds no {CONFIG}: name the folder of a LoRA adapter") from error
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{folder / CONFIG} cannot be read as JSON") from error
    kind = config.get("peft_type") if isinstance(config, Mapping) else None
    if kind != "LORA":
        raise UsageError(f"{folder} is not a LoRA adapter: {CONFIG} says peft_type {str(kind)[:40]!r}")
