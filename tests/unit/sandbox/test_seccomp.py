"""The filter, run by an interpreter of its own language, and its numbers against the kernel's headers."""

import errno
import re
import struct
from pathlib import Path

import pytest

from service.sandbox.inside.seccomp import ARCHITECTURES, Architecture, program

KILL, ALLOW = 0x80000000, 0x7FFF0000
REFUSED, ABSENT, UNSUPPORTED = (0x00050000 | number for number in (errno.EPERM, errno.ENOSYS, errno.ENOTSUP))
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
READ = {"x86_64": 0, "aarch64": 63}


def verdict(code: bytes, number: int, arguments: tuple[int, ...] = (), audit: int = 0) -> int:
    """What the kernel's machine makes of a system call: linux/filter.h, the five instructions we use."""
    data = struct.pack("<IIQ6Q", number, audit, 0, *(arguments + (0,) * 6)[:6])
    place = accumulator = 0
    while True:
        opcode, true, false, value = struct.unpack_from("HBBI", code, 8 * place)
        place += 1
        if opcode == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif opcode == 0x06:
            return int(value)
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[opcode]
            place += true if holds else false


@pytest.fixture(params=sorted(ARCHITECTURES))
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def of(machine: str) -> Architecture:
    return ARCHITECTURES[machine]


def test_exactly_the_denied_calls_are_denied(machine: str) -> None:
    table, code = of(machine), program(machine=machine)
    refused = {*table.denied.values(), *table.sockets.values()}
    absent = set(table.absent.values())
    of_the_caller = {number: (permitted[0], permitted.get(1, 0)) for number, permitted in table.caller_only.values()}
    expected_of = dict.fromkeys(refused, REFUSED) | dict.fromkeys(table.attributes.values(), UNSUPPORTED)
    for number in range(1024):
        expected = ABSENT if number in absent or number > 467 else expected_of.get(number, ALLOW)
        assert verdict(code, number, of_the_caller.get(number, ()), audit=table.audit) == expected, number


def test_a_wish_for_a_larger_buffer_of_a_socket_has_no_effect(machine: str) -> None:
    table, code = of(machine), program(machine=machine)
    for level, option, expected in ((1, 7, 0x00050000), (1, 8, ALLOW), (6, 7, ALLOW), (1, 2, ALLOW)):
        assert verdict(code, table.setsockopt, (3, level, option), audit=table.audit) == expected


def test_another_architectures_calls_kill(machine: str) -> None:
    others = [other.audit for name, other in ARCHITECTURES.items() if name != machine]
    code = program(machine=machine)
    assert {verdict(code, READ[machine], audit=audit) for audit in [*others, 0x40000003]} == {KILL}
    assert verdict(code, 0x40000000, audit=of(machine).audit) == KILL, "the x32 numbers"


def test_namespaces_and_terminal_input_are_denied_by_argument(machine: str) -> None:
    table, code = of(machine), program(machine=machine)
    for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(code, table.clone, (flag | 17,), table.audit) == REFUSED
    threads = 0x00000100 | 0x00000200 | 0x00000400 | 0x00000800 | 0x00010000 | 0x00040000 | 0x00080000
    assert verdict(code, table.clone, (threads,), table.audit) == ALLOW
    assert verdict(code, table.clone, (17,), table.audit) == ALLOW
    assert verdict(code, table.ioctl, (0, 0x5412), table.audit) == REFUSED
    assert verdict(code, table.ioctl, (0, 0x541C), table.audit) == REFUSED
    assert verdict(code, table.ioctl, (0, 0x5401), table.audit) == ALLOW


def test_calls_that_name_a_process_are_allowed_for_the_caller_alone(machine: str) -> None:
    table, code = of(machine), program(machine=machine)
    for name, (number, permitted) in table.caller_only.items():
        own = [permitted.get(place, 7) for place in range(6)]
        assert verdict(code, number, tuple(own), table.audit) == ALLOW, name
        for place in permitted:
            for value in (1, 2, 3, 4711, 0xFFFFFFFF):
                if value != permitted[place]:
                    other = (*own[:place], value, *own[place + 1 :])
                    assert verdict(code, number, other, table.audit) == REFUSED, (name, place, value)


def test_no_file_sends_its_signals_to_another_process(machine: str) -> None:
    table, code = of(machine), program(machine=machine)
    assert {verdict(code, table.fcntl, (0, command), table.audit) for command in (8, 15)} == {REFUSED}
    assert {verdict(code, table.fcntl, (0, command), table.audit) for command in (1, 2, 3, 4, 9, 1030)} == {ALLOW}
    assert {verdict(code, table.ioctl, (0, command), table.audit) for command in (0x8901, 0x8902)} == {REFUSED}


def test_a_pair_of_sockets_sends_to_its_peer_alone(machine: str) -> None:
    """A datagram socket of a pair sends to any address, without a call that could be refused."""
    table, code, online = of(machine), program(machine=machine), program(network=True, machine=machine)
    flags = 0o2000000 | 0o4000
    for kind, expected in ((1, ALLOW), (5, ALLOW), (2, REFUSED), (3, REFUSED)):
        assert verdict(code, table.socketpair, (1, kind | flags), table.audit) == expected, kind
        assert verdict(online, table.socketpair, (1, kind | flags), table.audit) == ALLOW


def test_files_are_not_leased_and_not_watched(machine: str) -> None:
    table, code = of(machine), program(machine=machine)
    assert {verdict(code, table.fcntl, (0, command), table.audit) for command in (1024, 1026)} == {REFUSED}
    assert {verdict(code, table.denied[name], (), table.audit) for name in table.denied if "notify" in name} == {
        REFUSED
    }


def test_modes_and_owners_of_files_are_a_switch(machine: str) -> None:
    table = of(machine)
    kept, free = program(keep_modes=True, machine=machine), program(machine=machine)
    assert {verdict(kept, number, audit=table.audit) for number in table.modes.values()} == {0x00050000}, "no effect"
    assert {verdict(kept, number, audit=table.audit) for number in table.owners.values()} == {REFUSED}
    both = {**table.modes, **table.owners}
    assert {verdict(free, number, audit=table.audit) for number in both.values()} == {ALLOW}


def test_nobody_sets_attributes_of_files(machine: str) -> None:
    """Whoever may write a file may set them, whomever it belongs to."""
    table, code = of(machine), program(machine=machine)
    assert len(table.attributes) == 8
    assert {verdict(code, number, audit=table.audit) for number in table.attributes.values()} == {UNSUPPORTED}


def test_network_and_signals_are_switches(machine: str) -> None:
    table = of(machine)
    online, silent = program(network=True, machine=machine), program(signals_of=42, machine=machine)
    assert {verdict(online, number, audit=table.audit) for number in table.sockets.values()} == {ALLOW}
    assert {verdict(silent, number, (42,), table.audit) for number in table.signals.values()} == {REFUSED}
    assert {verdict(silent, number, (42, 43), table.audit) for number in table.own_signals.values()} == {ALLOW}
    assert {verdict(silent, number, (41, 41), table.audit) for number in table.own_signals.values()} == {REFUSED}


def test_with_a_device_a_program_may_listen_locally_and_reach_nobody(machine: str) -> None:
    """CUDA listens from its start on, and does not start if it cannot."""
    table, code = of(machine), program(devices=True, machine=machine)
    flags = 0o2000000 | 0o4000
    for family, kind, expected in (
        (1, 1, ALLOW), (1, 5, ALLOW), (1, 2, REFUSED), (1, 3, REFUSED),
        (2, 1, REFUSED), (10, 1, REFUSED), (16, 5, REFUSED), (40, 1, REFUSED),
    ):  # fmt: skip
        assert verdict(code, table.sockets["socket"], (family, kind | flags), table.audit) == expected, (family, kind)
    for name, number in table.sockets.items():
        expected = ALLOW if name in ("bind", "listen") else REFUSED
        assert name == "socket" or verdict(code, number, (), table.audit) == expected, name
    online = program(devices=True, network=True, machine=machine)
    assert {verdict(online, number, (2, 1), table.audit) for number in table.sockets.values()} == {ALLOW}


def test_an_unknown_architecture_is_named() -> None:
    with pytest.raises(OSError, match="the system calls of sparc64 are not known here"):
        program(machine="sparc64")


def test_the_numbers_are_the_kernels(machine: str) -> None:
    header = HEADERS[machine]
    if not header.exists():
        pytest.skip(f"{header} is not installed")
    found = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text()))
    table = of(machine)
    ours = {
        **table.denied,
        **table.sockets,
        **table.owners,
        **table.modes,
        **table.signals,
        **table.absent,
        **table.own_signals,
        **{name: number for name, (number, _) in table.caller_only.items()},
        "clone": table.clone,
        "ioctl": table.ioctl,
        "fcntl": table.fcntl,
        "socketpair": table.socketpair,
    }
    known = {name: number for name, number in ours.items() if name in found}
    assert len(known) > 60
    assert known == {name: int(found[name]) for name in known}
