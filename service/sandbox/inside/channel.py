"""Framed JSON over a stream socket, with a cap on what one frame may hold."""

import json
import os
import socket
import struct
import tempfile
from typing import Any, BinaryIO

HEADER = struct.Struct(">I")
LARGEST = 1 << 30
_PIPE = 1 << 16
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
        ChannelError: it is no JSON.
    """
    try:
        return _DECODER.decode(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise ChannelError("what came back is no JSON") from error


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

    def attachment(self, size: int) -> BinaryIO:
        """The bytes that follow, in a file without a name; where the system can, they never enter our own memory.

        Raises:
            ChannelError: fewer bytes came.
            OSError: the other end broke off, or there is no room.
        """
        if not hasattr(os, "splice"):
            return self._copied(size)
        file = open(os.memfd_create("attachment"), "w+b", buffering=0)  # noqa: SIM115 - the caller's to close
        reading, writing = os.pipe()
        try:
            while size:
                moved = os.splice(self.socket.fileno(), writing, min(size, _PIPE))
                if not moved:
                    raise ChannelError("the attachment was cut off")
                size -= moved
                while moved:
                    moved -= os.splice(reading, file.fileno(), moved)
        except BaseException:
            file.close()
            raise
        finally:
            os.close(reading)
            os.close(writing)
        return file

    def _copied(self, size: int) -> BinaryIO:
        body = self._exactly(size)
        if body is None:
            raise ChannelError("the attachment was cut off")
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - the caller's to close
        file.write(body)
        return file

    def receive_with_descriptor(self) -> tuple[Any, int]:
        """The next value and the file descriptor that came with it (-1: none); (None, -1) when the end is closed.

        Raises:
            ChannelError: no frame came.
            OSError: the other end broke off.
        """
        header, descriptors, _, _ = socket.recv_fds(self.socket, HEADER.size, 1)
        if not header:
            return None, -1
        return self._body(header), descriptors[0] if descriptors else -1

    def _body(self, header: bytes) -> Any:
        (length,) = HEADER.unpack(header)
        body = self._exactly(length) if length <= LARGEST else None
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
