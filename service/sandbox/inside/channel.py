"""Framed JSON over a stream socket, with a cap on what one frame may hold."""

import json
import socket
import struct
from typing import Any

HEADER = struct.Struct(">I")
MAX_MESSAGE_BYTES = 1 << 30
# What the host says to a zygote that it lets go; whoever dies cannot.
FAREWELL = {"farewell": True}
# What a child says last before code of the program or of the evaluator runs in it. Until then its word is ours.
STARTED = {"started": True}


class ChannelError(Exception):
    """What came over the channel is no frame, or too large a one."""


def frame(value: object) -> bytes:
    """A value as it travels.

    Raises:
        TypeError, ValueError, RecursionError: JSON cannot carry it.
    """
    body = _ENCODER.encode(value).encode()
    return HEADER.pack(len(body)) + body


def parse(body: bytes | bytearray) -> Any:
    """The value of a frame's body. Numbers too long to be anything but a prank are read as infinite.

    Raises:
        ChannelError: it is not JSON.
    """
    try:
        return _DECODER.decode(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise ChannelError("what came back is not JSON") from error


class Channel:
    """One end of a channel; blocking, for the trusted side's orders and for children.

    Attributes:
        socket: the stream socket below.
    """

    def __init__(self, stream: socket.socket) -> None:
        self.socket = stream

    def send(self, value: object) -> None:
        """Send one value, whole.

        Raises:
            OSError: the other end is gone.
            TypeError, ValueError, RecursionError: JSON cannot carry it.
        """
        self.socket.sendall(frame(value))

    def receive(self) -> Any:
        """The next value; None when the other end is closed.

        Raises:
            ChannelError: no frame came.
            OSError: the other end broke off.
        """
        header = self._exactly(HEADER.size)
        if header is None:
            return None
        return self._body(header)

    def send_with_descriptors(self, value: object, descriptors: list[int]) -> None:
        """Send one value, which is small, and file descriptors with it.

        Raises:
            OSError: the other end is gone.
        """
        socket.send_fds(self.socket, [frame(value)], descriptors)

    def receive_with_descriptors(self, maximum: int) -> tuple[Any, list[int]]:
        """The next value and the file descriptors that came with it; None and none when the end is closed.

        Raises:
            ChannelError: no frame came.
            OSError: the other end broke off.
        """
        header, descriptors, _, _ = socket.recv_fds(self.socket, HEADER.size, maximum)
        if not header:
            return None, []
        return self._body(header), descriptors

    def _body(self, header: bytes) -> Any:
        (length,) = HEADER.unpack(header)
        body = self._exactly(length) if length <= MAX_MESSAGE_BYTES else None
        if body is None:
            raise ChannelError("the frame was cut off")
        return parse(body)

    def _exactly(self, count: int) -> bytes | None:
        parts = bytearray()
        while len(parts) < count:
            part = self.socket.recv(min(count - len(parts), 1 << 16))
            if not part:
                return None
            parts += part
        return bytes(parts)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 300 else float("-inf" if digits.startswith("-") else "inf")


_ENCODER = json.JSONEncoder(separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_int=_integer)
