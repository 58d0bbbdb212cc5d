"""Seccomp: system calls that no program under test has any business with.

Denied calls fail with EPERM, calls that a library probes for and calls newer than these tables with ENOSYS, so that
programs fall back instead of dying. Calls that change a file's mode or times, where they are denied, do nothing and
succeed: copying a file makes them. So do those that ask for a larger buffer of a socket. Sources: linux/filter.h,
linux/seccomp.h, the kernel's tables of system calls.
"""

import ctypes
import errno
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import kernel

_LOAD, _EQUAL, _MINIMUM, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ALLOW, _ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD = 0, 4, 16, 24, 32
_ARGUMENT_BYTES = 8
_NEW_NAMESPACES = 0x7E020000 | 0x00000080
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FIOSETOWN, _SIOCSPGRP = 0x8901, 0x8902
_FS_IOC_SETFLAGS, _FS_IOC_FSSETXATTR = 0x40086602, 0x401C5820
# Of fcntl: who gets a file's signals, leases (they stall whoever opens the file), news of changes in a folder.
_F_SETOWN, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY = 8, 15, 1024, 1026
_IOCTLS = (_TIOCSTI, _TIOCLINUX, _FIOSETOWN, _SIOCSPGRP, _FS_IOC_SETFLAGS, _FS_IOC_FSSETXATTR)
# The bit that SOCK_DGRAM and SOCK_RAW have: such a socket of a pair sends to any address, not to its peer alone.
_DATAGRAM = 2
# Families of addresses that a network namespace keeps inside: IPv4, IPv6, and what the kernel tells of interfaces.
_INTERNET = (2, 10, 16)
# Sockets inside of the machine, and what CUDA does with one: libcuda listens on it for processes that share memory.
_LOCAL, _LISTENING = (1,), ("socket", "bind", "listen")
# The kernel takes a size of a buffer for a wish; its memory is charged to nobody.
_SOL_SOCKET, _SO_SNDBUF = 1, 7
_IOPRIO_WHO_PROCESS = 1
_X32 = 0x40000000
_LEAF = 4
Instruction = tuple[int, int, int, int]
Conditions = dict[str, tuple[int, dict[int, int]]]
_NEWEST = 467  # numbers are the same on every architecture since 424

# Since 424 the numbers are common to all architectures.
_COMMON = {
    "pidfd_getfd": 438, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "process_madvise": 440,
    "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447, "process_mrelease": 448,
    "open_tree_attr": 467,
}  # fmt: skip
_X86_64 = {
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "bpf": 321,
    "perf_event_open": 298, "userfaultfd": 323, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
    "unshare": 272, "setns": 308, "keyctl": 250, "add_key": 248, "request_key": 249, "open_by_handle_at": 304,
    "name_to_handle_at": 303, "init_module": 175, "finit_module": 313, "delete_module": 176, "kexec_load": 246,
    "kexec_file_load": 320, "reboot": 169, "swapon": 167, "swapoff": 168, "sethostname": 170, "setdomainname": 171,
    "acct": 163, "settimeofday": 164, "clock_settime": 227, "adjtimex": 159, "clock_adjtime": 305, "quotactl": 179,
    "syslog": 103, "personality": 135, "fanotify_init": 300, "shmget": 29, "msgget": 68,
    "semget": 64, "vhangup": 153, "lookup_dcookie": 212, "migrate_pages": 256, "move_pages": 279, "nfsservctl": 180,
    "uselib": 134, "modify_ldt": 154, "iopl": 172, "ioperm": 173, "inotify_init": 253, "inotify_add_watch": 254,
    "inotify_init1": 294,
}  # fmt: skip
_AARCH64 = {
    "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "bpf": 280,
    "perf_event_open": 241, "userfaultfd": 282, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
    "unshare": 97, "setns": 268, "keyctl": 219, "add_key": 217, "request_key": 218, "open_by_handle_at": 265,
    "name_to_handle_at": 264, "init_module": 105, "finit_module": 273, "delete_module": 106, "kexec_load": 104,
    "kexec_file_load": 294, "reboot": 142, "swapon": 224, "swapoff": 225, "sethostname": 161, "setdomainname": 162,
    "acct": 89, "settimeofday": 170, "clock_settime": 112, "adjtimex": 171, "clock_adjtime": 266, "quotactl": 60,
    "syslog": 116, "personality": 92, "fanotify_init": 262, "shmget": 194, "msgget": 186,
    "semget": 190, "vhangup": 58, "lookup_dcookie": 18, "migrate_pages": 238, "move_pages": 239, "nfsservctl": 42,
    "inotify_init1": 26, "inotify_add_watch": 27,
}  # fmt: skip
_SOCKETS_X86_64 = {"socket": 41, "connect": 42, "accept": 43, "bind": 49, "listen": 50, "accept4": 288}
_SOCKETS_AARCH64 = {"socket": 198, "bind": 200, "listen": 201, "accept": 202, "connect": 203, "accept4": 242}
# Changes of files wherever they are, for Landlock covers none of them: whoever may write a file sets its attributes,
# and its owner the rest.
_ATTRIBUTES_X86_64 = {
    "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199,
    "setxattrat": 463, "removexattrat": 466,
}  # fmt: skip
_ATTRIBUTES_AARCH64 = {
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
    "setxattrat": 463, "removexattrat": 466,
}  # fmt: skip
_OWNERS_X86_64 = {"chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260}
_OWNERS_AARCH64 = {"fchownat": 54, "fchown": 55}
_MODES_X86_64 = {
    "chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452, "utime": 132, "utimes": 235, "futimesat": 261,
    "utimensat": 280,
}  # fmt: skip
_MODES_AARCH64 = {"fchmod": 52, "fchmodat": 53, "fchmodat2": 452, "utimensat": 88}
# Calls that name the process they change. 0 is the caller; any other number may be the keeper's.
_SELF, _OWN_PRIORITY, _OWN_IO = {0: 0}, {0: 0, 1: 0}, {0: _IOPRIO_WHO_PROCESS, 1: 0}
_CALLER_ONLY_X86_64: Conditions = {
    "prlimit64": (302, _SELF), "sched_setaffinity": (203, _SELF), "sched_setparam": (142, _SELF),
    "sched_setscheduler": (144, _SELF), "sched_setattr": (314, _SELF), "setpriority": (141, _OWN_PRIORITY),
    "ioprio_set": (251, _OWN_IO),
}  # fmt: skip
_CALLER_ONLY_AARCH64: Conditions = {
    "prlimit64": (261, _SELF), "sched_setaffinity": (122, _SELF), "sched_setparam": (118, _SELF),
    "sched_setscheduler": (119, _SELF), "sched_setattr": (274, _SELF), "setpriority": (140, _OWN_PRIORITY),
    "ioprio_set": (30, _OWN_IO),
}  # fmt: skip
_SIGNALS_X86_64 = {"kill": 62, "rt_sigqueueinfo": 129, "tkill": 200, "pidfd_send_signal": 424}
_SIGNALS_AARCH64 = {"kill": 129, "rt_sigqueueinfo": 138, "tkill": 130, "pidfd_send_signal": 424}


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """Numbers of one processor architecture.

    Attributes:
        audit: the kernel's mark of the calling convention.
        denied: calls that fail with EPERM.
        sockets: denied without network; a socketpair of streams stays, for it leads nowhere else.
        attributes: changes of extended attributes of files, which fail as on a file system without any: `cp -p` and
            `install` go on then, and on EPERM they fail.
        owners: changes of the owner of files, denied where nothing else keeps programs from others' files.
        modes: changes of mode and times, which have no effect there.
        caller_only: allowed only with these values, argument by argument: they change the caller and nobody else.
        signals: denied where nothing else keeps signals inside.
        own_signals: there allowed to a process that sends them to itself, as `abort` does.
        absent: calls that fail with ENOSYS: clone3 hides its flags behind a pointer, a memfd its pages from limits.
    """

    audit: int
    denied: dict[str, int]
    sockets: dict[str, int]
    attributes: dict[str, int]
    owners: dict[str, int]
    modes: dict[str, int]
    caller_only: Conditions
    signals: dict[str, int]
    own_signals: dict[str, int]
    absent: dict[str, int]
    clone: int
    ioctl: int
    fcntl: int
    socketpair: int
    setsockopt: int


ARCHITECTURES = {
    "x86_64": Architecture(
        audit=0xC000003E,
        denied=_COMMON | _X86_64,
        sockets=_SOCKETS_X86_64,
        attributes=_ATTRIBUTES_X86_64,
        owners=_OWNERS_X86_64,
        modes=_MODES_X86_64,
        caller_only=_CALLER_ONLY_X86_64,
        signals=_SIGNALS_X86_64,
        own_signals={"tgkill": 234, "rt_tgsigqueueinfo": 297},
        absent={"clone3": 435, "memfd_create": 319},
        clone=56,
        ioctl=16,
        fcntl=72,
        socketpair=53,
        setsockopt=54,
    ),
    "aarch64": Architecture(
        audit=0xC00000B7,
        denied=_COMMON | _AARCH64,
        sockets=_SOCKETS_AARCH64,
        attributes=_ATTRIBUTES_AARCH64,
        owners=_OWNERS_AARCH64,
        modes=_MODES_AARCH64,
        caller_only=_CALLER_ONLY_AARCH64,
        signals=_SIGNALS_AARCH64,
        own_signals={"tgkill": 131, "rt_tgsigqueueinfo": 240},
        absent={"clone3": 435, "memfd_create": 279},
        clone=220,
        ioctl=29,
        fcntl=25,
        socketpair=199,
        setsockopt=208,
    ),
}


def program(
    *,
    network: bool = False,
    internet_only: bool = False,
    devices: bool = False,
    keep_modes: bool = False,
    signals_of: int | None = None,
    machine: str = kernel.MACHINE,
) -> bytes:
    """The filter as the kernel takes it.

    Args:
        network: allow sockets.
        internet_only: of those, allow none that reaches what a network namespace does not close, such as a socket in
            the file system.
        devices: allow what the drivers of accelerators do at their start: make a local socket and listen on it. Nobody
            inside can connect, accept or send a datagram.
        keep_modes: let nobody change owner, mode and times of files.
        signals_of: the one process that signals may be sent to, by itself; None: signals are kept inside otherwise.
        machine: the processor architecture.

    Raises:
        OSError: the numbers of this architecture are not known here.
    """
    if machine not in ARCHITECTURES:
        raise OSError(f"the system calls of {machine} are not known here")
    table = ARCHITECTURES[machine]
    listens = devices and not network
    sockets = {name: number for name, number in table.sockets.items() if not (listens and name in _LISTENING)}
    denied, conditions = table.denied | ({} if network else sockets), dict(table.caller_only)
    denied = denied | (table.owners if keep_modes else {})
    if signals_of is not None:
        denied = denied | table.signals
        conditions |= {name: (number, {0: signals_of}) for name, number in table.own_signals.items()}
    refuse, absent = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
    code = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, table.audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NUMBER)]
    code += [(_MINIMUM, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    code += [(_MINIMUM, 0, 1, _NEWEST + 1), (_RETURN, 0, 0, absent)]
    for number in sorted(table.absent.values()):
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, absent)]
    for number in sorted(table.attributes.values()):
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | errno.ENOTSUP)]
    for number in sorted(table.modes.values()) if keep_modes else ():
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO)]
    code += _refuse_bits(table.clone, _FIRST, _NEW_NAMESPACES, refuse)
    code += [] if network and not internet_only else _refuse_bits(table.socketpair, _SECOND, _DATAGRAM, refuse)
    code += _refuse_others(table.sockets["socket"], _INTERNET, refuse) if internet_only else []
    code += _refuse_others(table.sockets["socket"], _LOCAL, refuse) if listens else []
    code += _refuse_bits(table.sockets["socket"], _SECOND, _DATAGRAM, refuse) if listens else []
    code += _ignore_size(table.setsockopt)
    code += _refuse_second(table.ioctl, _IOCTLS, refuse)
    code += _refuse_second(table.fcntl, (_F_SETOWN, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY), refuse)
    for number, permitted in sorted(conditions.values(), key=lambda condition: condition[0]):
        code += _allow_values(number, permitted, refuse)
    code += _search(sorted(set(denied.values())), refuse)
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


def _refuse_bits(number: int, argument: int, bits: int, refuse: int) -> list[Instruction]:
    """Refuse a call that has one of these bits in an argument."""
    code = [(_LOAD, 0, 0, argument), (_ANY_BIT, 0, 1, bits), (_RETURN, 0, 0, refuse), (_LOAD, 0, 0, _NUMBER)]
    return [(_EQUAL, 0, len(code), number), *code]


def _refuse_second(number: int, values: Sequence[int], refuse: int) -> list[Instruction]:
    """Refuse a call whose second argument is one of these; whoever is made the owner of a file gets its signals."""
    tests = [(_EQUAL, len(values) - 1 - place, 0, value) for place, value in enumerate(values[:-1])]
    code = [(_LOAD, 0, 0, _SECOND), *tests, (_EQUAL, 0, 1, values[-1]), (_RETURN, 0, 0, refuse), (_LOAD, 0, 0, _NUMBER)]
    return [(_EQUAL, 0, len(code), number), *code]


def _refuse_others(number: int, values: Sequence[int], refuse: int) -> list[Instruction]:
    """Refuse a call whose first argument is none of these."""
    tests = [(_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    code = [(_LOAD, 0, 0, _FIRST), *tests, (_RETURN, 0, 0, refuse), (_LOAD, 0, 0, _NUMBER)]
    return [(_EQUAL, 0, len(code), number), *code]


def _ignore_size(number: int) -> list[Instruction]:
    """Let a call that sets the size of a socket's buffer for sending do nothing and succeed."""
    code = [(_LOAD, 0, 0, _SECOND), (_EQUAL, 0, 3, _SOL_SOCKET), (_LOAD, 0, 0, _THIRD), (_EQUAL, 0, 1, _SO_SNDBUF)]
    code += [(_RETURN, 0, 0, _ERRNO), (_LOAD, 0, 0, _NUMBER)]
    return [(_EQUAL, 0, len(code), number), *code]


def _allow_values(number: int, permitted: Mapping[int, int], refuse: int) -> list[Instruction]:
    """Refuse a call unless each of these arguments, by place, has its value; the kernel reads 32 bits of each."""
    code: list[Instruction] = []
    for place, value in permitted.items():
        code += [(_LOAD, 0, 0, _FIRST + _ARGUMENT_BYTES * place), (_EQUAL, 1, 0, value), (_RETURN, 0, 0, refuse)]
    code.append((_LOAD, 0, 0, _NUMBER))
    return [(_EQUAL, 0, len(code), number), *code]


def _search(numbers: list[int], refuse: int) -> list[Instruction]:
    """Refuse the numbers and allow the rest, by halving: the kernel walks the filter once for every system call."""
    if len(numbers) <= _LEAF:
        ahead = range(len(numbers), 0, -1)
        tests = [(_EQUAL, steps, 0, number) for steps, number in zip(ahead, numbers, strict=True)]
        return [*tests, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, refuse)]
    middle = len(numbers) // 2
    below = _search(numbers[:middle], refuse)
    return [(_MINIMUM, len(below), 0, numbers[middle]), *below, *_search(numbers[middle:], refuse)]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


class Filter:
    """A filter laid out in memory once, so that a child has one call to make."""

    def __init__(self, code: bytes) -> None:
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = _Program(len(code) // 8, ctypes.addressof(self._code))
        self._address = ctypes.addressof(self._program)

    def install(self) -> None:
        """Live under the filter from now on, and every process started from here too.

        Raises:
            OSError: the kernel refuses.
        """
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        kernel.prctl(kernel.PR_SET_SECCOMP, 2, self._address)
