"""No spelling of an address that others name leads to what lies behind the service."""

import ipaddress
import socket
import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import RefusedError, UnreachableError, UsageError
from service.net import Resolve, address, check_address, check_entry, judge
from service.net.address import resolve_host

PUBLIC = "93.184.215.14"


def unasked(host: str, port: int) -> Sequence[str]:
    raise AssertionError(f"{host}:{port} was looked up")


def always(address: str) -> Resolve:
    return lambda *_: [address]


def names(**known: Sequence[str]) -> Resolve:
    def resolve(host: str, port: int) -> Sequence[str]:
        del port
        return known.get(host.replace(".", "_"), ())

    return resolve


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
        "[::1]", "[fc00::1]", "[fd12:3456::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:192.168.0.1]",
        "[0:0:0:0:0:ffff:0a00:0001]", "[64:ff9b::10.0.0.1]", "[64:ff9b::7f00:1]",
    ],
)  # fmt: skip
def test_private_addresses_are_refused_unless_they_are_permitted(host: str) -> None:
    with pytest.raises(RefusedError, match="may not be reached from here: it is a private address"):
        check_address(f"http://{host}:8000/v1", resolve=unasked)
    assert check_address(f"http://{host}:8000/v1", private=True, resolve=unasked)


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.0.1", "168.63.129.16", "100.100.100.200", "192.0.0.192",
        "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.255.255.255",
        "240.0.0.1", "255.255.255.255", "[::]", "[fe80::1]", "[febf::1]", "[ff02::1]", "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]", "[::ffff:0.0.0.0]", "[64:ff9b::a9fe:a9fe]", "[::127.0.0.1]", "[::7f00:1]",
        "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2001::1]", "[2001:db8::1]", "[3fff::1]", "[fec0::1]", "[100::1]",
        "[5f00::1]", "[4000::1]",
    ],
)  # fmt: skip
def test_addresses_that_no_server_has_are_refused_even_where_private_ones_are_permitted(host: str) -> None:
    with pytest.raises(RefusedError):
        check_address(f"http://{host}/", private=True, resolve=unasked)


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/", "http://017700000001/", "http://0x7f000001/", "http://0x7f.1/", "http://127.1/",
        "http://127.0.1/", "http://0177.0.0.1/", "http://127.0.0.01/", "http://127.0.0.0x1/", "http://1.2.3.4.5/",
        "http://127.0.0.1./", "http://0/", "http://0x/", "http://256.1.1.1/", "http://a.b.1/",
        "http://[fe80::1%25eth0]/", "http://[::1%eth0]/", "http://::1/", "http://[v1.x]/", "http://[::1/",
        "http://user@example.com/", "http://user:pw@example.com/", "http://@example.com/", "http://:@example.com/",
        "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "//example.com/", "example.com", "",
        "http:///path", "http://", "https:example.com", "http://example.com:0/", "http://example.com:/",
        "http://example.com:65536/", "http://example.com:-1/", "http://example.com:8x/",
        "http://exa mple.com/", "http://example.com\t/", "http://example.com\n/", "http://example.com\0/",
        "http://example.com\\@127.0.0.1/", "http://127.0.0.1\\.example.com/", "http://ex%61mple.com/",
        "http://１２７.0.0.1/", "http://①②⑦.0.0.1/", "http://127。0。0。1/", "http://bücher.example/",
        "http://a..b/", "http://.a/", "http://-a.example/", "http://a_.-b/", f"http://{'a' * 64}.example/",
        "http://" + "a" * 3000, f"http://{'.'.join(['abcdefgh'] * 40)}/", "http://<script>/", "http://a|b/",
    ],
)  # fmt: skip
def test_what_readers_of_addresses_might_read_differently_is_no_address(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_address(url, private=True, resolve=unasked)
    assert "pw" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_all_addresses_of_a_name_must_be_fit() -> None:
    resolve = names(mixed_example=[PUBLIC, "10.0.0.7"], good_example=[PUBLIC, "2606:4700::1111", PUBLIC])
    assert check_address("https://good.example/hook?x=1", resolve=resolve) == (PUBLIC, "2606:4700::1111")
    with pytest.raises(RefusedError, match=r"10\.0\.0\.7 of mixed\.example"):
        check_address("https://mixed.example/", resolve=resolve)
    with pytest.raises(UnreachableError, match="has no address"):
        check_address("https://nobody.example/", resolve=resolve)


@pytest.mark.parametrize("found", ["::1", "fe80::1%eth0", "127.0.0.1", "::ffff:10.0.0.1", "no address", ""])
def test_what_a_resolver_answers_is_judged_as_well(found: str) -> None:
    with pytest.raises(RefusedError):
        check_address("http://name.example/", resolve=always(found))


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("vllm", "http://vllm/v1"), ("vllm", "https://vllm:8000/v1"), ("VLLM.", "http://vllm:9/"),
        ("vllm:8000", "http://vllm:8000/v1"), ("vllm:80", "http://vllm/v1"), ("vllm:443", "https://vllm/"),
        ("http://vllm:8000/v1", "http://vllm:8000/v1"), ("http://vllm:8000/v1/", "http://vllm:8000/v1/models"),
        ("http://vllm", "http://vllm:80/a/b"), ("10.0.0.1:8000", "http://10.0.0.1:8000/v1"),
        ("169.254.169.254", "http://169.254.169.254/"), ("[::1]:8000", "http://[::1]:8000/"),
    ],
)  # fmt: skip
def test_what_the_operator_lists_may_lie_anywhere(entry: str, url: str) -> None:
    assert check_entry(entry)
    assert check_address(url, allow=["other.example", entry], resolve=always("169.254.1.1"))


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("vllm:8000", "http://vllm:8001/"), ("vllm", "http://evil.vllm/"), ("vllm", "http://vllm.evil/"),
        ("http://vllm:8000/v1", "https://vllm:8000/v1"), ("http://vllm:8000/v1", "http://vllm:8000/v10"),
        ("http://vllm:8000/v1", "http://vllm:8000/"), ("http://vllm:8000/v1", "http://vllm:8000/v1/../admin"),
        ("http://vllm:8000/v1", "http://vllm:8000/v1/%2e%2e/admin"), ("http://vllm/v1", "http://vllm:8000/v1"),
        ("10.0.0.1", "http://10.0.0.11/"),
    ],
)  # fmt: skip
def test_an_entry_covers_no_more_than_it_says(entry: str, url: str) -> None:
    with pytest.raises(RefusedError):
        check_address(url, allow=[entry], resolve=always("10.0.0.9"))


@pytest.mark.parametrize("entry", ["", "a b", "vllm:x", "vllm/v1", "ftp://vllm", "http://u:p@vllm", "127.1"])
def test_an_entry_that_can_cover_nothing_is_refused(entry: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - its text is the address's
        check_entry(entry)


@given(st.ip_addresses(v=4))
def test_ipv4_is_judged_as_the_standard_library_does(address: ipaddress.IPv4Address) -> None:
    """Whatever the standard library calls no global address is refused; the relay network besides, and clouds' own."""
    if not address.is_global or address.is_multicast:
        assert judge(str(address), private=False)


@given(st.ip_addresses(v=4))
def test_an_embedded_address_is_judged_as_itself(address: ipaddress.IPv4Address) -> None:
    for prefix in (0xFFFF << 32, 0x64FF9B << 96):
        embedded = ipaddress.IPv6Address(prefix | int(address))
        assert judge(str(embedded), private=False) == judge(str(address), private=False)


@given(st.ip_addresses(v=6, network="2000::/3"))
def test_ipv6_is_judged_as_the_standard_library_does(address: ipaddress.IPv6Address) -> None:
    if not address.is_global:
        assert judge(str(address), private=False)


def test_the_systems_resolver_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(resolve_host("localhost", 80)) <= {"127.0.0.1", "::1"}

    def refuse(*args: object, **words: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(UnreachableError, match=r"the name nobody\.example does not resolve: name or service not known"):
        resolve_host("nobody.example", 80)


def test_a_name_whose_servers_do_not_answer_keeps_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = threading.Event()

    def silent(*_: object, **__: object) -> list[object]:
        answer.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    monkeypatch.setattr(address, "RESOLVE_SECONDS", 0.01)
    monkeypatch.setattr(address, "_LOOKUPS", threading.BoundedSemaphore(2))
    try:
        for _ in range(4):  # more than may be looked up at once
            with pytest.raises(UnreachableError, match=r"slow\.example does not resolve: its servers did not answer"):
                resolve_host("slow.example", 80)
    finally:
        answer.set()
