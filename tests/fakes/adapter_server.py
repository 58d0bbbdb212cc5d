"""A server on a loopback port that takes LoRA adapters while it runs, as vLLM does."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from tests.fakes.openai_server import OpenAIServer, Respond, served

BASE = "tiny"
TOKENS = 12  # of any prompt


@dataclass(kw_only=True)
class AdapterServer:
    """State of the server; the test changes it while the server runs.

    Attributes:
        key: bearer token wanted; empty: none.
        updates: whether it was started with what lets adapters be loaded.
        rates: whether it tells log-probabilities.
        shift: by which an adapter rates each token differently from its base.
        forgets: whether it says that it has loaded an adapter, and does not offer it.
        keeps: whether it says that it has unloaded an adapter, and offers it still.
        adapters: name to folder.
        loaded: names of those that were loaded, in order.
        calls: addresses that were asked for.
        respond: the text of each choice of a chat completion. None: it completes no chats.
        offered: names of its models, for chats.
    """

    key: str = ""
    updates: bool = True
    rates: bool = True
    shift: float = 0.25
    forgets: bool = False
    keeps: bool = False
    adapters: dict[str, str] = field(default_factory=dict)
    loaded: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    url: str = ""
    respond: Respond | None = None
    offered: list[str] = field(default_factory=lambda: [BASE])

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/models", self._models),
                Route("/v1/completions", self._completions, methods=["POST"]),
                Route("/v1/load_lora_adapter", self._load, methods=["POST"]),
                Route("/v1/unload_lora_adapter", self._unload, methods=["POST"]),
                *self._chats(),
            ]
        )

    def _chats(self) -> list[BaseRoute]:
        if self.respond is None:
            return []
        chats = OpenAIServer(self.respond, models=self.offered, key=self.key or None)
        return [route for route in chats.app().routes if getattr(route, "path", "") == "/v1/chat/completions"]

    async def _models(self, request: Request) -> Response:
        if (refused := self._refused(request)) is not None:
            return refused
        entries: list[Mapping[str, Any]] = [{"id": BASE, "root": "/models/tiny", "parent": None, "owned_by": "vllm"}]
        entries += [{"id": name, "root": path, "parent": BASE} for name, path in self.adapters.items()]
        return JSONResponse({"object": "list", "data": entries})

    async def _load(self, request: Request) -> Response:
        if (refused := self._refused(request)) is not None:
            return refused
        if not self.updates:
            return JSONResponse({"detail": "Not Found"}, status_code=404)
        body = await request.json()
        name, folder = body["lora_name"], body["lora_path"]
        if name in self.adapters:
            return _error(400, f"The lora adapter '{name}' has already been loaded.")
        if not (Path(folder) / "adapter_config.json").is_file():
            return _error(404, f"Loading lora {name} failed: No adapter found for {folder}")
        self.loaded.append(name)
        if not self.forgets:
            self.adapters[name] = folder
            self.offered.append(name)
        return PlainTextResponse(f"Success: LoRA adapter '{name}' added successfully.")

    async def _unload(self, request: Request) -> Response:
        if (refused := self._refused(request)) is not None:
            return refused
        if not self.updates:
            return JSONResponse({"detail": "Not Found"}, status_code=404)
        name = (await request.json())["lora_name"]
        if name not in self.adapters:
            return _error(404, f"The lora adapter '{name}' cannot be found.")
        if not self.keeps:
            del self.adapters[name]
            self.offered.remove(name)
        return PlainTextResponse(f"Success: LoRA adapter '{name}' removed successfully.")

    async def _completions(self, request: Request) -> Response:
        if (refused := self._refused(request)) is not None:
            return refused
        body = await request.json()
        if body["model"] not in {BASE, *self.adapters}:
            return _error(404, f"The model `{body['model']}` does not exist.")
        shift = self.shift if body["model"] in self.adapters else 0.0
        rated = [None, *(-1.0 - place / 10 - shift for place in range(TOKENS))] if self.rates else None
        logprobs = None if rated is None else {"token_logprobs": rated}
        return JSONResponse({"choices": [{"index": 0, "text": body["prompt"], "logprobs": logprobs}]})

    def _refused(self, request: Request) -> Response | None:
        self.calls.append(request.url.path)
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return JSONResponse({"error": "Unauthorized"}, status_code=401)
        return None


class ChattingAdapterServer(OpenAIServer):
    """A server that completes chats, and takes adapters while it runs.

    Attributes:
        lora: its adapters.
    """

    def __init__(self, respond: Respond, **state: Any) -> None:
        super().__init__(respond, models=[BASE], key=state.get("key") or None)
        self.lora = AdapterServer(**state)

    def app(self) -> Starlette:
        return Starlette(routes=[*self.lora.app().routes, *super().app().routes])

    def _unknown_model(self, body: Mapping[str, Any]) -> Response | None:
        return None if body.get("model") in {BASE, *self.lora.adapters} else super()._unknown_model({"model": "none"})


@contextmanager
def chatting_adapter_server(respond: Respond, **state: Any) -> Iterator[ChattingAdapterServer]:
    """Yield a running server; `state` is that of its adapters."""
    fake = ChattingAdapterServer(respond, **state)
    with served(fake.app()) as address:
        fake.url = f"{address}/v1"
        yield fake


def _error(status: int, message: str) -> Response:
    kind = {400: "BadRequestError", 404: "NotFoundError"}[status]
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": status}}, status)


@contextmanager
def adapter_server(**state: Any) -> Iterator[AdapterServer]:
    """Yield a running server; `state` is that of `AdapterServer`."""
    fake = AdapterServer(**state)
    with served(fake.app()) as address:
        fake.url = f"{address}/v1"
        yield fake
