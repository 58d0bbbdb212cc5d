"""Providers without the OpenAI protocol, through the library LiteLLM, which translates to and from it.

LiteLLM (https://docs.litellm.ai) is the extra `providers`. It is imported when the first such policy opens.
"""

import asyncio
import importlib
import os
import re
import warnings
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from pydantic import SecretStr

from evolve.errors import PolicyDenied, PolicyError, PolicyUnavailable
from service.net.retry import read_retry_after
from service.policy.capabilities import RefusedRequest
from service.policy.concurrency_controller import ConcurrencyLoad
from service.policy.embedding_protocol import Embeddings, read_embeddings
from service.policy.model_server import NO_HEADERS
from service.policy.openai_protocol import RequestRefused, StreamChunk, failure, read_chunk_value
from service.policy.served_models import ServedModel
from service.policy_settings.price_table import find_model
from service.policy_settings.settings import PolicySettings

MAX_SECONDS_OF_A_TOKEN = 2.0  # of a reply that never pauses; whoever writes more slowly for ever only trickles
CLOSE_SECONDS = 2.0
MIN_SECRET_CHARACTERS = 8
NOT_INSTALLED = (
    "policies of the kind litellm need the library LiteLLM:"
    " install it with pip install 'evolve-search[providers]', or pip install litellm"
)
# How LiteLLM names the parameters that a provider does not have.
_UNSUPPORTED = re.compile(r"does not support parameters: \[([^\]]*)\]")
# What LiteLLM puts before the words of a provider, and after them.
_PREFIX = re.compile(
    r"^(?:litellm\.)?(?:\w+(?:Error|Exception)\s*[:-]\s*)*(?:litellm\.)?(?:\w+(?:Error|Exception)\s*[:-]\s*)*"
)
_SUFFIX = re.compile(r"\.? Handle with `litellm\.\w+`\.?\s*$| Original exception: .*$", re.DOTALL)
_UNREACHED = re.compile(r"connection attempts failed|Cannot connect|Connection (?:error|refused)|Name or service")
_SECRET_NAMES = re.compile(r"(?i)(?:key|token|secret|password)(?:_id)?$")


# Who uses the connections, which the library shares within a process.
_in_use: "set[LiteLLMServer]" = set()


class LiteLLMServer:
    """Asks a model through LiteLLM, see `service.policy.model_server.ModelServer`.

    Args:
        settings: of a policy of kind `litellm`.
        key: for the library. None: it reads the usual variables of the provider.
        monotonic: seconds that never go back.
        library: LiteLLM. None: imported at the first call.
    """

    def __init__(
        self,
        settings: PolicySettings,
        key: SecretStr | None,
        *,
        monotonic: Callable[[], float],
        library: Any = None,
    ) -> None:
        self._settings = settings
        self._key = key
        self._monotonic = monotonic
        self._library = library

    async def close(self) -> None:
        """Close the connections that the library keeps, unless others of this process use them too."""
        library, self._library = self._library, None
        _in_use.discard(self)
        if library is not None and not _in_use:
            with suppress(Exception):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await library.close_litellm_async_clients()
            library.in_memory_llm_clients_cache.flush_cache()  # else the closed ones are used again

    async def models(self) -> list[ServedModel]:
        """The model that the settings name, where the library knows its provider and a key is there.

        Raises:
            PolicyDenied: the library is not installed, or knows no such provider, or the key is missing.
        """
        library = await self._open()
        model = self._settings.model
        with self._explained():
            _refuse_unknown(library, model)
            missing = library.validate_environment(model)["missing_keys"]
        wanted = [name for name in missing if name.endswith("_API_KEY")]
        if wanted and self._key is None and self._settings.base_url is None:
            raise PolicyDenied(f"the provider of {model} needs a key: set the environment variable {wanted[0]}")
        return [ServedModel(name=model, context_tokens=find_model(model).context_tokens)]

    async def knock(self, model: str) -> None:
        """Nothing can be found out at no cost."""

    async def count_tokens(self, model: str, text: str) -> None:
        """None: providers count tokens only at the price of a call."""

    async def load(self) -> ConcurrencyLoad | None:
        """None: providers do not tell."""
        return None

    async def stream(
        self, body: Mapping[str, Any], tokens: int, headers: Mapping[str, str] = NO_HEADERS
    ) -> AsyncGenerator[StreamChunk, None]:
        """Ask for a chat completion. Returns its events as they come.

        `timeout_seconds` is the longest pause before the next event. A reply has as long as its tokens may take.

        Args:
            body: the request in the OpenAI protocol.
            tokens: maximum requested tokens, over all choices.
            headers: more headers of the request.

        Raises:
            PolicyError: any failure, with a sentence.
        """
        library = await self._open()
        maximum = self._settings.timeout_seconds + tokens * MAX_SECONDS_OF_A_TOKEN
        deadline = self._monotonic() + maximum
        reply: Any = None
        with self._explained():
            try:
                async with asyncio.timeout(self._settings.timeout_seconds):
                    reply = await library.acompletion(**_with_headers(body, headers), **self._way)
                while (event := await self._next(reply)) is not None:
                    if self._monotonic() > deadline:
                        raise PolicyUnavailable(f"it took longer than {maximum:g} seconds for {tokens} tokens", 0.0)
                    yield read_chunk_value(event.model_dump(exclude_none=True, warnings=False))
                yield StreamChunk(done=True)
            finally:
                if reply is not None:
                    with suppress(Exception):
                        await reply.aclose()

    async def embed(self, model: str, texts: Sequence[str]) -> Embeddings:
        """Ask for the embeddings of texts.

        Raises:
            PolicyError: any failure, with a sentence. A refusal is for all texts together.
        """
        library = await self._open()
        with self._explained():
            async with asyncio.timeout(self._settings.timeout_seconds):
                found = await library.aembedding(model=model, input=list(texts), **self._way)
            return read_embeddings(found.model_dump(warnings=False), len(texts))

    @property
    def _way(self) -> dict[str, Any]:
        """How the library reaches the provider. Requests are repeated by the policy, never by the library."""
        key = None if self._key is None else self._key.get_secret_value()
        way = {"api_key": key, "api_base": self._settings.base_url, "timeout": self._settings.timeout_seconds}
        return {name: value for name, value in way.items() if value is not None} | {"max_retries": 0, "num_retries": 0}

    async def _next(self, reply: Any) -> Any:
        """The next event. None at the end."""
        async with asyncio.timeout(self._settings.timeout_seconds):
            return await anext(reply, None)

    async def _open(self) -> Any:
        _in_use.add(self)
        if self._library is None:
            try:
                self._library = await asyncio.to_thread(import_library)
            except ImportError as error:
                raise PolicyDenied(NOT_INSTALLED) from error
        return self._library

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn every failure into a policy's error that names the model and holds no secret."""
        try:
            yield
        except PolicyError as error:
            raise self._named(error) from None
        except TimeoutError:
            text = f"it did not answer within {self._settings.timeout_seconds:g} seconds"
            raise self._named(PolicyUnavailable(text, 0.0)) from None
        except Exception as error:  # noqa: BLE001 - the library raises errors of every provider's client
            raise self._named(read_error(error)) from None

    def _named(self, error: PolicyError) -> PolicyError:
        sentence = f"no reply from the provider of {self._settings.model}: {without_secrets(str(error), self._key)}"
        if isinstance(error, PolicyUnavailable):
            return PolicyUnavailable(sentence, error.retry_after_seconds)
        if isinstance(error, RequestRefused):
            refusal = RefusedRequest(
                message=without_secrets(error.refusal.message, self._key), parameters=error.refusal.parameters
            )
            return RequestRefused(sentence, refusal)
        return type(error)(sentence)


def import_library() -> Any:
    """LiteLLM, which sends nothing to anybody but the provider and prints nothing.

    Raises:
        ImportError: it is not installed.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it downloads its table of prices
    library: Any = importlib.import_module("litellm")
    warnings.filterwarnings("ignore", ".*qualifier|Pydantic serializer warnings", UserWarning)  # of its own models
    library.suppress_debug_info = True
    library.telemetry = False
    library.disable_aiohttp_transport = True  # httpx, as everywhere: its connections can be closed
    return library


def read_error(error: Exception) -> PolicyError:
    """The error for an exception of the library, with the provider's own text, trimmed.

    Args:
        error: with `status_code` and `litellm_response_headers` if a provider answered.
    """
    original = getattr(error, "original_exception", None)
    if isinstance(original, Exception) and original is not error:
        return read_error(original)
    text = str(error)
    if unsupported := _UNSUPPORTED.search(text):
        names = tuple(re.findall(r"\w+", unsupported[1]))
        message = f"the provider does not support the parameters {', '.join(names)}"
        return RequestRefused(message, RefusedRequest(message=message, parameters=names))
    if _UNREACHED.search(text):
        return PolicyUnavailable("it cannot be reached", 0.0)
    words = _provider_words(text)
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) and 400 <= status < 600 else 500
    headers = getattr(error, "litellm_response_headers", None)
    header = headers.get("retry-after") if isinstance(headers, Mapping) else None
    found = failure(status, words, read_retry_after(header, lambda: datetime.now(UTC)))
    if status in (401, 403):
        return PolicyDenied(f"it refuses the key ({found})")
    return found


def _refuse_unknown(library: Any, model: str) -> None:
    try:
        library.get_llm_provider(model)
    except Exception as error:
        raise PolicyDenied(
            "LiteLLM does not know this provider: name a provider from https://docs.litellm.ai/docs/providers and"
            " its model, such as anthropic/claude-sonnet-4-5"
        ) from error


def _with_headers(body: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
    """A request with more headers, beside those that it may name itself."""
    return {**body, "extra_headers": {**body.get("extra_headers", {}), **headers}} if headers else dict(body)


def without_secrets(text: str, key: SecretStr | None) -> str:
    """A text without the key, and without the values of secret environment variables."""
    named = [value for name, value in os.environ.items() if _SECRET_NAMES.search(name)]
    for secret in [*([key.get_secret_value()] if key else []), *named]:
        if len(secret) >= MIN_SECRET_CHARACTERS:
            text = text.replace(secret, "***")
    return text


def _provider_words(text: str) -> str:
    """The provider's text, without the library's additions."""
    words = _SUFFIX.sub("", _PREFIX.sub("", text.partition("Traceback (most recent")[0])).strip()
    if words[:2] in ("b'", 'b"') and words.endswith(words[1]):
        words = words[2:-1].replace("\\'", "'").replace('\\\\"', '\\"')
    return words
