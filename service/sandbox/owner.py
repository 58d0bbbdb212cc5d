"""Users that nobody is: each cell of the superuser's runs its programs as one of its own."""

import os
from pathlib import Path

_FIRST = 0x40000000
_PER_PROCESS = 64
_PROCESSES = 1 << 22
_IDENTITY_MAP = 1 << 31
_UID_MAP = Path("/proc/self/uid_map")


def spare_user(slot: int) -> int:
    """A user id for a slot of this process, that no other process of ours and nobody else uses."""
    start, count = _largest_range()
    if count >= _IDENTITY_MAP:
        return _FIRST + os.getpid() % _PROCESSES * _PER_PROCESS + slot % _PER_PROCESS
    return start + count - 1 - (os.getpid() * _PER_PROCESS + slot) % max(1, count // 2)


def _largest_range() -> tuple[int, int]:
    """First id and number of ids of the largest range that a user namespace round us, if any, leaves."""
    try:
        lines = _UID_MAP.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0, 1 << 16
    ranges = [(int(fields[0]), int(fields[2])) for fields in map(str.split, lines)]
    return max(ranges, key=lambda found: found[1])
