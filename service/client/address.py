"""Where a service is, and with what a client shows itself: never over plain HTTP to another machine."""

import ipaddress
from collections.abc import Generator
from typing import Any

import httpx

from service.errors import UsageError

EXAMPLE = "name one such as https://evolve.example"
TIMEOUT = httpx.Timeout(30.0, connect=5.0, write=120.0)


class Bearer(httpx.Auth):
    """A key that shows itself to the service alone."""

    def __init__(self, key: str) -> None:
        self._header = f"Bearer {key}"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Put the key on a request."""
        request.headers["Authorization"] = self._header
        yield request

    def __repr__(self) -> str:
        return "Bearer(...)"


def checked_address(text: str, *, allow_http: bool) -> httpx.URL:
    """The address of a service.

    Raises:
        UsageError: it is none, holds a password, or would carry the key in the clear.
    """
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL as error:
        raise UsageError(f"the address of the service cannot be read: {EXAMPLE}") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise UsageError(f"the address of the service is none: {EXAMPLE}")
    if url.userinfo or url.query or url.fragment:
        raise UsageError(f"the address of the service holds more than host, port and path: {EXAMPLE}")
    if url.scheme == "http" and not allow_http and not _loopback(url.host):
        raise UsageError(f"a key is not sent to {url.host} in the clear: name an address that begins with https://")
    return url


def options(server: str, key: str | httpx.Auth, *, allow_http: bool) -> dict[str, Any]:
    """What both kinds of a client of httpx are made with.

    Raises:
        UsageError: the address or the key cannot be used.
    """
    url = checked_address(server, allow_http=allow_http)
    return {
        "base_url": url,
        "auth": key if isinstance(key, httpx.Auth) else _bearer(key),
        "timeout": TIMEOUT,
        "follow_redirects": False,
        # A proxy that the environment names would see a key that is sent without TLS.
        "trust_env": url.scheme == "https",
    }


def _bearer(key: str) -> Bearer:
    if not (key.isascii() and key.isprintable()) or not key or " " in key:
        raise UsageError("the key of the service is none: one line of printable characters without spaces is wanted")
    return Bearer(key)


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
