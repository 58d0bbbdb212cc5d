"""The one way out of an agent's sandbox: a proxy that passes requests to the model server alone, and adds the key."""

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import h11
import httpx

from service.agents.request_limits import capped_request
from service.agents.tunnels import HostTunnels, TunnelRefusedError
from service.agents.usage import ReplyReader, SessionMeter
from service.policy.server import is_loopback, key_header
from service.sandbox.inside import loopback

# Key of an agent, which the proxy replaces by the real one.
PLACEHOLDER_KEY = "evolve"
_KEY_HEADERS = (b"x-api-key", b"x-goog-api-key", b"api-key")
_FORWARDED = {b"content-type", b"accept", b"user-agent"}
_FORWARDED_PREFIXES = (b"anthropic-", b"openai-", b"x-stainless-", b"x-goog-api-client")
_MAX_BODY, _READ_BYTES = 32 << 20, 1 << 16
# Requests in flight, by which a session can exceed its limits. Further ones wait, up to so many connections.
MAX_REQUESTS, MAX_CONNECTIONS = 16, 64
_IDLE_SECONDS, _CONNECT_SECONDS, _READ_SECONDS = 60.0, 30.0, 600.0
# Requests that are passed on: lists of models, completions, token counts and embeddings. A key opens more, such as the
# files of its account, and batches of requests whose tokens no reply tells.
_FREE_SUFFIXES = ("/count_tokens", ":countTokens")
_ENDPOINTS = {
    "GET": re.compile(r"/models(/[^/]+)*"),
    "POST": re.compile(
        r"/(chat/completions|completions|responses|responses/compact|messages|messages/count_tokens|embeddings"
        r"|models/[^/]+:(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents))"
    ),
}
_Headers = list[tuple[bytes, bytes]]


class RequestRefusedError(Exception):
    """A request that is not passed on.

    Attributes:
        status: of the reply.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class EgressProxy:
    """Passes requests of one sandbox to one model server, and joins it to hosts.

    Args:
        base_url: of the server, such as `https://api.openai.com/v1`; None: there is none.
        key: of the server; None: it needs none.
        transport: replaces the network connection.
        hosts: further hosts that may be reached by TLS, as `tunnels.read_host` takes them.

    Attributes:
        meter: of the session that uses it; None: no session does, and every request is refused.
    """

    def __init__(
        self,
        base_url: str | None,
        key: str | None,
        transport: httpx.AsyncBaseTransport | None = None,
        hosts: Sequence[str] = (),
    ) -> None:
        self.meter: SessionMeter | None = None
        self.tunnels = HostTunnels(hosts)
        self._serves = base_url is not None
        parts = urlsplit(base_url or "")
        self._origin, self._path, self._query = f"{parts.scheme}://{parts.netloc}", parts.path, parts.query
        self._version = "/" + parts.path.rpartition("/")[2]
        self._key = key
        timeout = httpx.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS)
        # A server on this machine is not reached through a proxy, whatever the environment says.
        trust_env = base_url is None or not is_loopback(base_url)
        self._client = httpx.AsyncClient(transport=transport, timeout=timeout, trust_env=trust_env)
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(MAX_REQUESTS)

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables by which agents find the proxy."""
        host, port = loopback.ADDRESS
        root = f"http://{host}:{port}"
        proxied = {"HTTPS_PROXY": root, "https_proxy": root, "NO_PROXY": host, "no_proxy": host} if self.tunnels else {}
        if not self._serves:
            return proxied
        return {
            **proxied,
            "OPENAI_BASE_URL": root + self._version,
            "OPENAI_API_BASE": root + self._version,
            "ANTHROPIC_BASE_URL": root,
            "GOOGLE_GEMINI_BASE_URL": root,
            "OPENAI_API_KEY": PLACEHOLDER_KEY,
            "ANTHROPIC_API_KEY": PLACEHOLDER_KEY,
            "GEMINI_API_KEY": PLACEHOLDER_KEY,
        }

    async def start(self, listening: socket.socket) -> None:
        """Serve what connects to a socket."""
        self._server = await asyncio.start_server(self._connected, sock=listening)

    async def end_session(self) -> None:
        """Close the connections of the session, count the replies in progress, and refuse requests until the next."""
        self.meter = None
        self.tunnels.begin_session()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def close(self) -> None:
        """Close every connection."""
        if self._server is not None:
            self._server.close()
        await self.end_session()
        await self._client.aclose()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) >= MAX_CONNECTIONS:
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            async with self._room:
                await _Exchange(reader, writer, self).serve()
        except (OSError, TimeoutError, h11.ProtocolError, httpx.HTTPError, asyncio.CancelledError):
            pass  # the agent sees its connection closed, or its session has ended
        finally:
            self._serving.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def admit(self) -> SessionMeter:
        """The meter of the session.

        Raises:
            RequestRefusedError: there is no session, or it has used what it may.
        """
        if self.meter is None:
            raise RequestRefusedError(403, "no session is open")
        if refusal := self.meter.refusal:
            raise RequestRefusedError(403, refusal)
        return self.meter

    def upstream(self, request: h11.Request, body: bytes) -> httpx.Request:
        """The request as the server gets it.

        Raises:
            RequestRefusedError: it asks for something else than the server.
        """
        if not self._serves:
            raise RequestRefusedError(403, "this agent has no model server: only its allow_hosts can be reached")
        target = request.target.decode("ascii", "replace")
        path, _, query = target.partition("?")
        if not path.startswith(self._version + "/") or any(mark in path.lower() for mark in ("..", "//", "\\", "%")):
            raise RequestRefusedError(403, f"only paths below {self._version}/ of the model server can be reached")
        method, endpoint = request.method.decode(), path.removeprefix(self._version)
        if method not in _ENDPOINTS or not _ENDPOINTS[method].fullmatch(endpoint):
            raise RequestRefusedError(403, "only models, completions and embeddings of the model server can be reached")
        pairs = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != "key"]
        query = "&".join(filter(None, [urlencode(pairs), self._query]))
        url = self._origin + self._path + endpoint + (f"?{query}" if query else "")
        headers = [
            *_forwarded_headers(request.headers),
            *self._authorization(request.headers),
            (b"accept-encoding", b"identity"),
        ]
        return self._client.build_request(method, url, headers=headers, content=body)

    async def send(self, request: httpx.Request) -> httpx.Response:
        """The server's reply, whose body is still to come.

        Raises:
            RequestRefusedError: the server cannot be reached.
        """
        try:
            return await self._client.send(request, stream=True)
        except httpx.HTTPError as error:
            raise RequestRefusedError(502, f"the model server cannot be reached: {type(error).__name__}") from error

    def _authorization(self, headers: Iterable[tuple[bytes, bytes]]) -> _Headers:
        """The key, where the agent put its own."""
        if self._key is None:
            return []
        for name, _ in headers:
            if name in _KEY_HEADERS:
                return [(name, self._key.encode())]
        header = key_header(self._key, versioned=bool(self._query))
        return [(name.encode(), value.encode()) for name, value in header.items()]


class _Exchange:
    """One request and its reply."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, proxy: EgressProxy) -> None:
        self._reader, self._writer, self._proxy = reader, writer, proxy
        self._http = h11.Connection(h11.SERVER)

    async def serve(self) -> None:
        """Read the request, and pass it on or refuse it."""
        try:
            async with asyncio.timeout(_IDLE_SECONDS):
                request, body = await self._request()
            if request.method == b"CONNECT":
                await self._tunnel(request)
                return
            meter = self._proxy.admit()
            reader = ReplyReader(body, free=_is_free(request))
            path = request.target.partition(b"?")[0].decode("ascii", "replace")
            body = capped_request(body, path, meter.room(reader.asked))
            sent = self._proxy.upstream(request, _asking_for_usage(body, request.target))
            try:
                response = await self._proxy.send(sent)
            except asyncio.CancelledError:  # the session ends, and the server works on the request
                meter.add(reader.usage(complete=False))
                raise
        except (RequestRefusedError, TunnelRefusedError) as error:
            await self._refuse(error.status, str(error))
            return
        try:
            await self._reply(response, reader, meter)
        finally:
            await response.aclose()

    async def _request(self) -> tuple[h11.Request, bytes]:
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    await self._send(h11.InformationalResponse(status_code=100, headers=[]))
                self._http.receive_data(await self._reader.read(_READ_BYTES))
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > _MAX_BODY:
                    raise RequestRefusedError(413, "the request is too large")
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return head, bytes(body)
            else:
                raise ConnectionResetError("the agent closed its connection")

    async def _reply(self, response: httpx.Response, reader: ReplyReader, meter: SessionMeter) -> None:
        """Pass the reply on, and count it before its last part is sent: its end lets the agent ask again."""
        kind = response.headers.get("content-type", "application/json")
        headers = [(b"content-type", kind.encode()), (b"connection", b"close")]
        last, complete = b"", False
        try:
            await self._send(h11.Response(status_code=response.status_code, headers=headers))
            async for part in response.aiter_bytes():
                reader.feed(part)
                await self._send(h11.Data(data=last))
                last = part
            complete = True
        finally:
            if response.status_code < 400:
                meter.add(reader.usage(complete=complete))
        await self._send(h11.Data(data=last))
        await self._send(h11.EndOfMessage())

    async def _tunnel(self, request: h11.Request) -> None:
        """Join the agent to a host that it may reach."""
        if self._proxy.meter is None:
            raise RequestRefusedError(403, "no session is open")
        outside = await self._proxy.tunnels.open(request.target.decode("ascii", "replace"))
        await self._send(h11.Response(status_code=200, headers=[], reason=b"Connection established"))
        begun, _ = self._http.trailing_data
        await self._proxy.tunnels.join((self._reader, self._writer), outside, begun)

    async def _refuse(self, status: int, reason: str) -> None:
        body = json.dumps({"error": {"message": reason, "type": "evolve_refused"}}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self._send(h11.Response(status_code=status, headers=[*headers, (b"connection", b"close")]))
        await self._send(h11.Data(data=body))
        await self._send(h11.EndOfMessage())

    async def _send(self, event: Any) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)
            await self._writer.drain()


def _is_free(request: h11.Request) -> bool:
    return request.method == b"GET" or request.target.partition(b"?")[0].decode("ascii", "replace").endswith(
        _FREE_SUFFIXES
    )


def _forwarded_headers(headers: Iterable[tuple[bytes, bytes]]) -> _Headers:
    return [(name, value) for name, value in headers if name in _FORWARDED or name.startswith(_FORWARDED_PREFIXES)]


def _asking_for_usage(body: bytes, target: bytes) -> bytes:
    """The body, in which a streaming chat completion is asked for its usage: servers leave it out otherwise."""
    if not target.partition(b"?")[0].endswith(b"/chat/completions"):
        return body
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(asked, dict) or not asked.get("stream"):
        return body
    options = asked.get("stream_options")
    asked["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
    return json.dumps(asked).encode()
