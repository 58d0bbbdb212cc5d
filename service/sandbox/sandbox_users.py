"""Users that nobody is: each cell of the superuser's runs its programs as one of its own."""

import itertools
import os
from pathlib import Path

_FIRST = 1 << 30
_PER_PROCESS = 1 << 8
_PROCESSES = 1 << 22
_IDENTITY_MAP = 1 << 31
_UID_MAP = Path("/proc/self/uid_map")
_taken = itertools.count()


def spare_user() -> int:
    """A user id that no other cell of ours, in this process or another, and nobody else uses."""
    number = next(_taken) % _PER_PROCESS
    start, count = _max_range()
    if count >= _IDENTITY_MAP:
        return _FIRST + os.getpid() % _PROCESSES * _PER_PROCESS + number
    return start + count - 1 - (os.getpid() * _PER_PROCESS + number) % max(1, count // 2)


def spare_user_of(users: int) -> int:
    """A user id that nobody else uses, where containers have so many users."""
    if users >= _IDENTITY_MAP:
        return spare_user()
    number = os.getpid() * _PER_PROCESS + next(_taken) % _PER_PROCESS
    return users - 1 - number % max(1, users // 2)


def _max_range() -> tuple[int, int]:
    """First id and number of ids of the largest range that a user namespace round us, if any, leaves."""
    try:
        lines = _UID_MAP.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0, 1 << 16
    ranges = [(int(fields[0]), int(fields[2])) for fields in map(str.split, lines)]
    return max(ranges, key=lambda found: found[1])
