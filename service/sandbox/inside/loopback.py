"""The one way out of a network namespace: a listening socket on its loopback interface, which the host gets.

A socket stays in the namespace that it was made in, whoever holds it. So the host accepts what programs inside connect
to, and no process inside has to forward anything.
"""

import fcntl
import os
import socket
import struct

ADDRESS = ("127.0.0.1", 8711)
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_BACKLOG = 64


def offer(path: str) -> None:
    """Listen in this namespace, and send the listening socket to the host's unix socket at a path.

    Raises:
        OSError: the interface cannot be used, or the host is gone.
    """
    _bring_up("lo")
    with socket.create_server(ADDRESS, backlog=_BACKLOG) as listening, socket.socket(socket.AF_UNIX) as host:
        host.connect(path)
        socket.send_fds(host, [b"L"], [listening.fileno()])


def accept(server: socket.socket, seconds: float) -> socket.socket:
    """The listening socket that a namespace offers to a unix socket of ours.

    Raises:
        OSError: none came in time.
    """
    server.settimeout(seconds)
    connection, _ = server.accept()
    with connection:
        connection.settimeout(seconds)
        _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    if not descriptors:
        raise OSError("the namespace offered no socket")
    listening = socket.socket(fileno=descriptors[0])
    os.set_blocking(descriptors[0], False)
    return listening


def _bring_up(interface: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", interface.encode(), 0)
        _, flags = struct.unpack("16sH14x", fcntl.ioctl(control, _GET_FLAGS, request))
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sH14x", interface.encode(), flags | _UP))
