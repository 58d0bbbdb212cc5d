"""The keeper's side of the fork server: orders to fork, to end, and to compare."""

import contextlib
import os
import socket
from collections.abc import Mapping
from typing import Any

from .channel import Channel, ChannelError


class LostError(Exception):
    """The sandbox failed, not the program: the evaluation is to be done again, by another keeper."""


class ForkClient:
    """Speaks with the fork server.

    Attributes:
        pid: the fork server's process, as the keeper sees it.
        found: what its confinement found, once it was read.
        collected_seconds: processor time of the children that it had collected when it last said something.
    """

    def __init__(self, line: socket.socket, pid: int) -> None:
        self._line, self.pid = Channel(line), pid
        self.found: Mapping[str, Any] = {}
        self._changes: list[str] | None = []
        self._end_ordered = False
        self.collected_seconds = 0.0

    def fileno(self) -> int:
        """To be polled: it can be read when the child has ended, or the fork server has."""
        return self._line.socket.fileno()

    def greet(self) -> None:
        """Wait until it is ready.

        Raises:
            LostError: it does not come up.
        """
        self.found = self._hear()

    def fork(self, role: str, cpu_seconds: float, stream: int, prints: int) -> None:
        """Order a child, which takes its work from a stream, and wait until the one before it has ended.

        Raises:
            LostError: the fork server is gone, or the child before could not be ended.
        """
        order = {"do": "fork", "role": role, "cpu_seconds": cpu_seconds}
        try:
            self._line.send_with_descriptors(order, [stream, prints])
        except OSError as error:
            raise _gone() from error
        self.await_end()

    def status(self) -> int:
        """How the child ended, once there is something to read.

        Raises:
            LostError: it was never forked, or the fork server is gone.
        """
        status: int = self._hear()["status"]
        return status

    def end(self, role: str, *, compare: bool) -> None:
        """Order that the child and everything below be ended, and the scratch of a role emptied. See `await_end`.

        Args:
            role: of the child.
            compare: have the fork server look then whether it changed, as only hostile code makes it.

        Raises:
            LostError: the fork server is gone.
        """
        self._send({"do": "end", "role": role, "compare": compare})
        self._end_ordered = True
        self._changes = None if compare else self._changes

    def await_end(self) -> None:
        """Wait until the end that was ordered last, if any, is done.

        Raises:
            LostError: it failed.
        """
        if self._end_ordered:
            self._end_ordered = False
            found = self._await("ended")["changes"]
            self._changes = found if found is not None else self._changes

    def changes(self) -> list[str]:
        """What changed of the fork server since its birth, as it was after the last hostile child.

        Raises:
            LostError: it is gone.
        """
        self.await_end()
        if self._changes is None:
            self._changes = self._ask("changes", {"do": "report"})["changes"]
        return self._changes or []

    def outlived(self, daemon: int) -> tuple[bool, str]:
        """Whether a process of an earlier child is gone, and what was found.

        Raises:
            LostError: the fork server is gone.
        """
        gone, detail = self._ask("outlived", {"do": "outlived", "daemon": daemon})["outlived"]
        return gone, detail

    def close(self) -> bool:
        """Let it go, and wait until it has; whether it left in order, with nothing behind."""
        self._line.socket.close()
        with contextlib.suppress(ChildProcessError):
            _, status = os.waitpid(self.pid, 0)
            return status == 0
        return False

    def _ask(self, about: str, order: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to an order."""
        self.await_end()
        self._send(order)
        return self._await(about)

    def _send(self, order: Mapping[str, Any]) -> None:
        try:
            self._line.send(order)
        except OSError as error:
            raise _gone() from error

    def _await(self, about: str) -> Mapping[str, Any]:
        """The answer to an order; what it said of the child before is void."""
        while True:
            said = self._hear()
            if about in said:
                return said

    def _hear(self) -> Mapping[str, Any]:
        try:
            said: Mapping[str, Any] | None = self._line.receive()
        except (OSError, ChannelError) as error:
            raise _gone() from error
        if said is None:
            raise _gone()
        self.collected_seconds = said["collected_seconds"]
        if "failed" in said:
            raise LostError(said["failed"])
        return said


def _gone() -> LostError:
    return LostError("the process that starts evaluations is gone")
