"""Addresses that others name: which of them this service may speak to."""

import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any
from urllib.parse import SplitResult, urlsplit

from service.errors import RefusedError, UnreachableError, UsageError

Resolve = Callable[[str, int], Sequence[str]]

_PORTS = {"http": 80, "https": 443}
# Whoever runs the servers of a name decides how long they take to answer: nobody is kept for longer than this.
RESOLVE_SECONDS = 5.0
_MAX_LOOKUPS = 32
_LOOKUPS = threading.BoundedSemaphore(_MAX_LOOKUPS)
_MAX_CHARACTERS = 2048
_MAX_SHOWN = 100
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
# What other resolvers read as a number, as `0x7f.1` and `2130706433`, ends in one of these.
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def _networks(*texts: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


# Of the registries of special-purpose addresses (RFC 6890 and its updates): what is somebody's own network ...
_PRIVATE = _networks(
    "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "100.64.0.0/10", "::1/128", "fc00::/7"
)  # fmt: skip
# ... and what no server that is meant can have: link-local, multicast, reserved, documentation, relays.
_NEVER = _networks(
    "0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)  # fmt: skip
# Where clouds tell a machine its secrets, wherever they lie.
_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("168.63.129.16", "169.254.169.254", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254")
)
_GLOBAL6 = ipaddress.IPv6Network("2000::/3")
# RFC 4291 (IPv4-mapped) and RFC 6052 (NAT64): the last 32 bits are an IPv4 address, and that is what is reached.
_EMBEDDING = (ipaddress.IPv6Network("::ffff:0:0/96"), ipaddress.IPv6Network("64:ff9b::/96"))

HTTPS = 443
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_NUMBERS = re.compile(r"[0-9.]+")


def check_address(
    url: str, allow: Sequence[str] = (), private: bool = False, resolve: Resolve | None = None
) -> tuple[str, ...]:
    """The addresses of an http or https URL, each of which may be connected to.

    Args:
        url: what somebody named.
        allow: hosts, `HOST:PORT`, or beginnings of URLs that may be reached wherever they lie.
        private: whether private, loopback and shared (CGNAT) addresses may be reached. Link-local, multicast and
            reserved ones, and those where clouds keep their metadata, need to be in `allow`.
        resolve: gives the addresses of a host; the system's when None.

    Raises:
        UsageError: it is no such URL, or its host is spelt so that others read another address.
        RefusedError: one of its addresses may not be reached.
        UnreachableError: the name does not resolve.
    """
    parts = _parts(url)
    host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
    literal = _literal(host)
    addresses = (host,) if literal else tuple(dict.fromkeys((resolve or resolve_host)(host, port)))
    if not addresses:
        raise UnreachableError(f"the address {_shown(url)} is not there: the name {host} has no address")
    if not _allowed(parts, allow):
        for address in addresses:
            if reason := judge(address, private=private):
                which = "" if address == host else f" of {host}"
                raise RefusedError(f"the address {address}{which} may not be reached from here: it is {reason}")
    return addresses


def check_entry(entry: str) -> str:
    """An entry of a list of what may be reached, as `check_address` takes it.

    Raises:
        ValueError: it is no host, no `HOST:PORT` and no URL.
    """
    text = entry.strip()
    try:
        _parts(text if "://" in text else f"http://{text}")
    except UsageError as error:
        raise ValueError(str(error)) from None
    if "://" not in text and "/" in text:
        raise ValueError(f"{_shown(text)} is a host with a path: write a URL")
    return text


def judge(address: str, *, private: bool) -> str:
    """Why an IP address may not be reached; empty: it may."""
    try:
        found = _meant(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return "no IP address"
    if found in _METADATA:
        return "where clouds keep their metadata"
    if any(found in network for network in _PRIVATE if network.version == found.version):
        return "" if private else "a private address"
    if found.is_link_local:
        return "a link-local address"
    if any(found in network for network in _NEVER if network.version == found.version):
        return "a reserved address"
    return "" if found.version == 4 or found in _GLOBAL6 else "a reserved address"


def is_own_address(address: str) -> bool:
    """Whether an IP address means this machine."""
    return _meant(ipaddress.ip_address(address.partition("%")[0])).is_loopback


def resolve_host(host: str, port: int) -> list[str]:
    """Addresses of a host, by the system's resolver.

    Raises:
        UnreachableError: the name does not resolve, or not in time.
    """
    try:
        found = _look_up(host, port).result(RESOLVE_SECONDS)
    except TimeoutError as error:
        raise UnreachableError(
            f"the name {host} does not resolve: its servers did not answer within {RESOLVE_SECONDS:g} seconds"
        ) from error
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is no name"
        raise UnreachableError(f"the name {host} does not resolve: {reason.lower()}") from error
    return [str(entry[4][0]) for entry in found]


def _look_up(host: str, port: int) -> Future[Sequence[tuple[Any, ...]]]:
    """Ask the resolver in a thread of its own, which cannot be interrupted, and which nobody need wait for."""
    answer: Future[Sequence[tuple[Any, ...]]] = Future()
    room = _LOOKUPS
    if not room.acquire(timeout=RESOLVE_SECONDS):
        answer.set_exception(TimeoutError())
        return answer

    def ask() -> None:
        try:
            answer.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is waited for
            answer.set_exception(error)
        finally:
            room.release()

    threading.Thread(target=ask, name="lookup", daemon=True).start()
    return answer


def _parts(url: str) -> SplitResult:
    """A URL in parts; only what every reader of URLs reads alike."""
    if len(url) > _MAX_CHARACTERS or not url.isascii() or not url.isprintable() or set(url) & set(' \\"<>^`{|}'):
        raise UsageError(f"the address {_shown(url)} holds what no address does: write it in plain characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"the address {_shown(url)} cannot be read: {error}") from error
    if parts.scheme not in _PORTS or not parts.hostname:
        raise UsageError(f"the address {_shown(url)} must begin with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise UsageError("an address must hold no user and no password")
    if port == 0 or parts.netloc.endswith(":"):
        raise UsageError(f"the address {_shown(url)} has no such port")
    _refuse_odd_host(parts)
    return parts


def _refuse_odd_host(parts: SplitResult) -> None:
    host = str(parts.hostname)
    if _literal(host) and ("[" in parts.netloc or ":" not in host):
        return
    labels = host.removesuffix(".").split(".")
    if len(host) > 253 or "[" in parts.netloc or not all(_LABEL.fullmatch(label) for label in labels):
        raise UsageError(f"the host {_shown(host)} is no name and no IP address")
    if _NUMERIC.fullmatch(labels[-1]):
        raise UsageError(f"the host {_shown(host)} is no IP address in its usual form: write it as 203.0.113.7")


def _literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return "%" not in host


def _meant(address: IPAddress) -> IPAddress:
    if isinstance(address, ipaddress.IPv6Address) and any(address in network for network in _EMBEDDING):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _allowed(parts: SplitResult, allow: Sequence[str]) -> bool:
    return any(_covers(entry.strip(), parts) for entry in allow)


def _covers(entry: str, parts: SplitResult) -> bool:
    """Whether an entry of a list, a host with or without port or the beginning of a URL, covers an address."""
    named = urlsplit(entry if "://" in entry else f"//{entry}")
    port = parts.port or _PORTS[parts.scheme]
    if not named.hostname or _plain(named.hostname) != _plain(str(parts.hostname)):
        return False
    if not named.scheme:
        return named.port in (None, port)
    path = named.path.rstrip("/")
    segments = parts.path.split("/")
    below = parts.path == path or parts.path.startswith(f"{path}/")
    return (
        named.scheme == parts.scheme
        and (named.port or _PORTS.get(named.scheme)) == port
        and below
        and not (path and {"..", "."} & set(segments))
        and not (path and "%" in parts.path)
    )


def _plain(host: str) -> str:
    return host.lower().removesuffix(".")


def _shown(text: str) -> str:
    plain = text.rpartition("@")[2] if "@" in text else text
    return repr(plain if len(plain) <= _MAX_SHOWN else f"{plain[:_MAX_SHOWN]}...")


def read_host(text: str) -> tuple[str, int]:
    """The host and the port of an entry: `HOST` or `HOST:PORT`.

    Raises:
        ValueError: it is no name of a host. Addresses are none.
    """
    name, colon, port = text.strip().lower().partition(":")
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 0
    if not _NAME.fullmatch(name) or _NUMBERS.fullmatch(name) or (colon and not 0 < number < 65536):
        raise ValueError(f"{text[:80]!r} is not the name of a host: write it as in packages.example:443")
    return name, number or HTTPS
