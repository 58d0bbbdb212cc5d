"""Owners: which process holds a run's lease, and whether that process still lives as far as can be seen from here."""

import os
import socket
from pathlib import Path


def this_process() -> str:
    """Name of this process as the owner of leases: host, boot, pid, and when it began."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{_boot()}:{pid}:{_began(pid)}"


def is_gone(owner: str) -> bool:
    """Whether an owner is a process of this host that has ended: its lease need not be waited for."""
    host, _, rest = owner.partition(":")
    boot, _, process = rest.partition(":")
    pid, _, began = process.partition(":")
    if host != socket.gethostname() or not boot or not pid.isdigit():
        return False
    return boot != _boot() or began != _began(int(pid))


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _began(pid: int) -> str:
    """When a process began, in clock ticks since boot; empty when there is none: a pid alone is given out again."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
