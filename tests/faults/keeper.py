"""The first process of the namespaces that the suite runs in: it has rights there that what it starts has not.

It makes a network whose addresses can vanish, and filesystems of a fixed size, starts one command, and does what the
command asks for. When the command ends, or whoever started the keeper is gone, it ends as well, and the kernel ends all
that is left with it: processes, networks and mounts.
"""

import os
import select
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

CONTROL = "EVOLVE_FAULT_KEEPER"
ADDRESSES = "10.77"
HOSTS = "hosts"
DATABASE_FOLDER, DATABASE_MEGABYTES = "postgres", 256
OK = "ok"
_OWN_ADDRESS = f"{ADDRESSES}.0.1"
_LOOK_SECONDS = 0.1
_LINK = "nowhere"
# What is done to an address: it is on this machine, nowhere, or reached here while nothing can be sent from it.
# A client has its own address throughout: for it, only the server is gone.
_LOCAL: tuple[str, ...] = ("local", "{}", "dev", "lo", "table", "local", "src", _OWN_ADDRESS)
_MUTE: tuple[str, ...] = ("{}", "dev", "lo", "src", _OWN_ADDRESS)
_VERBS: dict[str, tuple[tuple[str, ...], ...]] = {"have": (_LOCAL,), "lose": (), "mute": (_MUTE,)}


def main(words: Sequence[str]) -> int:
    """Make a place in the folder `words[0]` and run the command `words[1:]` there as the user who called."""
    home, command = Path(words[0]), words[1:]
    _make_folders(home)
    _make_network()
    asked, asking = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with asked:
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            pass_fds=[asking.fileno()],
            env={**os.environ, CONTROL: str(asking.fileno())},
        )
        asking.close()
        return _serve(asked, started.pid)


def _make_folders(home: Path) -> None:
    _mount("-t", "tmpfs", "-o", "mode=755", "none", str(home))
    database = home / DATABASE_FOLDER
    database.mkdir()
    _mount("-t", "tmpfs", "-o", f"mode=755,size={DATABASE_MEGABYTES}m", "none", str(database))
    hosts = home / HOSTS
    hosts.write_bytes(Path("/etc/hosts").read_bytes())
    _mount("--bind", str(hosts), "/etc/hosts")


def _make_network() -> None:
    """A loopback, and a link on which everything is lost that goes to an address of ours which nobody has."""
    _ip("link", "set", "lo", "up")
    _ip("address", "add", f"{_OWN_ADDRESS}/32", "dev", "lo")
    # Nobody is at the other end, and nobody is asked for.
    _ip("link", "add", _LINK, "type", "veth", "peer", "name", f"{_LINK}-end")
    _ip("link", "set", _LINK, "arp", "off", "up")
    _ip("link", "set", f"{_LINK}-end", "up")
    _ip("route", "add", f"{ADDRESSES}.0.0/16", "dev", _LINK, "src", _OWN_ADDRESS)


def _serve(asked: socket.socket, command: int) -> int:
    """Do what is asked for until the command has ended; its exit code."""
    while True:
        ready, _, _ = select.select([asked, sys.stdin], [], [], _LOOK_SECONDS)
        if sys.stdin in ready and not os.read(sys.stdin.fileno(), 1):  # whoever started this is gone
            return 1
        if asked in ready and (request := asked.recv(1024)):
            asked.send(_do(*request.decode().split()).encode())
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == command:
                    return os.waitstatus_to_exitcode(ended[1])


def _do(verb: str, address: str) -> str:
    """Have an address come, vanish or fall mute; why that cannot be."""
    if verb not in _VERBS or not address.startswith(f"{ADDRESSES}."):
        return f"not known: {verb} {address}"
    try:
        for route in (_LOCAL, _MUTE):
            with suppress(subprocess.CalledProcessError):  # there was none
                _ip("route", "del", *(word.format(address) for word in route))
        for route in _VERBS[verb]:
            _ip("route", "add", *(word.format(address) for word in route))
    except subprocess.CalledProcessError as error:
        return str(error.stderr)
    return OK


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def _ip(*words: str) -> None:
    program = shutil.which("ip", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if program is None:
        raise SystemExit("there is no program ip: install iproute2")
    subprocess.run([program, *words], check=True, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
