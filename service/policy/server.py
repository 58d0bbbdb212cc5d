"""An OpenAI-compatible server over HTTP: its models, tokenizer and streams, with a sentence for each failure."""

import asyncio
import ipaddress
import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import httpx
from pydantic import SecretStr

from evolve.errors import PolicyDenied, PolicyError, PolicyUnavailable
from service.net.retry import read_retry_after, worth_retrying
from service.policy.capabilities import RefusedRequest
from service.policy.concurrency_controller import ConcurrencyLoad
from service.policy.embedding_protocol import MAX_VECTOR, Embeddings, read_embeddings
from service.policy.model_server import NO_HEADERS
from service.policy.openai_protocol import (
    RequestRefused,
    StreamChunk,
    failure,
    read_chunk,
    read_events,
    read_json,
    read_load,
)
from service.policy.served_models import ServedModel, read_offered
from service.policy_settings.settings import PolicySettings

ABSENT = frozenset({404, 405, 501})  # what a server says that has no such address
DENIED = frozenset({401, 403})
CONNECT_SECONDS = 10.0
CHECK_SECONDS = 30.0
LOAD_SECONDS = 5.0
DRAIN_SECONDS = 0.5
MAX_BODY_BYTES = 4 << 20
_BYTES_OF_A_TOKEN = 1024  # on the wire, each in an event of its own
_BYTES_OF_ANY_ANSWER = 1 << 20
_BYTES_OF_A_NUMBER = 32  # in JSON
_MAX_SECONDS_OF_A_TOKEN = 2.0  # of a reply that never pauses; whoever writes more slowly for ever only trickles


class Server:
    """Speaks to a server.

    Args:
        settings: of a policy of kind `openai`.
        key: sent only to this server, never along a redirect.
        monotonic: seconds that never go back.
        now: the current time, for dates in `Retry-After`.
        transport: replaces the network connection.
    """

    def __init__(
        self,
        settings: PolicySettings,
        key: SecretStr | None,
        *,
        monotonic: Callable[[], float],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        assert settings.base_url is not None
        self._settings = settings
        address = urlsplit(settings.base_url)
        self._base = urlunsplit(address._replace(query=""))
        self._chats = f"{self._base}/chat/completions"
        self._root = self._base.removesuffix("/v1")
        self._key = key
        self._monotonic = monotonic
        self._now = now
        headers = {"Accept-Encoding": "identity", "User-Agent": "evolve"}
        if key is not None:
            headers |= key_header(key.get_secret_value(), versioned=bool(address.query))
        self._client = httpx.AsyncClient(
            headers=headers,
            params=dict(parse_qsl(address.query)),
            timeout=httpx.Timeout(settings.timeout_seconds, connect=CONNECT_SECONDS, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=settings.concurrency + 8),
            # A server on this machine is not reached through a proxy, whatever the environment says.
            trust_env=not is_loopback(settings.base_url),
            transport=transport,
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def models(self) -> list[ServedModel] | None:
        """The offered models. None if it has no list.

        Raises:
            PolicyError: it cannot be reached, refuses the key or sends an invalid answer.
        """
        with self._explained():
            url = f"{self._base}/models"
            async with self._client.stream("GET", url, timeout=CHECK_SECONDS) as response:
                text = await _beginning(response)
            if response.status_code in ABSENT:
                return None
            if response.status_code != 200:
                raise self._failure(response, text)
            _refuse_page(response)
            return read_offered(read_json(text))

    async def knock(self, model: str) -> None:
        """Send a request without a message, which costs nothing and reveals servers of another kind.

        Raises:
            PolicyError: it does not complete chats, refuses the key or cannot be reached.
        """
        body = {"model": model, "messages": [], "max_tokens": 1}
        with self._explained():
            async with self._client.stream("POST", self._chats, json=body, timeout=CHECK_SECONDS) as response:
                text = await _beginning(response)
            if response.status_code in ABSENT or response.status_code in DENIED or 300 <= response.status_code < 400:
                raise self._failure(response, text)
            _refuse_page(response)

    async def count_tokens(self, model: str, text: str) -> int | None:
        """Number of tokens of a text. None if the server does not answer."""
        body = {"model": model, "prompt": text, "add_special_tokens": False}
        try:
            async with self._client.stream(
                "POST", f"{self._root}/tokenize", json=body, timeout=CHECK_SECONDS
            ) as response:
                value = read_json(await _beginning(response)) if response.status_code == 200 else None
        except (httpx.HTTPError, PolicyError):
            return None
        count = value.get("count") if isinstance(value, Mapping) else None
        return count if isinstance(count, int) and 0 <= count <= len(text.encode()) else None

    async def load(self) -> ConcurrencyLoad | None:
        """Numbers of requests in progress and waiting. None if it does not report.

        Raises:
            PolicyError: it cannot be asked at present.
        """
        with self._explained():
            async with self._client.stream("GET", f"{self._root}/metrics", timeout=LOAD_SECONDS) as response:
                text = await _beginning(response, LOAD_SECONDS)
            if worth_retrying(response.status_code):
                raise self._failure(response, text)
            return read_load(text) if response.status_code == 200 else None

    async def stream(
        self, body: Mapping[str, Any], tokens: int, headers: Mapping[str, str] = NO_HEADERS
    ) -> AsyncGenerator[StreamChunk, None]:
        """Ask for a chat completion. Returns its events as they come.

        `timeout_seconds` is the longest pause before the next byte. A reply has as long as its tokens may take.

        Args:
            body: the request.
            tokens: maximum requested tokens, over all choices.
            headers: more headers of the request.

        Raises:
            PolicyError: any failure, with a sentence.
        """
        with self._explained():
            async with self._client.stream("POST", self._chats, json=body, headers=headers) as response:
                if response.status_code != 200:
                    raise self._failure(response, await _beginning(response))
                _refuse_page(response)
                if "json" in response.headers.get("content-type", ""):
                    text = await _beginning(response, self._max_seconds(tokens))
                    yield replace(read_chunk(text), done=True)
                    return
                max_bytes = tokens * _BYTES_OF_A_TOKEN + _BYTES_OF_ANY_ANSWER
                async with aclosing(read_events(self._in_time(response, tokens), max_bytes)) as events:
                    async for data in events:
                        chunk = read_chunk(data)
                        yield chunk
                        if chunk.done:
                            await _drain(events)
                            return

    async def embed(self, model: str, texts: Sequence[str]) -> Embeddings:
        """Ask for the embeddings of texts.

        Raises:
            PolicyError: any failure, with a sentence. A refusal is for all texts together.
        """
        body = {"model": model, "input": list(texts), "encoding_format": "float"}
        max_bytes = len(texts) * MAX_VECTOR * _BYTES_OF_A_NUMBER + _BYTES_OF_ANY_ANSWER
        with self._explained():
            async with self._client.stream("POST", f"{self._base}/embeddings", json=body) as response:
                text = await _beginning(response, self._settings.timeout_seconds, max_bytes)
            if response.status_code != 200:
                raise self._failure(response, text)
            _refuse_page(response)
            return read_embeddings(read_json(text), len(texts))

    async def post(self, path: str, body: Mapping[str, Any]) -> str | None:
        """Send JSON to an address below the base. Returns the text of the answer. None if it has no such address.

        Raises:
            PolicyError: any failure, with a sentence.
        """
        with self._explained():
            async with self._client.stream("POST", f"{self._base}/{path}", json=body) as response:
                text = await _beginning(response, self._settings.timeout_seconds)
            status = response.status_code
            if status in ABSENT and '"error"' not in text:
                return None
            if status in DENIED or 300 <= status < 400:
                raise self._failure(response, text)
            if status != 200:
                raise failure(status, text)
            _refuse_page(response)
            return text

    async def _in_time(self, response: httpx.Response, tokens: int) -> AsyncGenerator[bytes, None]:
        # A server that keeps on trickling never meets a timeout of the connection.
        maximum = self._max_seconds(tokens)
        deadline = self._monotonic() + maximum
        async with aclosing(_blocks(response)) as blocks:
            async for block in blocks:
                if self._monotonic() > deadline:
                    raise PolicyUnavailable(f"it took longer than {maximum:g} seconds for {tokens} tokens", 0.0)
                yield block

    def _max_seconds(self, tokens: int) -> float:
        return self._settings.timeout_seconds + tokens * _MAX_SECONDS_OF_A_TOKEN

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn every failure into a policy's error that names the server and never holds the key."""
        try:
            yield
        except PolicyError as error:
            raise self._named(error, str(error)) from None
        except httpx.TimeoutException as error:
            seconds = CONNECT_SECONDS if isinstance(error, httpx.ConnectTimeout) else self._settings.timeout_seconds
            raise self._named(PolicyUnavailable("", 0.0), f"it did not answer within {seconds:g} seconds") from None
        except httpx.ConnectError as error:
            raise self._named(PolicyUnavailable("", 0.0), f"it cannot be reached ({_cause(error)})") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._named(PolicyUnavailable("", 0.0), f"the connection broke ({_cause(error)})") from None

    def _named(self, error: PolicyError, text: str) -> PolicyError:
        if self._key is not None:
            text = self._without_key(text, self._key)
        sentence = f"no reply from {self._settings.place}: {text}"
        if isinstance(error, PolicyUnavailable):
            return PolicyUnavailable(sentence, error.retry_after_seconds)
        if isinstance(error, RequestRefused):
            return RequestRefused(sentence, self._masked(error.refusal))
        return type(error)(sentence)

    def _masked(self, refusal: RefusedRequest) -> RefusedRequest:
        return refusal if self._key is None else replace(refusal, message=self._without_key(refusal.message, self._key))

    @staticmethod
    def _without_key(text: str, key: SecretStr) -> str:
        return text.replace(key.get_secret_value(), "***")

    def _failure(self, response: httpx.Response, body: str) -> PolicyError:
        status = response.status_code
        if 300 <= status < 400:
            return PolicyDenied("it redirects to another address: name that address")
        asked = read_retry_after(response.headers.get("retry-after"), self._now)
        error = failure(status, body, asked)
        if status in DENIED:
            return PolicyDenied(f"it {self._about_key()} ({error})")
        if isinstance(error, PolicyDenied):
            return PolicyDenied(f"{error}: check the address, and {self._settings.model or 'the model'} there")
        return error

    def _about_key(self) -> str:
        place = self._settings.api_key_file or self._settings.api_key_env or self._settings.usual_key_env
        if self._key is None:
            return f"needs a key: set the environment variable {place}"
        return f"refuses the key from {place}"


def key_header(key: str, *, versioned: bool) -> dict[str, str]:
    """A key as it is sent. Servers with an API version in their address, such as Azure's, need another header."""
    return {"api-key": key} if versioned else {"Authorization": f"Bearer {key}"}


def _refuse_page(response: httpx.Response) -> None:
    if "html" in response.headers.get("content-type", ""):
        raise PolicyDenied("it sends a web page: name the address of an OpenAI-compatible server")


def _blocks(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    return cast("AsyncGenerator[bytes, None]", response.aiter_bytes())


async def _beginning(response: httpx.Response, seconds: float = CHECK_SECONDS, max_bytes: int = MAX_BODY_BYTES) -> str:
    """As much of the body as anybody needs."""
    kept = bytearray()
    try:
        async with asyncio.timeout(seconds), aclosing(_blocks(response)) as blocks:
            async for block in blocks:
                kept += block
                if len(kept) > max_bytes:
                    break
    except TimeoutError:
        raise PolicyUnavailable(f"it took longer than {seconds:g} seconds", 0.0) from None
    return kept[:max_bytes].decode("utf-8", "replace")


async def _drain(events: AsyncGenerator[str, None]) -> None:
    """Read to the end within a moment, so that the connection can be used again."""
    with suppress(TimeoutError, httpx.HTTPError, PolicyError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in events:
                pass


def is_loopback(url: str) -> bool:
    """Whether a server is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _cause(error: BaseException) -> str:
    """The text of the operating system, if there is one."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError) and found.errno:
            # Names that do not resolve have numbers below 0, which only their own text explains.
            return (os.strerror(found.errno) if found.errno > 0 else str(found.strerror)).lower()
        found = found.__cause__ or found.__context__
    return str(error) or type(error).__name__
