"""Connections to addresses that were judged.

A name is resolved here, every address that it has is judged, and the connection goes to one of those that were judged:
a name that answers otherwise a moment later gains nothing.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx

from service.errors import ServiceError
from service.net.address import Resolve, check_address

_MAX_ADDRESSES = 4
_LOOKUPS_AT_ONCE = 16


class AddressRefused(httpx.ConnectError):
    """The address may not be reached, or its name does not resolve; nothing was sent."""


class PinnedTransport(httpx.AsyncBaseTransport):
    """Checks the address of every request, and connects to what was checked; proxies are not used.

    Host header and TLS name stay those of the URL, so that certificates are verified as ever.

    Args:
        allow, private, resolve: as `check_address` takes them.
        connect: how an address is reached; over the network when None. It is closed with this one.
        keep: idle connections kept for the next request, for a client of one host; 0: each request has its own.
    """

    def __init__(
        self,
        *,
        allow: Sequence[str] = (),
        private: bool = False,
        resolve: Resolve | None = None,
        connect: httpx.AsyncBaseTransport | None = None,
        keep: int = 0,
    ) -> None:
        self._allow, self._private, self._resolve = allow, private, resolve
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=keep)
        self._connect = connect or httpx.AsyncHTTPTransport(limits=limits)
        # Threads of its own: names whose servers are slow shall hold up nothing else of the process.
        self._threads = ThreadPoolExecutor(_LOOKUPS_AT_ONCE, thread_name_prefix="addresses")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to one of the addresses of its host, the next one where one cannot be connected to.

        Raises:
            AddressRefused: one of the addresses may not be reached, or there is none.
        """
        addresses = await self._checked(request)
        for address in addresses[:-1]:
            try:
                return await self._connect.handle_async_request(_pinned(request, address))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue  # nothing was sent yet
        return await self._connect.handle_async_request(_pinned(request, addresses[-1]))

    async def aclose(self) -> None:
        """Close every connection."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self._connect.aclose()

    async def _checked(self, request: httpx.Request) -> Sequence[str]:
        check = partial(check_address, str(request.url), self._allow, self._private, self._resolve)
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._threads, check)
        except ServiceError as error:
            raise AddressRefused(str(error), request=request) from None
        return found[:_MAX_ADDRESSES]


def _pinned(request: httpx.Request, address: str) -> httpx.Request:
    # A zone, which a resolver may add to a link-local address, is no part of a URL's host.
    url = request.url.copy_with(host=address.partition("%")[0])
    extensions = {**request.extensions, "sni_hostname": request.url.host}
    return httpx.Request(request.method, url, headers=request.headers, stream=request.stream, extensions=extensions)
